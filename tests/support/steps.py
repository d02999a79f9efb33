"""Run one step of the method alone: a model of a single function call, in a real onnxruntime session."""

from __future__ import annotations

import functools

import numpy as np
import onnx.parser
import onnx_ir as ir
import onnxruntime as ort
import pytest
from fastcam_export.authoring.ops import Step
from fastcam_runtime.contract import DOMAIN


@functools.cache
def knows(opset: int) -> bool:
    """Whether the installed onnx and onnxruntime know this opset: onnxruntime 1.21 ends at 22, 1.23 at 23."""
    if opset > onnx.defs.onnx_opset_version():
        return False
    errors = ort.capi.onnxruntime_pybind11_state
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[1] x) => (float[1] y) {{ y = Neg (x) }}'
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        ort.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)
    except (errors.Fail, errors.InvalidArgument):
        return False
    return True


def opsets(*wanted: int) -> list[object]:
    """Parameters of a test: these opsets, skipped where a package is too old for one."""
    too_old = "onnx or onnxruntime is too old for it"
    return [
        pytest.param(opset, marks=pytest.mark.skipif(not knows(opset), reason=too_old)) for opset in wanted
    ]


OPSETS = opsets(13, 17, 18, 21, 25)
"""Opsets in which a body of standard operators may have to be written differently."""


def step_model(step: Step, *inputs: np.ndarray, free: bool = False) -> bytes:
    """The serialised model that calls `step` on inputs like these; `free` leaves all its dimensions open."""
    function = step.function
    opset = function.graph.opset_imports[""]
    data = [
        ir.Value(
            name=f"in{i}",
            type=ir.TensorType(ir.DataType.from_numpy(array.dtype)),
            shape=ir.Shape([f"d{i}_{axis}" for axis in range(array.ndim)] if free else array.shape),
        )
        for i, array in enumerate(inputs)
    ]
    constants = []
    for name, array in step.constants.items():
        tensor = ir.tensor(array, name=f"const_{name}")
        constants.append(
            ir.Value(
                name=tensor.name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor
            )
        )
    node = ir.Node(
        DOMAIN,
        function.name,
        [*data, *constants],
        [ir.Attr(name, ir.AttributeType.FLOAT, value) for name, value in step.attributes.items()],
        num_outputs=len(function.outputs),
    )
    for i, value in enumerate(node.outputs):
        value.name = f"out{i}"
    graph = ir.Graph(
        data,
        node.outputs,
        nodes=[node],
        initializers=constants,
        opset_imports={"": opset, DOMAIN: 1},
        name="step",
    )
    model = ir.Model(graph, ir_version=8, functions=[function])
    return ir.to_proto(model).SerializeToString()


class StepRunner:
    """A session for one step, to be called with NumPy arrays many times."""

    def __init__(self, step: Step, *inputs: np.ndarray, free: bool = False) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(
            step_model(step, *inputs, free=free), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, *inputs: np.ndarray) -> np.ndarray:
        feed = {f"in{i}": array for i, array in enumerate(inputs)}
        (output,) = self._session.run(None, feed)
        return output


def run_step(step: Step, *inputs: np.ndarray, free: bool = False) -> np.ndarray:
    """The step's output for these inputs."""
    return StepRunner(step, *inputs, free=free)(*inputs)
