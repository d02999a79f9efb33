"""What a user of `fastcam run` can get wrong."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime.cli.main import main
from support.tiny_grafts import save_graft


class TestMistakes:
    """One line, exit code 2, nothing left behind."""

    def refused(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
        assert main(["run", *map(str, arguments)]) == 2
        error = capsys.readouterr().err
        lines = [line for line in error.splitlines() if line.startswith("fastcam: error: ")]
        assert len(lines) == 1
        assert "Traceback" not in error
        return lines[0]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--view", "overlai"], "no view 'overlai'; one of overlay"),
            (["--class", "purple"], "no class 'purple'"),
            (["--class", "3"], "no class 3; the file has 0…2"),
            (["--provider", "abacus"], "provider 'abacus' is unknown; available: auto, cpu"),
            (["--colormap", "rainbow"], "no colour map 'rainbow'"),
            (["--alpha", "2"], "alpha is 2.0"),
            (["--every", "0"], "--every 0: at least 1 is needed"),
            (["--frames", "0"], "--frames 0: at least 1 is needed"),
            (["--smooth", "1"], "smoothing of 1.0"),
            (["--threads", "0"], "0 threads"),
            (["--fps", "-1"], "-1"),
            (["--token-file", "nowhere"], "--token-file nowhere: No such file or directory"),
            (["--token-file", "/dev/null"], "--token-file /dev/null: a device, not a file"),
            (["--token", "a", "--token-file", "b"], "--token and --token-file exclude each other"),
            (["--cert", "a.crt"], "--cert and --key belong together"),
        ],
    )
    def test_options(
        self, graft: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
    ) -> None:
        assert message in self.refused(capsys, graft, "test://", "null://", *options)

    def test_a_view_that_the_file_lacks(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = save_graft(tmp_path / "few.onnx", outputs=("saliency_map",))
        error = self.refused(capsys, path, "test://", "null://", "--view", "lovi")
        assert "--outputs saliency_map,lovi" in error
        assert "overlay, map, side" in error
        error = self.refused(capsys, path, "test://", "null://", "--class", "red")
        assert "--outputs saliency_map,cam,fastcam" in error

    def test_models(self, tmp_path: Path, graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "no such file" in self.refused(capsys, tmp_path / "none.onnx", "test://", "null://")
        short = tmp_path / "short.onnx"
        short.write_bytes(graft.read_bytes()[:-50])
        assert "short.onnx" in self.refused(capsys, short, "test://", "null://")
        plain = save_graft(tmp_path / "plain.onnx", graft=False)
        assert f"fastcam export {plain}" in self.refused(capsys, plain, "test://", "null://")

    def test_inputs_and_outputs(
        self, tmp_path: Path, graft: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "none.mp4" in self.refused(capsys, graft, tmp_path / "none.mp4", "null://")
        assert "out.xyz" in self.refused(capsys, graft, "test://", tmp_path / "out.xyz")
        empty = tmp_path / "empty.mp4"
        empty.touch()
        out = tmp_path / "out.mp4"
        assert "empty.mp4" in self.refused(capsys, graft, empty, out)
        assert not out.exists()

    def test_no_display(
        self, graft: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert "name an output" in self.refused(capsys, graft, "test://")

    def test_unwritable_json_is_noticed_before_the_work(
        self, tmp_path: Path, graft: Path, clip: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "file"
        file.touch()
        out = tmp_path / "out.mp4"
        for bad in (file / "figures.json", tmp_path):
            self.refused(capsys, graft, clip, out, "--json", bad)
            assert not out.exists()

    def test_a_size_that_is_none(self, graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", str(graft), "test://", "null://", "--size", "big"]) == 2
        assert "not WIDTHxHEIGHT" in capsys.readouterr().err


def test_a_picture_is_not_replaced_by_what_is_drawn_on_it(
    graft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = tmp_path / "photo.jpg"
    cv2.imwrite(str(photo), np.full((50, 70, 3), 90, np.uint8))
    before = photo.read_bytes()
    assert main(["run", str(graft), str(photo), f"{tmp_path}/"]) == 2
    assert "holds inputs of this run; name another output" in capsys.readouterr().err
    assert photo.read_bytes() == before
    assert list(tmp_path.iterdir()) == [photo]


def test_a_picture_is_not_replaced_by_the_first_of_many(
    graft: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "keep.png"
    picture.write_bytes(b"mine")
    assert main(["run", str(graft), str(clip), str(picture), "--threads", "1"]) == 2
    told = capsys.readouterr()
    assert "holds one picture, but the input has more" in told.err
    assert "keep.png: " not in told.out
    assert picture.read_bytes() == b"mine"


def test_names_that_the_system_refuses(graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["x" * 5000, "null://"], ["test://", f"{'x' * 5000}.png"]):
        assert main(["run", str(graft), *arguments, "--frames", "1"]) == 2
        assert "File name too long" in capsys.readouterr().err.splitlines()[-1]


def test_an_empty_class_is_none(graft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(graft), "test://", "null://", "--class", " "]) == 2
    assert "--class is empty" in capsys.readouterr().err
