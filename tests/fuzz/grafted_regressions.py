"""Grafted files that once made `run` or `bench` fail in another way than with one line."""

from __future__ import annotations

import onnx
from fastcam_export import graft
from fastcam_runtime.contract import DOMAIN
from onnx import TensorProto, helper
from support.networks import small_cnn

from .regressions import Maker


def grafted_without_rank() -> onnx.ModelProto:
    """A grafted file that does not tell how many dimensions its picture has."""
    model = graft(small_cnn("float[1,3,16,16] input"))
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return model


def grafted_with_five_dimensions() -> onnx.ModelProto:
    """A grafted file whose picture has one free dimension more, which it takes away itself."""
    model = graft(small_cnn("float[1,3,16,16] input"))
    model.graph.input[0].type.tensor_type.shape.dim.add(dim_param="T")
    model.graph.node[0].input[0] = "picture"
    model.graph.initializer.append(helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 3, 16, 16]))
    model.graph.node.insert(0, helper.make_node("Reshape", ["input", "sizes"], ["picture"]))
    return model


def grafted_with_unreadable_metadata() -> onnx.ModelProto:
    """A grafted file with an entry beside ours that is not UTF-8."""
    model = graft(small_cnn("float[1,3,16,16] input"))
    model.metadata_props.add(key="author", value="nobody")
    return onnx.load_from_string(model.SerializeToString().replace(b"nobody", b"nob\xec(y"))


def grafted_with_an_unreadable_operator() -> onnx.ModelProto:
    """A grafted file with an operator whose name is not UTF-8: onnxruntime's own message cannot be read."""
    data = graft(small_cnn("float[1,3,16,16] input")).SerializeToString()
    return onnx.load_from_string(data.replace(b"GlobalAveragePool", b"GlobalAveragePoo\xff"))


def grafted_with_a_control_character() -> onnx.ModelProto:
    """A grafted file with a function that is called escape."""
    model = graft(small_cnn("float[1,3,16,16] input"))
    text = f'<domain: "{DOMAIN}", opset_import: ["" : 17]> F (x) => (y) {{ y = Relu (x) }}'
    model.functions.append(onnx.parser.parse_function(text))
    model.functions[-1].name = "\x1b[31m"
    return model


def grafted_reshape_of_huge_sizes() -> onnx.ModelProto:
    """A grafted file with a constant of 2^62 elements: onnxruntime writes to its default log, in colours."""
    model = graft(small_cnn("float[1,3,16,16] input"))
    sizes = helper.make_tensor("sizes", TensorProto.INT64, [2], [1, -1])
    sizes.dims[0] = (1 << 62) - 1
    model.graph.initializer.append(sizes)
    model.graph.node.append(helper.make_node("Reshape", ["input", "sizes"], ["unused"]))
    return model


def grafted_with_a_huge_batch() -> onnx.ModelProto:
    """A grafted file for 100,000 pictures at once: the cache prepared it for 36 s in 2 GB."""
    model = graft(small_cnn("float[N,3,16,16] input"))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 100_000
    return model


GRAFTED: dict[str, tuple[Maker, str, str]] = {
    "grafted_without_rank": (grafted_without_rank, "", "does not run"),
    "grafted_with_five_dimensions": (grafted_with_five_dimensions, "5 dimensions", "does not run"),
    "grafted_with_unreadable_metadata": (grafted_with_unreadable_metadata, "", ""),
    "grafted_with_an_unreadable_operator": (grafted_with_an_unreadable_operator, "UTF-8", "UTF-8"),
    "grafted_with_a_control_character": (grafted_with_a_control_character, "", ""),
    "grafted_with_a_huge_batch": (grafted_with_a_huge_batch, "100000 pictures", "100000 pictures"),
    "grafted_reshape_of_huge_sizes": (grafted_reshape_of_huge_sizes, "cannot run it", "cannot run it"),
}
"""What `run` and `bench` say; empty where the file can be used."""
