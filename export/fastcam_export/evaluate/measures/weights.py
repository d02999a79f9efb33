"""Which tensors of a file are weights, and which of them are the classifier's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import onnx
from fastcam_runtime.classes import class_count
from fastcam_runtime.contract import METADATA_KEY, NODE_PREFIX, Metadata
from fastcam_runtime.model.pruning import is_saliency_output

_OPERANDS: Mapping[str, Sequence[int]] = {
    "Conv": (1,),
    "ConvTranspose": (1,),
    "Gemm": (0, 1),
    "MatMul": (0, 1),
    "ConvInteger": (1,),
    "MatMulInteger": (0, 1),
    "QLinearConv": (3,),
    "QLinearMatMul": (0, 3),
    "QGemm": (0, 3),
}
"""The linear operators, and which of their inputs may be weights."""
_QUANTISED = ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul", "QGemm")
"""Those whose weights are integers."""
_CARRIES = (
    "DequantizeLinear",
    "QuantizeLinear",
    "Cast",
    "Transpose",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Identity",
)
"""Operators that hand on the values of their first input."""
_FLOATS = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
)


@dataclass(frozen=True)
class Weights:
    """The weight tensors that class scores and tapped tensors are computed from."""

    every: list[onnx.TensorProto]
    """Of two dimensions or more, in the order of their first use."""
    last: list[onnx.TensorProto]
    """The classifier; what comes last if it cannot be told."""
    told: bool
    """Whether `last` is known to be the classifier."""

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Weights:
        """Find them. Without metadata, all outputs of the network count as class scores."""
        graph = _Graph(model.graph)
        text = {entry.key: entry.value for entry in model.metadata_props}.get(METADATA_KEY)
        metadata = None if text is None else Metadata.from_json(text)
        outputs = [o.name for o in model.graph.output if not is_saliency_output(o.name)]
        scores, taps = outputs, list[str]()
        if metadata is not None:
            scores = [metadata.scores] if metadata.detector is None else list(metadata.detector.scores)
            taps = [tap.name for tap in metadata.taps]
        every = graph.weights(graph.upstream([*scores, *taps]))
        ends = graph.ends(scores)
        chosen = _classifier(ends, metadata)
        last = chosen or [end for end, _ in ends] or every[-1:]
        return cls(every, last, bool(chosen))


class _Graph:
    """The network's own part of a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._nodes = [node for node in graph.node if not node.name.startswith(NODE_PREFIX)]
        self._maker = {name: node for node in self._nodes for name in node.output if name}
        self._tensors = {tensor.name: tensor for tensor in graph.initializer} | {
            node.output[0]: attribute.t
            for node in self._nodes
            if node.op_type == "Constant"
            for attribute in node.attribute
            if attribute.name == "value"
        }

    def upstream(self, names: Sequence[str]) -> set[int]:
        """The nodes that compute these tensors, by `id`."""
        found: set[int] = set()
        waiting = list(names)
        while waiting:
            node = self._maker.get(waiting.pop())
            if node is not None and id(node) not in found:
                found.add(id(node))
                waiting += node.input
        return found

    def weights(self, nodes: set[int]) -> list[onnx.TensorProto]:
        """The weights that these nodes use, in the order of their first use."""
        found: dict[int, onnx.TensorProto] = {}
        for node in self._nodes:
            if id(node) not in nodes or node.op_type in _CARRIES:
                continue
            for place in range(len(node.input)):
                tensor = self._weight(node, place)
                if tensor is not None and len(tensor.dims) >= 2 and prod(tensor.dims) > max(tensor.dims):
                    found[id(tensor)] = tensor
        return list(found.values())

    def ends(self, names: Sequence[str]) -> list[tuple[onnx.TensorProto, int]]:
        """The weights of the last linear operators before these tensors, and the values that each gives."""
        found: dict[int, tuple[onnx.TensorProto, int]] = {}
        seen: set[int] = set()
        waiting = list(names)
        while waiting:
            node = self._maker.get(waiting.pop(0))
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            operands = list(self._operands(node))
            found |= {id(tensor): (tensor, given) for tensor, given in operands}
            waiting += [] if operands else node.input
        return list(found.values())

    def _operands(self, node: onnx.NodeProto) -> Iterator[tuple[onnx.TensorProto, int]]:
        """The weights of a linear operator, with the number of values for each place or row."""
        for place in _OPERANDS.get(node.op_type, ()):
            tensor = self._weight(node, place)
            if tensor is None or len(tensor.dims) < 2 or prod(tensor.dims) < 2:
                continue
            flags = {attribute.name: attribute.i for attribute in node.attribute}
            first = place == _OPERANDS[node.op_type][0] and len(_OPERANDS[node.op_type]) > 1
            if node.op_type == "ConvTranspose":
                yield tensor, tensor.dims[1] * flags.get("group", 1)
            elif "Conv" in node.op_type:
                yield tensor, tensor.dims[0]
            elif first:
                yield tensor, tensor.dims[-1 if flags.get("transA") else -2]
            else:
                yield tensor, tensor.dims[-2 if flags.get("transB") else -1]

    def _weight(self, node: onnx.NodeProto, place: int) -> onnx.TensorProto | None:
        """The tensor behind an input of a node if its values are weights, not indices, shapes or flags."""
        if place >= len(node.input):
            return None
        name, scaled = node.input[place], node.op_type in _QUANTISED and place in _OPERANDS[node.op_type]
        while name not in self._tensors:
            maker = self._maker.get(name)
            if maker is None or maker.op_type not in _CARRIES:
                return None
            scaled |= maker.op_type == "DequantizeLinear"
            name = maker.input[0]
        tensor = self._tensors[name]
        return tensor if scaled or tensor.data_type in _FLOATS else None


def _classifier(
    ends: Sequence[tuple[onnx.TensorProto, int]], metadata: Metadata | None
) -> list[onnx.TensorProto]:
    """Those of the last weights that give class scores; empty if it cannot be told."""
    if metadata is None:
        return [tensor for tensor, _ in ends]
    head = metadata.detector
    if head is not None and not set(head.scores) & {*head.boxes, *head.objectness}:
        return [tensor for tensor, _ in ends]
    classes = head.classes if head is not None else class_count([None, *(metadata.scores_shape or ())])
    if head is None and (classes is None or classes == 1):
        return [tensor for tensor, _ in ends]
    # Boxes and scores in one output: a layer of their own gives as many values as there are classes.
    return [tensor for tensor, given in ends if given == classes and given > 1]
