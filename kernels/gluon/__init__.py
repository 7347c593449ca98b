"""Kernels for Hopper (compute capability 9.0), in Gluon.

They are compiled for sm_90a by the tests, which report registers and spills; on a GPU they have not yet been run in
this form (the draft that they come from was).
"""
