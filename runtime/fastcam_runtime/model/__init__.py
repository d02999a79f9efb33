"""A model's file, and the onnxruntime sessions that run it."""
