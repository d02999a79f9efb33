"""Files made for one kind of processor and one release of onnxruntime, and the cache that keeps them."""
