"""Files prepared for this device: the same scores and maps, from blocks of channels; refused elsewhere."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import export, graft
from fastcam_export.errors import GraftError
from fastcam_runtime import Explainer, native
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import METADATA_KEY, NODE_PREFIX, Metadata
from fastcam_runtime.errors import ModelError
from fastcam_runtime.model import device as preparation
from fastcam_runtime.model.pruning import cut_file
from fastcam_runtime.model.session import open_session
from fastcam_runtime.prepared import preparing
from fastcam_runtime.prepared.layout import read_in_place
from fastcam_runtime.prepared.preparing import optimize
from support.networks import small_cnn
from support.paths import ROOT
from support.profiled import nodes_run
from support.shared_data import shared

CHANNELS = (16, 32, 48)
"""Whole blocks of 16, and so of 8."""
EVERYTHING = ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"]


def wide_cnn(
    inputs: str = "float[1,3,64,64] input", channels: tuple[int, int, int] = CHANNELS
) -> onnx.ModelProto:
    return small_cnn(inputs, channels=channels)


pytestmark = pytest.mark.skipif(native.library_path() is None, reason=native.status())


@pytest.fixture(scope="module", autouse=True)
def _blocks_are_kept() -> None:
    """Skip where onnxruntime does not lay out activations in blocks of channels."""
    try:
        graft(wide_cnn(), prepared=True)
    except GraftError as error:
        if "nothing to prepare" in str(error):
            pytest.skip("onnxruntime keeps activations in planes on this processor")
        raise


def picture(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def run(model: onnx.ModelProto, feed: dict[str, np.ndarray], *, kernels: bool) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if kernels:
        assert native.register(options)
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(found) == list(expected)
    for name, values in expected.items():
        if values.dtype == np.uint8:
            assert np.abs(found[name].astype(int) - values).max() <= 1, name
        else:
            np.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        ("float[1,3,64,64] input", (1, 3, 64, 64)),
        ("float[n,3,64,64] input", (2, 3, 64, 64)),
        ("float[n,3,h,w] input", (2, 3, 72, 40)),
    ],
)
def test_the_outputs_are_those_of_the_standard_operators(inputs: str, shape: tuple[int, ...]) -> None:
    options = {"outputs": EVERYTHING, "input_shape": (1, 3, 64, 64)}
    prepared = graft(wide_cnn(inputs), prepared=True, **options)
    assert operators(prepared).count("SmoeScaleBlocked") == len(CHANNELS)
    assert "SmoeScale" not in "".join(set(operators(prepared)) - {"SmoeScaleBlocked"})
    feed = {"input": picture(*shape)}
    expected = run(graft(wide_cnn(inputs), **options), feed, kernels=False)
    assert_same(run(prepared, feed, kernels=True), expected)


@pytest.mark.slow
def test_a_class_is_chosen_at_run_time_as_ever() -> None:
    feed = {"input": picture(1, 3, 64, 64), "saliency_class": np.array([7])}
    options = {"outputs": ["cam", "fastcam"]}
    expected = run(graft(wide_cnn(), **options), feed, kernels=False)
    assert_same(run(graft(wide_cnn(), prepared=True, **options), feed, kernels=True), expected)


def test_signed_activations_are_rectified() -> None:
    model = wide_cnn()
    for node in model.graph.node:
        if node.op_type == "Relu":
            node.op_type = "Tanh"
    prepared = graft(model, prepared=True)
    assert "SmoeScaleBlockedRelu" in operators(prepared)
    feed = {"input": picture(1, 3, 64, 64)}
    assert_same(run(prepared, feed, kernels=True), run(graft(model), feed, kernels=False))


def test_taps_that_are_no_whole_blocks_stay_as_they_were() -> None:
    prepared = graft(wide_cnn(channels=(16, 12, 32)), prepared=True)
    assert operators(prepared).count("SmoeScaleBlocked") == 2
    feed = {"input": picture(1, 3, 64, 64)}
    expected = run(graft(wide_cnn(channels=(16, 12, 32))), feed, kernels=False)
    assert_same(run(prepared, feed, kernels=True), expected)


def test_a_map_follows_its_tap(tmp_path: Path) -> None:
    model = graft(wide_cnn(), outputs=["saliency_map", "cam"], prepared=True).SerializeToString()
    order = nodes_run(model, {"input": picture(1, 3, 64, 64)}, tmp_path, compiled=True)
    steps = [op for _, op in order if op in ("Conv", "SmoeScaleBlocked")]
    assert steps == ["Conv", "SmoeScaleBlocked"] * 3


@pytest.mark.slow
def test_the_branch_can_be_cut_off(tmp_path: Path) -> None:
    target = tmp_path / "prepared.onnx"
    export(wide_cnn(), target, outputs=EVERYTHING, prepared=True)
    feed = {"input": picture(1, 3, 64, 64)}
    expected = run(graft(wide_cnn(), outputs=EVERYTHING), feed, kernels=False)
    plain = onnx.load_from_string(cut_file(target))
    assert not [node.name for node in plain.graph.node if node.name.startswith(NODE_PREFIX)]
    assert_same(run(plain, feed, kernels=False), {"logits": expected["logits"]})
    one = onnx.load_from_string(cut_file(target, ["saliency_cam"]))
    assert "SmoeScaleBlocked" not in operators(one)
    assert_same(run(one, feed, kernels=True), {k: expected[k] for k in ("logits", "saliency_cam")})


def test_external_weights_move_in(tmp_path: Path) -> None:
    source, target = tmp_path / "source.onnx", tmp_path / "prepared.onnx"
    onnx.save(wide_cnn(), source, save_as_external_data=True, location="weights.bin", size_threshold=0)
    export(source, target, prepared=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared.onnx", "source.onnx", "weights.bin"]
    (tmp_path / "weights.bin").unlink()
    assert run(onnx.load(target), {"input": picture(1, 3, 64, 64)}, kernels=True)


@pytest.mark.slow
def test_weights_of_an_earlier_export_do_not_stay(tmp_path: Path) -> None:
    source, target = tmp_path / "source.onnx", tmp_path / "out.onnx"
    onnx.save(wide_cnn(), source, save_as_external_data=True, location="weights.bin", size_threshold=0)
    for prepared in (False, True, False):
        export(source, target, prepared=prepared)
        assert (tmp_path / "out.onnx.data").exists() is not prepared


def prepared_for(path: Path, what: str) -> None:
    """Change the file's metadata to another device."""
    model = onnx.load(path)
    (entry,) = [entry for entry in model.metadata_props if entry.key == METADATA_KEY]
    entry.value = dataclasses.replace(Metadata.from_json(entry.value), prepared=what).to_json()
    onnx.save(model, path)


