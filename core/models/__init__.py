"""Networks: the causal Wan transformer, autoencoders, text encoders, and how they are loaded."""
