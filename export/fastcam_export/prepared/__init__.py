"""Prepared files: for one kind of processor and one release of onnxruntime."""
