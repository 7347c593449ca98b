"""Kernels for Hopper (compute capability 9.0), in Gluon.

They are compiled for sm_90a by the tests, which report registers and spills, and checked on a GPU by `pytest -m gpu`.
"""
