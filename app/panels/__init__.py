"""The live panels: sparsity per head, recalled pages, memory per tier."""
