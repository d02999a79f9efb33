"""Write ONNX nodes and functions, and append them to a network."""
