"""What is measured of a map: one module for each measure."""
