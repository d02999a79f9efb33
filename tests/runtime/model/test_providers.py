"""The choice of an execution provider, for any build of onnxruntime."""

from __future__ import annotations

import onnxruntime as ort
import pytest
from fastcam_runtime import FastcamError
from fastcam_runtime.model import providers

CPU = "CPUExecutionProvider"


def offers(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(ort, "get_available_providers", lambda: [*names, CPU])


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ([], (CPU,)),
        (["AzureExecutionProvider"], (CPU,)),
        (["TensorrtExecutionProvider", "CUDAExecutionProvider"], ("CUDAExecutionProvider", CPU)),
        (["OpenVINOExecutionProvider"], ("OpenVINOExecutionProvider", CPU)),
        (["XnnpackExecutionProvider"], (CPU,)),
    ],
)
def test_auto(monkeypatch: pytest.MonkeyPatch, offered: list[str], chosen: tuple[str, ...]) -> None:
    offers(monkeypatch, *offered)
    assert providers.choose("auto") == chosen


def test_by_short_and_full_name(monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, "TensorrtExecutionProvider")
    expected = ("TensorrtExecutionProvider", CPU)
    assert providers.choose("TensorRT") == providers.choose("TensorrtExecutionProvider") == expected
    assert providers.choose("cpu") == (CPU,)


def test_refusals_tell_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, "CUDAExecutionProvider")
    with pytest.raises(
        FastcamError, match="'openvino' is not in the installed onnxruntime; available: auto, cpu, cuda"
    ):
        providers.choose("openvino")
    with pytest.raises(FastcamError, match="'coda' is unknown; available: auto, cpu, cuda; closest: cuda"):
        providers.choose("coda")
