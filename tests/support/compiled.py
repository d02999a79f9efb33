"""Sessions with the compiled kernels, for steps of the method and for single nodes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from fastcam_runtime import native
from fastcam_runtime.contract import DOMAIN
from onnx import helper


def compiled_session(model: bytes, threads: int = 1) -> ort.InferenceSession:
    """A session without a memory arena: a sanitizer sees where each tensor ends."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    assert native.register(options)
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def feed(session: ort.InferenceSession, *inputs: np.ndarray) -> np.ndarray:
    """The only output for the inputs in0, in1, …"""
    (output,) = session.run(None, {f"in{i}": array for i, array in enumerate(inputs)})
    return output


def node_model(operator: str, *inputs: np.ndarray, **attributes: object) -> bytes:
    """A model of one node, with these attributes, for inputs of these ranks: valid or not."""
    data = [
        helper.make_tensor_value_info(
            f"in{i}", helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim
        )
        for i, array in enumerate(inputs)
    ]
    names = [value.name for value in data]
    node = helper.make_node(operator, names, ["out"], domain=DOMAIN, **attributes)
    graph = helper.make_graph([node], "node", data, [onnx.ValueInfoProto(name="out")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
