"""The reference for speed: the formulas grafted literally, one operator after the other.

Independent of the exporter on purpose: the exporter's maps are checked against it while they are timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from fastcam_runtime.contract import MAP, Metadata
from onnx import TensorProto, helper, numpy_helper

NON_NEGATIVE = ("Relu", "Clip", "Concat")
"""Operators before the taps of the measured networks whose results are never negative."""


def graft_naively(plain: Path, target: Path, metadata: Metadata) -> None:
    """Write `plain` with the output `saliency_map`, at the taps and weights that `metadata` names."""
    model = onnx.load(plain)
    graft = _Graft(model)
    producers = {output: node.op_type for node in model.graph.node for output in node.output}
    maps = []
    for tap in metadata.taps:
        x = tap.name if producers[tap.name] in NON_NEGATIVE else graft.add("Relu", tap.name)
        height, width = (size or 1 for size in tap.shape[2:])
        normalised = graft.gauss(graft.smoe(x, metadata.epsilon), height * width)
        maps.append(graft.upsample(normalised, metadata.image.height, metadata.image.width))
    graft.combine(maps, [tap.weight for tap in metadata.taps])
    shape = [1, metadata.image.height, metadata.image.width]
    model.graph.output.append(helper.make_tensor_value_info(MAP, TensorProto.FLOAT, shape))
    target.write_bytes(model.SerializeToString())


class _Graft:
    """Appends nodes to a model's graph, each method one formula."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._graph = model.graph
        self._axes_are_inputs = next(o.version for o in model.opset_import if o.domain == "") >= 18
        self._count = 0

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        self._count += 1
        output = output or f"naive_{self._count}"
        self._graph.node.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        self._count += 1
        name = f"naive_{self._count}"
        self._graph.initializer.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def mean(self, x: str, axes: Sequence[int]) -> str:
        if self._axes_are_inputs:
            return self.add("ReduceMean", x, self.constant(axes, np.int64), keepdims=1)
        return self.add("ReduceMean", x, axes=axes, keepdims=1)

    def smoe(self, x: str, epsilon: float) -> str:
        """y = x + ε, m = mean y: m·(log2 m − mean log2 y), N×1×h×w."""
        y = self.add("Add", x, self.constant(epsilon))
        m = self.mean(y, [1])
        mean_log = self.mean(self.add("Log", y), [1])
        nats = self.add("Mul", m, self.add("Sub", self.add("Log", m), mean_log))
        return self.add("Mul", nats, self.constant(1 / math.log(2)))

    def gauss(self, s: str, pixels: int) -> str:
        """½(1 + erf((s − μ)/(σ√2))), σ of a sample."""
        centred = self.add("Sub", s, self.mean(s, [2, 3]))
        variance = self.mean(self.add("Mul", centred, centred), [2, 3])
        scale = self.add(
            "Mul", self.add("Sqrt", variance), self.constant(math.sqrt(2 * pixels / (pixels - 1)))
        )
        erf = self.add("Erf", self.add("Div", centred, scale))
        return self.add("Mul", self.add("Add", erf, self.constant(1)), self.constant(0.5))

    def upsample(self, x: str, height: int, width: int) -> str:
        sizes = self.constant([1, 1, height, width], np.int64)
        return self.add(
            "Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel"
        )

    def combine(self, maps: Sequence[str], weights: Sequence[float]) -> None:
        """Σ wₖ·mapₖ / Σ wₖ, N×H×W."""
        weighted = [
            self.add("Mul", scale, self.constant(weight)) for scale, weight in zip(maps, weights, strict=True)
        ]
        total = self.add("Sum", *weighted)
        mean = self.add("Div", total, self.constant(sum(weights)))
        self.add("Squeeze", mean, self.constant([1], np.int64), output=MAP)
