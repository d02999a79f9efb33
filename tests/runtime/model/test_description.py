"""What a grafted file contains, in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fastcam_runtime import ModelError, contract
from fastcam_runtime.model.description import describe_graft
from fastcam_runtime.model.file import Summary

METADATA = contract.Metadata(
    image=contract.ImageInput("image", "NCHW", 1, 28, 28),
    scores="logits",
    scores_are="logits",
    taps=(contract.TapInfo("relu", (None, 8, 14, 14), 1.0),),
    outputs=("saliency_map",),
    preprocess=contract.Preprocess("GRAY", (57.629999999999995,), (33.3285,)),
    labels=("ten",),
)


def described(metadata: contract.Metadata = METADATA, functions: tuple[str, ...] = ()) -> str:
    text = {contract.METADATA_KEY: metadata.to_json()}
    return describe_graft(Path("m.onnx"), Summary(("logits", "saliency_map"), text, functions))


def test_numbers_are_written_as_people_write_them() -> None:
    lines = described().splitlines()
    assert lines[:6] == [
        "m.onnx is grafted (format 1, plain operators)",
        "image       image  1 channel, 28×28 NCHW",
        "preprocess  GRAY (x − [57.63]) / [33.3285]",
        "resize      stretch",
        "labels      1: ten",
        "scores      logits  logits",
    ]
    assert lines[-2:] == ["scale  shape      weight  tensor", "1      ?×8×14×14  1       relu"]


def test_what_only_some_files_have() -> None:
    usual = described(functions=("SmoeScale",))
    assert usual.startswith("m.onnx is grafted (format 1, functions)\n")
    assert not any(line.startswith(("approximate", "class maps", "prepared")) for line in usual.splitlines())
    changes = {"approximation": "without scale 7×7", "cam": "gradcam", "prepared": "another", "labels": ()}
    special = described(dataclasses.replace(METADATA, **changes))
    for line in (
        "m.onnx is grafted (format 1, prepared)",
        "scores      logits  logits",
        "approximate without scale 7×7",
        "class maps  gradcam",
        "prepared    for another only",
        "runs here   not at all: prepared for ",
    ):
        assert f"\n{line}" in f"\n{special}"


def test_a_free_size() -> None:
    taps = (contract.TapInfo("relu", (None, 8, None, None), 1.0),)
    assert (
        "image       image  1 channel, 28×28 NCHW (of free size: frames are resized to this one)\n"
        in described(dataclasses.replace(METADATA, taps=taps))
    )


def test_damaged_metadata() -> None:
    with pytest.raises(ModelError, match=r"^m\.onnx: the file's 'fastcam' metadata is damaged"):
        describe_graft(Path("m.onnx"), Summary((), {contract.METADATA_KEY: "{"}, ()))
