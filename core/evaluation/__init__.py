"""Measurements: recall, drift, and the statistics they are reported with."""
