"""Small networks for the tests, written as ONNX text: no torch, built in milliseconds."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser


def network(body: str, *, inputs: str = "float[1,3,64,64] input", output: str = "float[N,10] logits",
            opset: int = 17, **weights: np.ndarray) -> onnx.ModelProto:  # fmt: skip
    """A model from the text of its nodes; the keyword arguments become initializers."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> net ({inputs}) => ({output}) {{ {body} }}'
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model


def small_cnn(
    inputs: str = "float[1,3,64,64] input", *, seed: int = 0, opset: int = 17, dtype: type = np.float32,
    channels: tuple[int, int, int] = (8, 12, 16), classes: int = 10,
) -> onnx.ModelProto:  # fmt: skip
    """Conv-ReLU at strides 2, 4 and 8, with so many channels, then pooling and a linear head."""
    random = np.random.default_rng(seed)

    def weight(*shape: int) -> np.ndarray:
        fan_in = float(np.prod(shape[1:]))
        return (random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(dtype)

    first, second, third = channels
    # In old opsets Gemm requires a bias.
    bias = {"b4": np.zeros(classes, dtype)} if opset < 11 else {}
    return network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a1, w2)
        a2 = Relu (c2)
        c3 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (a2, w3)
        a3 = Relu (c3)
        pooled = GlobalAveragePool (a3)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> ({", ".join(("flat", "w4", *bias))})
        """,
        inputs=inputs, opset=opset,
        output=f"{'float16' if dtype is np.float16 else 'float'}[N,{classes}] logits",
        w1=weight(first, 3, 3, 3), w2=weight(second, first, 3, 3), w3=weight(third, second, 3, 3),
        w4=weight(classes, third), **bias,
    )  # fmt: skip


def residual_net() -> onnx.ModelProto:
    """One stride-2 stem, then a block whose inner ReLU the shortcut bypasses."""
    random = np.random.default_rng(0)
    w = (random.standard_normal((8, 8, 3, 3)) / 8).astype(np.float32)
    return network(
        """
        c0 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w0)
        stem = Relu (c0)
        c1 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (stem, w)
        inner = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (inner, w)
        sum = Add (c2, stem)
        end = Relu (sum)
        c3 = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (end, w)
        last = Relu (c3)
        pooled = GlobalAveragePool (last)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w4)
        """,
        w0=(random.standard_normal((8, 3, 3, 3)) / 5).astype(np.float32), w=w,
        w4=random.standard_normal((10, 8)).astype(np.float32),
    )  # fmt: skip


def add_weights(model: onnx.ModelProto, **arrays: np.ndarray) -> None:
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())


def take_weights(model: onnx.ModelProto, name: str) -> np.ndarray:
    """The weights of that name, removed from the model."""
    (tensor,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    model.graph.initializer.remove(tensor)
    return numpy_helper.to_array(tensor)


def hide_a_shape(model: onnx.ModelProto) -> None:
    """Give `small_cnn` an operator of onnxruntime, whose result ONNX's own inference does not know."""
    model.graph.node[1].op_type, model.graph.node[1].domain = "QuickGelu", "com.microsoft"
    model.opset_import.add(domain="com.microsoft", version=1)