def test_it_is_refused_where_it_was_not_prepared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "prepared.onnx"
    assert export(wide_cnn(), target, prepared=True).metadata.prepared == preparation.here()
    with pytest.raises(ModelError, match="prepared for compiled kernels; it cannot run without them"):
        Explainer(target, compiled=False)(np.zeros((64, 64, 3), np.uint8))
    prepared_for(target, "onnxruntime 1.2.3 on z80")
    with pytest.raises(ModelError, match=r"prepared for onnxruntime 1\.2\.3 on z80, this is .* --prepared"):
        open_session(target)
    assert main(["run", str(target), "test://?frames=1", "null://"]) == 2
    assert "prepared for onnxruntime 1.2.3 on z80" in capsys.readouterr().err
    assert main(["inspect", str(target)]) == 0
    assert "runs here   not at all: prepared for onnxruntime 1.2.3 on z80" in capsys.readouterr().out


def test_blocks_of_another_processor_are_refused_by_the_kernel(tmp_path: Path) -> None:
    target = tmp_path / "prepared.onnx"
    export(wide_cnn(), target, prepared=True)
    model = onnx.load(target)
    blocks = [a for node in model.graph.node for a in node.attribute if a.name == "block"]
    here = blocks[0].i
    wrong = {4: "needs the attribute block, 8 or 16"}
    if platform.machine() in ("x86_64", "AMD64"):  # elsewhere the kernel cannot tell
        wrong[24 - here] = "prepared for another processor"
    for size, message in wrong.items():
        for attribute in blocks:
            attribute.i = size
        onnx.save(model, target)
        with pytest.raises(ModelError, match=message):
            open_session(target)


