"""`fastcam export` and `fastcam inspect` as a user runs them: files in, files or one clear line out."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_runtime import native
from fastcam_runtime.cli.main import main
from support.networks import network, small_cnn


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(), path)
    return path


def outcome(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one line of a refusal: exit code 2, nothing on standard output, no traceback."""
    code, out, err = outcome(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("fastcam: error: ")
    assert err.count("\n") == 1
    return err


def save_with_external_data(path: Path) -> None:
    onnx.save(small_cnn(), path, save_as_external_data=True, location="m.bin", size_threshold=100)


def files(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def test_export_writes_a_file_that_runs(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.onnx"
    code, out, _ = outcome(capsys, "export", plain, target, "--outputs", "saliency_map,scales")
    assert code == 0
    assert "3 scales (32×32, 16×16, 8×8)" in out
    session = ort.InferenceSession(target, providers=["CPUExecutionProvider"])
    assert [o.name for o in session.get_outputs()][:2] == ["logits", "saliency_map"]


@pytest.mark.parametrize("suffix", [".onnx", ".ONNX"])
def test_the_default_target_lies_where_the_user_stands(
    suffix: str,
    plain: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert outcome(capsys, "export", plain.rename(plain.with_suffix(suffix)))[0] == 0
    assert (tmp_path / "here" / "plain-fastcam.onnx").is_file()


def test_inspect_shows_scales_taps_and_reasons(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "inspect", plain)
    assert code == 0
    for text in ("input  1×3×64×64 NCHW", "32×32", "a1", "Relu", "last activated dominator"):
        assert text in out
    assert "not chosen" not in out


def test_inspect_shows_what_was_not_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = network(
        """
        c = Conv <kernel_shape=[1,1], strides=[2,2]> (input, w)
        first = Relu (c)
        d = Conv <kernel_shape=[1,1]> (first, v)
        last = Relu (d)
        g = GlobalAveragePool (last)
        logits = Flatten (g)
        """,
        w=np.ones((16, 3, 1, 1), np.float32), v=np.ones((5, 16, 1, 1), np.float32),
    )  # fmt: skip
    onnx.save(model, tmp_path / "two.onnx")
    out = outcome(capsys, "inspect", tmp_path / "two.onnx")[1]
    assert "\n\nnot chosen, nearest first:\n  scale 1: first " in out


@pytest.mark.parametrize("size", ["32,32", "h,w"])  # undeclared sizes follow from the picture's size
def test_inspect_says_where_there_are_no_class_scores(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = network(
        """
        c = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w)
        a = Relu (c)
        logits = Conv (a, w5)
        """,
        output=f"float[1,5,{size}] logits",
        w=np.ones((16, 3, 3, 3), np.float32), w5=np.ones((5, 16, 1, 1), np.float32),
    )  # fmt: skip
    onnx.save(model, tmp_path / "places.onnx")
    code, out, _ = outcome(capsys, "inspect", tmp_path / "places.onnx")
    assert code == 0
    assert "scores  logits  one for each of 5×32×32, not for each class: no labels, no class maps\n" in out


@pytest.mark.slow
def test_a_free_size_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    free, target = tmp_path / "free.onnx", tmp_path / "out.onnx"
    onnx.save(small_cnn("float[batch,3,height,width] input"), free)
    note = (
        "note: the network's input size is free: frames are resized to 224×224, "
        "assumed: nothing in the file says; "
        "set another size with --input-shape N,C,H,W\n"
    )
    assert outcome(capsys, "export", free, target)[2] == note
    code, out, _ = outcome(capsys, "inspect", free)
    assert code == 0
    assert f"{note}image   input  N×3×H×W NCHW, analysed as 1×3×224×224\n" in out
    assert outcome(capsys, "export", free, target, "--input-shape", "1,3,96,64")[2] == ""
    out = outcome(capsys, "inspect", free, "--input-shape", "1,3,96,64")[1]
    assert out.startswith("image   input  N×3×H×W NCHW, analysed as 1×3×96×64\n")


@pytest.mark.parametrize(("inputs", "shape"), [("float[n,3,64,64]", "N×3×64×64"), ("float", "N×C×H×W")])
def test_inspect_shows_free_dimensions_as_such(
    inputs: str, shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "free.onnx"
    model = small_cnn(f"{inputs} input")
    if inputs == "float":
        model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    out = outcome(capsys, "inspect", path, "--input-shape", "1,3,64,64")[1]
    assert f"image   input  {shape} NCHW, analysed as 1×3×64×64\n" in out


def test_an_input_that_run_cannot_feed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "two.onnx", tmp_path / "out.onnx"
    onnx.save(small_cnn("float[1,3,64,64] input, bool[1] flag"), path)
    code, _, err = outcome(capsys, "export", path, target)
    assert code == 0
    assert err.startswith("note: fastcam run cannot feed 'flag': ")
    assert f"{target}: needs 'flag', but only the picture " in refused(
        capsys, "run", target, "test://", "null://"
    )


def test_inspect_shows_what_a_grafted_file_contains(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.onnx"
    assert outcome(capsys, "export", plain, target)[0] == 0
    _, out, _ = outcome(capsys, "inspect", target)
    digest = hashlib.sha256(plain.read_bytes()).hexdigest()
    for text in ("is grafted", "functions", "smoe", "saliency_map", "a3", digest, native.status()):
        assert text in out


def test_external_data_is_carried_along(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source"
    source.mkdir()
    onnx.save(
        small_cnn(), source / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=100
    )
    before = files(source)
    target = tmp_path / "out.onnx"
    code, out, _ = outcome(capsys, "export", source / "m.onnx", target)
    assert code == 0
    assert out.splitlines()[-1].startswith(f"{target} (needs out.onnx.data beside it): 3 scales")
    assert files(source) == before
    assert sorted(files(tmp_path)) == ["m.bin", "m.onnx", "out.onnx", "out.onnx.data"]
    (source / "m.bin").unlink()
    x = np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype(np.float32)
    expected = ort.InferenceSession(small_cnn().SerializeToString()).run(["logits"], {"input": x})[0]
    got = ort.InferenceSession(target).run(["logits"], {"input": x})[0]
    np.testing.assert_array_equal(got, expected)


def test_missing_or_short_external_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_data(path)
    data = (tmp_path / "m.bin").read_bytes()
    (tmp_path / "m.bin").write_bytes(data[:100])
    assert "m.bin is truncated: 100 bytes" in refused(capsys, "export", path, tmp_path / "o.onnx")
    (tmp_path / "m.bin").unlink()
    assert "keeps weights in m.bin, which is not beside it" in refused(capsys, "export", path)


@pytest.mark.parametrize(
    "content", [b"<html>no model</html>", b"\x00" * 64, b"PK\x03\x04" + bytes(range(256))]
)
def test_not_an_onnx_file(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "photo.onnx"
    path.write_bytes(content)
    assert f"{path} is not an ONNX file" in refused(capsys, "export", path, tmp_path / "o.onnx")
    assert sorted(files(tmp_path)) == ["photo.onnx"]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(
    keep: float, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = plain.read_bytes()
    plain.write_bytes(data[: int(len(data) * keep)])
    refused(capsys, "export", plain, tmp_path / "o.onnx")
    assert sorted(files(tmp_path)) == ["plain.onnx"]


def test_paths_that_are_not_there(plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "closest: plain.onnx" in refused(capsys, "export", tmp_path / "plan.onnx")
    assert "is a folder" in refused(capsys, "export", tmp_path)
    assert "there is no folder" in refused(capsys, "export", plain, tmp_path / "no" / "o.onnx")
    assert "cannot write" in refused(capsys, "export", plain, plain / "o.onnx")


def test_the_source_is_never_overwritten(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = plain.read_bytes()
    assert "is the source file itself" in refused(capsys, "export", plain, plain)
    assert plain.read_bytes() == before


def test_opsets_out_of_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    for opset, message in (
        (5, "opset 5 is too old: 7 and up"),
        (99, "opset 99 is newer than this onnx package"),
    ):
        model = small_cnn()
        model.opset_import[0].version = opset
        onnx.save(model, path)
        assert message in refused(capsys, "export", path)


def test_grafting_a_grafted_file(plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "o.onnx"
    outcome(capsys, "export", plain, target)
    assert f"{target} is grafted already" in refused(capsys, "export", target)


def test_a_model_that_does_not_run_saves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shapes fit, but an unknown operator in the head cannot be executed."""
    model = small_cnn()
    model.graph.node[-1].domain = "somewhere.else"
    model.opset_import.add(domain="somewhere.else", version=1)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    refused(capsys, "export", path, tmp_path / "o.onnx")
    assert sorted(files(tmp_path)) == ["m.onnx"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--statistic", "smo"], "no statistic named 'smo'; closest: smoe"),
        (["--normalize", "gaus"], "no normalisation named 'gaus'; closest: gauss"),
        (["--outputs", "heat"], "no output named 'heat'"),
        (["--weights", "1,2"], "2 weights for 3 scales"),
        (["--weights", "heavy"], "no weights named 'heavy'"),
        (["--epsilon", "0"], "epsilon must be a number between 0 and 1, not 0.0"),
        (["--taps", "a1,a9"], "no tensor named 'a9'; closest:"),
        (["--input-shape", "1,3,64"], "four positive numbers"),
        (["--input-shape", "1,3,32,32"], "contradicts 'input', which is 1×3×64×64"),
        (["--input-shape", "a,b"], "four whole numbers"),
        (["--labels", "no-such-file"], "cannot read the labels no-such-file"),
        (["--preprocess", "{}"], "preprocess lacks mean; it looks like"),
        (["--resize", "squash"], "no resize named 'squash'"),
        (["--cam", "scorecam"], "no class map named 'scorecam'"),
    ],
)
def test_bad_options(
    arguments: list[str], message: str, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "export", plain, tmp_path / "o.onnx", *arguments)
    assert sorted(files(tmp_path)) == ["plain.onnx"]


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file(plain: Path, tmp_path: Path) -> None:
    """The file-size limit of a process makes a write fail half-way, like a full disk."""
    target = tmp_path / "o.onnx"
    target.write_bytes(b"precious")
    command = [sys.executable, "-m", "fastcam_runtime.cli.main", "export", str(plain), str(target)]
    limit = plain.stat().st_size // 2
    result = subprocess.run(
        command, capture_output=True, text=True, check=False,
        # A compiled module that is cut off at the limit would break every later process.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.startswith(f"fastcam: error: cannot write {target}: ")
    assert sorted(files(tmp_path)) == ["o.onnx", "plain.onnx"]
    assert target.read_bytes() == b"precious"


@pytest.mark.slow
def test_torch_is_not_imported_for_an_onnx_file(plain: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from fastcam_runtime.cli.main import main; "
        f"assert main(['export', {str(plain)!r}, {str(tmp_path / 'o.onnx')!r}]) == 0; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_without_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(network("logits = Relu (x)", inputs="float[1,10] x", output="float[1,10] logits"), path)
    assert "no image input" in refused(capsys, "export", path)
