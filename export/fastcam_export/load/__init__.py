"""Load a network: an `.onnx` file, a model in memory, a torch module, or the name of one."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import onnx
import onnx_ir as ir
from fastcam_runtime.installation import requirement

from ..errors import LoadError
from .bounds import check_bounds
from .loaded_model import LoadedModel
from .onnx_file import read
from .order import in_order
from .upgrade import upgrade
from .view import refuse_unseen

if TYPE_CHECKING:
    import torch

__all__ = ["LoadedModel", "load"]


def load(
    model: str | Path | bytes | onnx.ModelProto | ir.Model | torch.nn.Module,
    *,
    example: Any = None,
    input_shape: Sequence[int] | None = None,
) -> LoadedModel:
    """Load a model and bring it to an opset that the graft can be written in.

    Args:
        model: A path to an `.onnx` file; its bytes; a model in memory (it is not changed); a torch
            module; or one of `torchvision:NAME`, `timm:NAME`, `package.module:factory`, the last one
            installed or in the current folder.
        example: For a torch module, an example input tensor.
        input_shape: For a torch module without an example, the shape of a random one.

    Raises:
        LoadError: The model cannot be read or exported; the message says why.
    """
    if (isinstance(model, str) and _names_torch_model(model)) or _is_torch_module(model):
        return upgrade(_without_file(_from_torch(model, example, input_shape)))
    if not isinstance(model, str | Path | bytes | onnx.ModelProto | ir.Model):
        raise LoadError(
            f"cannot load a {type(model).__name__}: a path, an ONNX model or a torch module is needed"
        )
    if example is not None:
        raise LoadError("an example input is for torch models; this is an ONNX model")
    source = _from_onnx(model)
    refuse_unseen(source)
    return upgrade(in_order(check_bounds(source)))


def _from_onnx(model: str | Path | bytes | onnx.ModelProto | ir.Model) -> LoadedModel:
    if isinstance(model, str | Path):
        proto, digest = read(Path(model))
        return LoadedModel(proto, digest, Path(model))
    if isinstance(model, ir.Model):
        return _without_file(ir.to_proto(model))
    proto = onnx.ModelProto()
    if isinstance(model, onnx.ModelProto):
        proto.CopyFrom(model)
        return _without_file(proto)
    try:
        proto.ParseFromString(model)
    except Exception as error:  # the place of protobuf's DecodeError depends on its release
        raise LoadError(f"these bytes are not an ONNX model: {error}") from error
    return LoadedModel(proto, hashlib.sha256(model).hexdigest(), None)


def _without_file(proto: onnx.ModelProto) -> LoadedModel:
    digest = hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()
    return LoadedModel(proto, digest, None)


def _names_torch_model(name: str) -> bool:
    """Whether this is a name such as `torchvision:resnet18` or `pkg.module:factory`, and not a path."""
    left, colon, right = name.partition(":")
    module = left.replace(".", "").replace("_", "").isalnum() and not left.endswith(".onnx")
    return bool(colon) and module and right.isidentifier() and len(left) > 1 and not Path(name).exists()


def _is_torch_module(model: object) -> TypeGuard[torch.nn.Module]:
    """Whether this is a torch module. Does not import torch: a caller with a torch module has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _from_torch(
    model: str | torch.nn.Module, example: Any, input_shape: Sequence[int] | None
) -> onnx.ModelProto:
    try:
        from .torch_module import export_named, export_torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise LoadError(f"{model}: torch models need torch: pip install {requirement('torch')}") from None
    if isinstance(model, str):
        return export_named(model, example, input_shape)
    return export_torch(model, example, input_shape)
