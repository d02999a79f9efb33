"""The formulas of the method, one module each."""
