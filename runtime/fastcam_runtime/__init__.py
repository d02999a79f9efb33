"""Frames in, maps and pictures out: numpy, onnxruntime and OpenCV only."""
