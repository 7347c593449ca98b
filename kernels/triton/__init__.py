"""Kernels for any CUDA device, in Triton.

Semantics are those of `kernels.reference`. Tests run them in Triton's interpreter, in fp32 and fp16; on a GPU they
have not yet been run.
"""
