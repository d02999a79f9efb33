"""The saliency branch: nodes that are appended to the network without changing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from fastcam_runtime.contract import DOMAIN, NODE_PREFIX

from .ops import Step

STEP_VERSION = 1
"""Version of the operator domain `fastcam`."""


class Branch:
    """Appends steps and single nodes to a model's graph, all named with the prefix `fastcam/`."""

    def __init__(self, model: ir.Model, opset: int) -> None:
        self.model = model
        self.opset = opset
        self._network = {id(node) for node in model.graph}
        self._weights = set(model.graph.initializers)
        self._inputs = len(model.graph.inputs)
        self._outputs = len(model.graph.outputs)
        self._functions: dict[bytes, ir.Function] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], ir.Value] = {}

    def call(self, step: Step, *inputs: ir.Value, name: str) -> ir.Value:
        """Append one call of a step; its result is named `fastcam/name`."""
        function = self._function(step.function)
        constants = [self.constant(f"{name}/{key}", array) for key, array in step.constants.items()]
        return self.node(function.name, *inputs, *constants, name=name, domain=DOMAIN, **step.attributes)

    def _function(self, function: ir.Function) -> ir.Function:
        """Store the function in the model once. Different functions of one name are numbered from 2."""
        proto = ir.to_proto(function)
        key = proto.SerializeToString()
        if key not in self._functions:
            number = 1
            while (function.domain, proto.name, function.overload) in self.model.functions:
                number += 1
                proto.name = f"{function.name}{number}"
            held = ir.from_proto(proto)
            self.model.functions[held.identifier()] = held
            self._functions[key] = held
        return self._functions[key]

    def node(
        self, op_type: str, *inputs: ir.Value | None, name: str, domain: str = "", **attributes: Any
    ) -> ir.Value:
        """Append one node with one output; both are named `fastcam/name`."""
        label = NODE_PREFIX + name
        output = ir.Value(name=label)
        converted = ir.convenience.convert_attributes(attributes)
        node = ir.Node(domain, op_type, inputs, converted, outputs=[output], name=label)
        self.model.graph.append(node)
        return output

    def constant(self, name: str, array: np.ndarray) -> ir.Value:
        """An initializer. Equal arrays are stored once, under the first name."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            label = NODE_PREFIX + name
            value = ir.Value(
                name=label, const_value=ir.tensor(array, name=label), shape=ir.Shape(array.shape),
                type=ir.TensorType(ir.DataType.from_numpy(array.dtype)),
            )  # fmt: skip
            self.model.graph.register_initializer(value)
            self._constants[key] = value
        return self._constants[key]

    def output(
        self, value: ir.Value, name: str, shape: Sequence[int | str | None], dtype: ir.DataType
    ) -> None:
        """Rename `value` to `name` and make it an output of the graph."""
        value.name = name
        value.dtype = dtype
        value.shape = ir.Shape(shape)
        self.model.graph.outputs.append(value)

    def input(
        self,
        name: str,
        dtype: ir.DataType,
        shape: Sequence[int | str | None],
        default: np.ndarray | None = None,
    ) -> ir.Value:
        """Add an input. With a default (an initializer of the same name) the input is optional."""
        value = ir.Value(name=name, shape=ir.Shape(shape), type=ir.TensorType(dtype))
        self.model.graph.inputs.append(value)
        if default is not None:
            value.const_value = ir.tensor(default, name=name)
            self.model.graph.register_initializer(value)
        return value

    def added_nodes(self) -> list[ir.Node]:
        """The nodes of the branch."""
        return [node for node in self.model.graph if id(node) not in self._network]

    def append_to(self, proto: onnx.ModelProto, metadata: Mapping[str, str]) -> None:
        """Append the branch to the protobuf that the network came from.

        Only new parts are converted: the weights, most of the file, are not copied.
        """
        graph = self.model.graph
        proto.graph.node.extend(ir.to_proto(node) for node in self.added_nodes())
        proto.graph.input.extend(ir.to_proto(value) for value in list(graph.inputs)[self._inputs :])
        proto.graph.output.extend(ir.to_proto(value) for value in list(graph.outputs)[self._outputs :])
        for name, value in graph.initializers.items():
            if name not in self._weights and value.const_value is not None:
                proto.graph.initializer.append(ir.to_proto(value.const_value))
        proto.functions.extend(ir.to_proto(function) for function in self.model.functions.values())
        if self.model.functions:
            proto.opset_import.add(domain=DOMAIN, version=STEP_VERSION)
        for key, text in metadata.items():
            proto.metadata_props.add(key=key, value=text)
