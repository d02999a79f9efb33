"""Write models atomically: a file is complete, or unchanged."""
