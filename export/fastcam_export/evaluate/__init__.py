"""How good the maps of a file are: faithfulness to the network, localisation of objects, sanity checks."""
