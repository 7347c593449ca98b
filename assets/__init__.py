"""Weights, samples and other data files of the playground."""
