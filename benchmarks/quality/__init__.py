"""How good the maps are: the study on trained networks, and the paper's experiments with retraining."""
