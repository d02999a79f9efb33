"""Text from a file in the terminal: escaped, on one line, not too long; and unexpected errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from fastcam_runtime.cli import inspect as cli_inspect
from fastcam_runtime.cli.main import main
from fastcam_runtime.draw.lettering import Lettering, plain
from fastcam_runtime.text import one_line, printable
from support.networks import small_cnn
from support.tiny_grafts import make_graft

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\nsecond line\u202e\u2028" + "x" * 5_000


def is_tame(text: str) -> bool:
    return all(line.isprintable() and len(line) < 2_500 for line in text.rstrip("\n").split("\n"))


@pytest.mark.parametrize("text", ["tabby cat", "Ägyptische Katze", "猫", "a\tb", "", HOSTILE, "\ud800"])
def test_what_is_printed_is_one_line_of_printable_characters(text: str) -> None:
    assert printable(text).isprintable()
    assert one_line(text).isprintable()
    assert len(printable(text, 80)) <= 80 * len(r"\U0001f600")
    if text.isprintable():
        assert printable(text) == text


def test_escapes_stay_readable() -> None:
    assert printable("a\x1b[31mb") == r"a\x1b[31mb"
    assert printable("one\n  two") == "one two"


def test_inspect_of_a_graft_with_hostile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = make_graft()
    fields = json.loads(model.metadata_props[0].value)
    fields["taps"][0]["name"] = HOSTILE[:4_000]
    fields["approximation"] = fields["prepared"] = HOSTILE[:200]
    model.metadata_props[0].value = json.dumps(fields)
    onnx.save(model, tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx")]) == 0
    out = capsys.readouterr().out
    assert is_tame(out)
    assert r"\x1b" in out


def test_inspect_of_a_network_with_hostile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small_cnn()
    for node in model.graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = HOSTILE if name == "a2" else name
    onnx.save(model, tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx")]) == 0
    captured = capsys.readouterr()
    assert is_tame(captured.out)
    assert is_tame(captured.err)
    assert main(["export", str(tmp_path / "m.onnx"), str(tmp_path / "o.onnx"), "--taps", "secondline"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert is_tame(captured.err)


def test_a_long_label_is_measured_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    width = Lettering.width

    def counted(self: Lettering, text: str) -> int:
        measured.append(text)
        return width(self, text)

    monkeypatch.setattr(Lettering, "width", counted)
    letters = Lettering(9)
    text = letters.fit(plain("m" * 50_000), 300)
    assert width(letters, text) <= 300 < width(letters, text[:-2] + "m..")
    assert len(measured) < 20
    assert max(map(len, measured)) < 1_000


def test_an_error_that_no_check_foresaw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("no\nluck")

    onnx.save(make_graft(), tmp_path / "m.onnx")
    monkeypatch.setattr(cli_inspect, "describe_graft", fail)
    assert main(["inspect", str(tmp_path / "m.onnx")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "ZeroDivisionError: no; this is a bug in fastcam, please report it" in err
    assert main(["inspect", "--debug", str(tmp_path / "m.onnx")]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_debug_after_two_dashes_is_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--", "--debug"]) == 2
    assert "--debug: no such file" in capsys.readouterr().err


def test_a_label_with_escapes_does_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(make_graft(labels=(HOSTILE[:900],) * 3), tmp_path / "m.onnx")
    cv2.imwrite(str(tmp_path / "p.png"), np.zeros((32, 48, 3), np.uint8))
    assert main(["run", str(tmp_path / "m.onnx"), str(tmp_path / "p.png"), "null://"]) == 0
    captured = capsys.readouterr()
    assert is_tame(captured.out)
    assert is_tame(captured.err)