def test_channels_that_are_no_whole_blocks_anywhere() -> None:
    with pytest.raises(GraftError, match="nothing to prepare"):
        graft(wide_cnn(channels=(12, 20, 36)), prepared=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "std"}, "only the statistic smoe can be prepared, not std"),
        ({"inline": True}, "inline and prepared exclude each other"),
    ],
)
def test_what_cannot_be_prepared_is_said(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(GraftError, match=message):
        export(wide_cnn(), tmp_path / "prepared.onnx", prepared=True, **options)
    assert not list(tmp_path.iterdir())


def test_another_result_is_blamed_on_the_preparation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaging(*given: Any) -> list[bytes]:
        proto = onnx.load_from_string(b"".join(read_in_place(*given) or ()))
        for tensor in proto.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) == 4:
                doubled = 2 * onnx.numpy_helper.to_array(tensor)
                tensor.CopyFrom(onnx.numpy_helper.from_array(doubled, tensor.name))
        return [proto.SerializeToString()]

    monkeypatch.setattr(preparing, "read_in_place", damaging)
    message = r"cannot be prepared: the preparation changed the output 'logits' by "
    with pytest.raises(GraftError, match=message):
        export(wide_cnn(), tmp_path / "m.onnx", prepared=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("free", "message"), [(0, "No space left on device"), (1e9, "cannot prepare the file")]
)
def test_a_disk_that_is_full_is_called_so(
    tmp_path: Path, free: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grafted = tmp_path / "grafted.onnx"
    onnx.save(graft(wide_cnn()), grafted)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises((OSError, ModelError), match=message):
        optimize(grafted, Path("/dev/full"))


def test_inspect_says_what_it_was_prepared_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "prepared.onnx"
    onnx.save(wide_cnn(), source)
    assert main(["export", str(source), str(target), "--prepared"]) == 0
    assert f"prepared for {preparation.here()}" in capsys.readouterr().out
    assert main(["inspect", str(target)]) == 0
    assert f"prepared    for {preparation.here()} only" in capsys.readouterr().out


@pytest.mark.slow
def test_a_real_network_on_a_real_photo(tmp_path: Path) -> None:
    model, photo = shared("models/mobilenet_v2.onnx"), cv2.imread(str(shared("photos/285_Egyptian_cat.jpg")))
    export(model, tmp_path / "prepared.onnx", prepared=True)
    export(model, tmp_path / "functions.onnx")
    found = Explainer(tmp_path / "prepared.onnx")(photo)
    expected = Explainer(tmp_path / "functions.onnx", compiled=False)(photo)
    assert np.argmax(found.logits) == np.argmax(expected.logits) == 285
    np.testing.assert_allclose(found.maps["saliency_map"], expected.maps["saliency_map"], atol=1e-5)


@pytest.mark.slow
def test_tune_offers_it_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "net.onnx", tmp_path / "tuned.onnx"
    onnx.save(wide_cnn(), source)
    argv = ["tune", str(source), "--budget", "5%", "--pick", "prepared", "--out", str(target)]
    assert main([*argv, "--rounds", "6", "--threads", "1", "--images", "test://?frames=2"]) == 0
    assert f"prepared: exact, for {preparation.here()}" in capsys.readouterr().out
    assert Explainer(target).metadata.prepared == preparation.here()


@pytest.mark.slow
def test_blocks_of_a_processor_with_narrower_registers() -> None:
    """valgrind emulates a processor with only AVX2, for which onnxruntime uses blocks of 8."""
    if shutil.which("valgrind") is None or platform.machine() != "x86_64":
        pytest.skip("valgrind is not there to stand in for another processor")
    command = [
        "valgrind",
        "--tool=none",
        "-q",
        sys.executable,
        str(Path(__file__).with_name("prepare_probe.py")),
    ]
    path = os.pathsep.join([str(ROOT / "tests"), *sys.path])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    blocks, error = json.loads(done.stdout)
    assert blocks == [8, 8, 8]
    assert error < 1e-5


@pytest.mark.slow
@pytest.mark.skipif(native.library_path() is None, reason=native.status())
def test_int8_taps_are_read_before_onnxruntime_transposes_them(tmp_path: Path) -> None:
    plain = shared("models/mobilenet_v2-int8-qdq.onnx")
    export(plain, tmp_path / "grafted.onnx")
    export(plain, tmp_path / "prepared.onnx", prepared=True)
    nodes = onnx.load(tmp_path / "prepared.onnx").graph.node
    assert [node.op_type for node in nodes].count("SmoeScaleQuantizedNhwc") == 5
    x = np.random.default_rng(0).standard_normal((1, 3, 244, 244)).astype(np.float32)
    expected = ort.InferenceSession(str(plain), providers=["CPUExecutionProvider"]).run(None, {"image": x})[0]
    maps = []
    for name in ("grafted.onnx", "prepared.onnx"):
        options = ort.SessionOptions()
        assert native.register(options)
        session = ort.InferenceSession(str(tmp_path / name), options, providers=["CPUExecutionProvider"])
        scores, saliency = session.run(["scores", "saliency_map"], {"image": x})
        np.testing.assert_array_equal(scores, expected)
        maps.append(saliency)
    assert np.abs(maps[0] - maps[1]).max() <= 1e-5
