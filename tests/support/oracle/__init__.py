"""The method in float64 NumPy, written for being read: what every graph is compared with."""
