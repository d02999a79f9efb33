"""Prepare a small network and print its blocks, and how far its map is from that of standard operators."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime as ort
from fastcam_export import graft
from fastcam_runtime import native
from support.networks import small_cnn

CHANNELS = (16, 24, 40)

prepared = graft(small_cnn(channels=CHANNELS), prepared=True)
blocks = [a.i for node in prepared.graph.node for a in node.attribute if a.name == "block"]
feed = {"input": np.random.default_rng(1).standard_normal((1, 3, 64, 64)).astype(np.float32)}
maps = []
for model in (prepared, graft(small_cnn(channels=CHANNELS))):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if model is prepared:
        native.register(options)
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    maps += session.run(["saliency_map"], feed)
print(json.dumps([blocks, float(np.abs(maps[0] - maps[1]).max())]))
