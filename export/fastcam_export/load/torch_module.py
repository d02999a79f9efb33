"""Export torch modules to ONNX. No other module imports torch."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx
import torch
from fastcam_runtime.errors import closest, first_line

from ..errors import LoadError

DEFAULT_SHAPE = (1, 3, 224, 224)
EXPORT_OPSET = 18
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What makes text coloured on a terminal."""


def export_named(name: str, example: Any, shape: Sequence[int] | None) -> onnx.ModelProto:
    """Export the module that `torchvision:NAME`, `timm:NAME` or `package.module:factory` names.

    torchvision's and timm's models come with their published weights, which those packages download.

    Raises:
        LoadError: The package is not installed, has no such model, or fails to build it; or torch cannot
            export it.
    """
    published = name.partition(":")[0] in _PUBLISHERS
    # For building and exporting: a module may import others in `forward`.
    with contextlib.nullcontext() if published else _current_folder():
        return export_torch(_resolve(name), example, shape)


def _resolve(name: str) -> torch.nn.Module:
    package, _, model = name.partition(":")
    build = _PUBLISHERS.get(package)
    try:
        module = build(model) if build is not None else _factory(package, model)
    except LoadError:
        raise
    except ImportError as error:
        if build is not None and isinstance(error, ModuleNotFoundError) and error.name == package:
            raise LoadError(f"{name} needs {package}: pip install {package}") from None
        raise LoadError(f"{name}: cannot import {error.name or package}: {error}") from error
    except Exception as error:  # a user's factory, or a download, may fail in any way
        raise LoadError(f"{name} could not be built: {type(error).__name__}: {error}") from error
    if not isinstance(module, torch.nn.Module):
        raise LoadError(f"{name} gave a {type(module).__name__}, not a torch.nn.Module")
    return module


def _torchvision(name: str) -> Any:
    try:
        models = importlib.import_module("torchvision.models")
    except RuntimeError as error:  # its compiled operators do not fit the installed torch
        raise LoadError(
            f"torchvision does not load beside torch {torch.__version__}: install a matching pair"
        ) from error
    known = models.list_models(module=models)
    if name not in known:
        raise LoadError(f"torchvision has no classifier '{name}'{closest(name, known)}")
    return models.get_model(name, weights="DEFAULT")


def _timm(name: str) -> Any:
    timm = importlib.import_module("timm")
    known = timm.list_models()
    if name.split(".")[0] not in known:
        raise LoadError(f"timm has no model '{name}'{closest(name, known)}")
    return timm.create_model(name, pretrained=True)


_PUBLISHERS: dict[str, Callable[[str], Any]] = {"torchvision": _torchvision, "timm": _timm}


def _factory(package: str, name: str) -> Any:
    module = importlib.import_module(package)
    factory = getattr(module, name, None)
    if factory is None:
        raise LoadError(f"{package} has no '{name}'{closest(name, dir(module))}")
    return factory if isinstance(factory, torch.nn.Module) else factory()


@contextlib.contextmanager
def _current_folder() -> Iterator[None]:
    """Import modules from the current folder too, as `python -m` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # a user's module may have changed the list itself
            sys.path.remove("")


def export_torch(module: torch.nn.Module, example: Any, shape: Sequence[int] | None) -> onnx.ModelProto:
    """Export a module to ONNX in evaluation mode; its training state is restored.

    Raises:
        LoadError: torch cannot export it.
    """
    if example is None:
        example = torch.randn(*(shape or DEFAULT_SHAPE))
    arguments = example if isinstance(example, tuple) else (example,)
    training = {m: m.training for m in module.modules()}
    module.eval()
    try:
        with _quiet():
            program = torch.onnx.export(
                module, arguments, dynamo=True, opset_version=EXPORT_OPSET, input_names=["input"],
                output_names=["logits"], verbose=False,
            )  # fmt: skip
    except Exception as error:  # torch's exporter raises whatever the module's code raised
        raise LoadError(f"torch cannot export {type(module).__name__}: {_reason(error)}") from error
    finally:
        for part, mode in training.items():
            part.training = mode
    assert program is not None
    return _without_traces(program.model_proto)


def _reason(error: BaseException) -> str:
    """The first line of the innermost error: those around it only say that the export failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {_COLOURS.sub('', first_line(error))}"


def _without_traces(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Remove the stack traces of the exporting script, which torch stores on every node."""
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        del value.metadata_props[:]
    del proto.graph.metadata_props[:]
    return proto


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter, which prints to standard output and warns about itself."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        silent = io.StringIO()
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(silent),
            contextlib.redirect_stderr(silent),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
