"""How good the maps of a file are: what the network needs, what is on the pictures, and sanity checks."""
