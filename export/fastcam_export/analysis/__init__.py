"""Reading a network's graph: its image input and scores, shapes, dominators, activations."""
