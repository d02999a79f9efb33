"""The method in float64 NumPy, written for readability: every graph is compared with it."""
