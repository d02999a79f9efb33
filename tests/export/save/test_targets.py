"""Where a result may be written: to a new file or over an `.onnx` file, never over another file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, api, export
from fastcam_export.grafting import Grafted, graft_branch
from fastcam_export.load import LoadedModel
from fastcam_export.options import Options
from fastcam_runtime.cli.main import main
from onnx import numpy_helper
from support.networks import small_cnn

LABELS = "\n".join("abcdefghij")
COMMANDS = [["export"], ["tune", "--budget", "5%", "--images", "test://?frames=1", "--out"]]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(), path)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(capsys: pytest.CaptureFixture[str], plain: Path, command: list[str], *rest: object) -> str:
    """The one line of a refusal that changed nothing."""
    before = contents(plain.parent)
    name, *options = command
    assert main([name, str(plain), *options, *map(str, rest)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert contents(plain.parent) == before
    return err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["photo.jpg", "plain.onnx.data", "model.ort", "none"])
def test_a_file_of_another_kind_stays(
    name: str, command: list[str], plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / name
    target.write_bytes(b"precious")
    message = f"{target}: exists and is not an .onnx file; name another output"
    assert message in refusal(capsys, plain, command, target)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["labels.txt", "labels.onnx"])
def test_the_labels_stay(
    name: str, command: list[str], plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / name
    labels.write_text(LABELS)
    message = f"{labels}: is the labels file itself; name another output"
    assert message in refusal(capsys, plain, command, labels, "--labels", labels)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_places_that_hold_no_file(
    command: list[str], plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = tmp_path / ("n" * 300)
    assert f"cannot write {long}: File name too long" in refusal(capsys, plain, command, long)
    assert "there is no folder" in refusal(capsys, plain, command, tmp_path / "no" / "o.onnx")
    assert "the name is not UTF-8" in refusal(capsys, plain, command, tmp_path / os.fsdecode(b"o\xff.onnx"))
    assert "is a folder, not a file" in refusal(capsys, plain, command, tmp_path.parent)
    assert ".: is a folder, not a file" in refusal(capsys, plain, command, "")
    assert f"{tmp_path}/new/: is a folder, not a file" in refusal(capsys, plain, command, f"{tmp_path}/new/")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder that even root cannot write into")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_that_takes_no_files_is_refused(
    command: list[str], plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refusal(capsys, plain, command, "/proc/model.onnx")  # nothing was measured: nothing is printed
    assert message.startswith("fastcam: error: cannot write /proc/model.onnx: ")


@pytest.mark.parametrize("kind", [str, Path])
def test_from_python(kind: type, plain: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.onnx"
    labels.write_text(LABELS)
    with pytest.raises(GraftError, match="is the labels file itself"):
        export(plain, labels, labels=kind(labels))
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(GraftError, match=r"notes\.txt: exists and is not an \.onnx file"):
        export(plain, kind(tmp_path / "notes.txt"))
    assert (labels.read_text(), (tmp_path / "notes.txt").read_text()) == (LABELS, "mine")


@pytest.mark.parametrize("name", ["old.onnx", "OLD.ONNX"])
def test_a_model_is_replaced(name: str, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / name
    target.write_bytes(b"an earlier one")
    export(plain, target)
    assert "saliency_map" in [output.name for output in onnx.load(target).graph.output]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["x.txt", "model.v2"])
def test_a_name_of_another_kind(
    name: str, command: list[str], plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = f"{tmp_path / name}: a model's name ends in .onnx or has no ending; name another output"
    assert message in refusal(capsys, plain, command, tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "model.txt"])
def test_an_earlier_export_is_replaced_under_any_name(name: str, plain: Path, tmp_path: Path) -> None:
    export(plain, tmp_path / "model.onnx").path.rename(tmp_path / name)
    again = export(plain, tmp_path / name, outputs=["saliency_map", "lovi"])  # it is an export, not a text
    assert "saliency_lovi" in again.metadata.outputs


def test_a_name_without_an_ending(plain: Path, tmp_path: Path) -> None:
    assert export(plain, tmp_path / "model").path.is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["original.onnx", "kept", "draft"])
def test_a_damaged_model_is_noticed_under_any_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(small_cnn(), tmp_path / name)
    (tmp_path / name).unlink()

    def damaging(source: LoadedModel, options: Options) -> Grafted:
        grafted = graft_branch(source, options)
        for tensor in grafted.proto.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) == 4:
                doubled = 2 * numpy_helper.to_array(tensor)
                tensor.CopyFrom(numpy_helper.from_array(np.asarray(doubled), tensor.name))
        return grafted

    monkeypatch.setattr(api, "graft_branch", damaging)
    with pytest.raises(GraftError, match="the graft changed the output 'logits'"):
        export(small_cnn(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A model with its weights in `out.onnx.data`: what an export to `out.onnx` would write."""
    path = tmp_path / "large.onnx"
    onnx.save(small_cnn(), path, save_as_external_data=True, location="out.onnx.data", size_threshold=100)
    return path


def test_weights_of_the_source_are_not_replaced(large: Path) -> None:
    before = contents(large.parent)
    with pytest.raises(GraftError, match=r"out\.onnx\.data: holds weights of the source model"):
        export(large, large.parent / "out.onnx")
    assert contents(large.parent) == before


@pytest.mark.slow
def test_weights_replace_those_of_an_earlier_export_only(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    export(large, folder / "out.onnx")
    export(large, folder / "out.onnx")
    assert list(contents(folder)) == ["out.onnx", "out.onnx.data.1"]
    export(large, folder / "out.onnx")
    assert list(contents(folder)) == ["out.onnx", "out.onnx.data"]
    (folder / "out.onnx").unlink()
    (folder / "out.onnx.data").write_text("my notes")
    with pytest.raises(GraftError, match=r"out\.onnx\.data: exists and does not belong to .*out\.onnx"):
        export(large, folder / "out.onnx")
    assert contents(folder) == {"out.onnx.data": b"my notes"}
