"""The seed corpus, generated: small networks and grafted files, metadata, requests and URIs."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_export import graft
from fastcam_runtime.contract import METADATA_KEY
from onnx import helper, numpy_helper
from support.networks import hide_a_shape, residual_net, small_cnn

from .regressions import looping, with_function

SMALL = "float[1,3,16,16] input"


def _hidden() -> onnx.ModelProto:
    model = small_cnn(SMALL)
    hide_a_shape(model)
    return model


def _named() -> onnx.ModelProto:
    model = small_cnn("float[N,3,H,W] input")
    helper.set_model_props(model, {"names": str({i: f"class {i}" for i in range(10)}), "author": "somebody"})
    return model


def _with_constants() -> onnx.ModelProto:
    """Shapes that are computed: Pad, Reshape and Resize read constants."""
    model = small_cnn(SMALL)
    pads = numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads")
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    model.graph.initializer.extend([pads, scales])
    model.graph.node[1].output[0] = "padded_in"
    nodes = [
        helper.make_node("Pad", ["padded_in", "pads"], ["padded"]),
        helper.make_node("Resize", ["padded", "", "scales"], ["a1"], mode="nearest"),
    ]
    for place, node in enumerate(nodes, start=2):
        model.graph.node.insert(place, node)
    return model


@functools.cache
def plain_models() -> tuple[bytes, ...]:
    """Networks without maps."""
    made = [
        small_cnn(SMALL), small_cnn(SMALL, opset=9), small_cnn(SMALL, opset=21), residual_net(),
        with_function("y = Relu (x)"), looping(2), _hidden(), _named(), _with_constants(),
    ]  # fmt: skip
    return tuple(model.SerializeToString() for model in made)


@functools.cache
def grafted_models() -> tuple[bytes, ...]:
    """Files with maps."""
    everything = ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"]
    made = [
        graft(small_cnn(SMALL)), graft(small_cnn(SMALL), outputs=everything),
        graft(small_cnn(SMALL), inline=True, labels=[f"label {i}" for i in range(10)]),
    ]  # fmt: skip
    return tuple(model.SerializeToString() for model in made)


@functools.cache
def ort_models() -> tuple[bytes, ...]:
    """Grafted files in onnxruntime's own format."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ort"
        for model in grafted_models():
            options = ort.SessionOptions()
            options.optimized_model_filepath = str(path)
            options.log_severity_level = 4
            options.add_session_config_entry("session.save_model_format", "ORT")
            ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            found.append(path.read_bytes())
    return tuple(found)


@functools.cache
def metadata_texts() -> tuple[str, ...]:
    """The JSON of the grafted files."""
    models = map(onnx.load_from_string, grafted_models())
    return tuple(entry.value for m in models for entry in m.metadata_props if entry.key == METADATA_KEY)


HTTP_REQUESTS = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /stream?token=x&view=map HTTP/1.1\r\nHost: a:8000\r\nCookie: fastcam=1\r\n\r\n",
    b"POST /control HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\nContent-Type: application/json\r\n\r\n"
    b'{"view":"map"}',
    b"GET /metrics HTTP/1.0\r\nAuthorization: Bearer abc\r\nOrigin: http://a\r\n\r\n",
)

URIS = (
    "0", "/dev/video0", "csi://0", "rtsp://user:pw@127.0.0.1:1/x", "clip.mp4", "photo.jpg", "folder/",
    "glob*.jpg", "test://?frames=3&size=64x48", "display://", "frames/%04d.png", "http://:8000",
    "http://[::1]:8000/", "null://",
)  # fmt: skip
