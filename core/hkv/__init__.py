"""Hierarchical KV cache: pages and chunks, two-stage retrieval, the window, and the memory tiers."""
