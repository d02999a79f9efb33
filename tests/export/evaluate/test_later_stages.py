"""What goes wrong after the pictures does not lose them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fastcam_export
import pytest
from fastcam_export.evaluate import evaluation
from fastcam_export.evaluate.evaluation import EvaluationRequest, begin, evaluate
from fastcam_export.evaluate.judging import Judged
from fastcam_export.evaluate.measures import shuffling
from fastcam_export.evaluate.report import page, table
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.evaluate.subject import Subject
from fastcam_runtime.errors import SourceError
from support.networks import small_cnn
from support.tiny_grafts import make_graft


@pytest.fixture
def start(tmp_path: Path, photos: Path) -> Callable[..., Evaluation]:
    """Evaluates a small file; returns the results so far if it is interrupted."""
    path = tmp_path / "model.onnx"
    path.write_bytes(make_graft(work=1).SerializeToString())

    def run(**more: object) -> Evaluation:
        subject = Subject(path, threads=1)
        request = EvaluationRequest(sorted(photos.glob("*.png")), **more)  # type: ignore[arg-type]
        found = begin(subject, "model.onnx", request)
        try:
            evaluate(subject, request, found, lambda *_: None)
        except KeyboardInterrupt:
            found.stopped = True
        return found

    return run


def _fail_at(number: int, error: BaseException) -> Callable[..., bytes]:
    """`Shuffler.file`, which fails when it is called so many times."""
    file, asked = shuffling.Shuffler.file, []

    def failing(*given: object) -> bytes:
        asked.append(1)
        if len(asked) == number:
            raise error
        return file(*given)  # type: ignore[arg-type]

    return failing


@pytest.mark.parametrize("error", [ValueError("larger than 2 GB\nand more"), MemoryError("larger than 2 GB")])
def test_a_network_that_cannot_be_shuffled_is_told(
    start: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(shuffling.Shuffler, "file", _fail_at(6, error))
    found = start(video="test://?frames=3")
    assert len(found.pictures) == 4
    assert [note for note in found.notes if "shuffled" in note] == [
        "the check with shuffled weights ended early: larger than 2 GB"
    ]
    assert list(found.sanity) == ["classifier"]
    assert found.flicker["saliency_map"].frames == 3
    assert "larger than 2 GB" in table.text(found)
    assert "larger than 2 GB" in page.html(found)


def test_any_error_of_the_video_is_told(
    start: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("cannot decode")

    monkeypatch.setattr(evaluation, "flicker", broken)
    found = start(sanity=False, video="v.mp4")
    assert len(found.pictures) == 4
    assert [note for note in found.notes if "v.mp4" in note and "cannot decode" in note]


def test_control_c_within_the_checks_leaves_the_names_of_their_pictures(
    start: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffling.Shuffler, "file", _fail_at(6, KeyboardInterrupt()))
    found = start()
    assert found.stopped
    assert list(found.sanity) == ["classifier"]
    assert len(found.sanity["classifier"]["cam"]) == len(found.setup["sanity_pictures"]) == 4


def test_the_set_up_says_what_the_network_was_fed(start: Callable[..., Evaluation]) -> None:
    setup = start(sanity=False).setup
    assert setup["preprocess"] == "RGB (x − [0, 0, 0]) / [255, 255, 255]"
    assert (setup["resize"], setup["labels"]) == ("stretch", "3: red, green, blue")


def test_if_no_picture_has_finite_values_the_error_says_so(
    start: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judged, "finite", False)
    with pytest.raises(SourceError, match="no picture could be evaluated: the network gives values that are"):
        start()


def test_where_a_value_came_from_is_told(tmp_path: Path) -> None:
    fastcam_export.export(small_cnn(), tmp_path / "m.onnx")
    subject = Subject(tmp_path / "m.onnx", threads=1)
    told = begin(subject, "m.onnx", EvaluationRequest([])).setup["preprocess"]
    assert told.endswith("57.375] (ImageNet's, assumed: nothing in the file says)")
