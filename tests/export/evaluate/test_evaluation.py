"""The whole evaluation on a file whose maps follow from the picture's colours, and the command."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import cv2
import fastcam_export
import numpy as np
import onnx
import onnxruntime
import pytest
from fastcam_export.evaluate import evaluation
from fastcam_export.evaluate.evaluation import EvaluationRequest, begin, evaluate
from fastcam_export.evaluate.measures import perturbation, road
from fastcam_export.evaluate.measures.agreement import rank_correlation
from fastcam_export.evaluate.objects import Objects
from fastcam_export.evaluate.report import page, table
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.evaluate.subject import Subject
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import FastcamError, ModelError, SourceError
from fastcam_runtime.model.session import default_threads
from support.networks import small_cnn
from support.tiny_grafts import make_graft


def _save(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _evaluate(path: Path, photos: Path, **more: object) -> Evaluation:
    subject = Subject(path, threads=1)
    request = EvaluationRequest(sorted(photos.glob("*.png")), **more)  # type: ignore[arg-type]
    found = begin(subject, "model.onnx", request)
    evaluate(subject, request, found, lambda *_: None)
    return found


def test_a_network_that_answers_yes_or_no_has_a_probability(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    fastcam_export.export(small_cnn(classes=1), path)
    subject = Subject(path, threads=1)
    tensors = list(np.random.default_rng(0).standard_normal((3, 3, 64, 64)).astype(np.float32))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    logits = np.array([session.run(["logits"], {"input": tensor[None]})[0][0, 0] for tensor in tensors])
    np.testing.assert_allclose(subject.probabilities(tensors)[:, 0], 1 / (1 + np.exp(-logits)), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_map_of_what_the_network_counts_beats_all_controls(
    tmp_path: Path, photos: Path, layout: str
) -> None:
    path = _save(make_graft(layout=layout), tmp_path)
    found = _evaluate(path, photos, sanity=False)
    assert found.maps == ("saliency_map", "cam", "fastcam")
    assert [picture.label for picture in found.pictures] == ["red"] * 4
    for control in ("random", "blobs", "centre"):
        assert found.difference("score_mean", control).high < 0
        assert found.difference("score_blur", control).mean < 0


@pytest.mark.slow
def test_the_batch_of_a_file_does_not_change_its_figures(tmp_path: Path, photos: Path) -> None:
    results = []
    for batch in (1, 5, "N"):
        folder = tmp_path / str(batch)
        folder.mkdir()
        graft = fastcam_export.graft(small_cnn(f"float[{batch},3,64,64] input"), outputs="saliency_map,cam")
        found = _evaluate(_save(graft, folder), photos, sanity=False)
        results.append([found.mean(metric, "saliency_map").mean for metric in found.measured()])
    assert results[0] == pytest.approx(results[1], abs=1e-5)
    assert results[0] == pytest.approx(results[2], abs=1e-5)


@pytest.mark.slow
def test_a_real_graft_has_sanity_checks_and_class_dependence(tmp_path: Path, photos: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(), path)
    assert main(["export", str(path), str(tmp_path / "g.onnx"), "--outputs", "saliency_map,cam"]) == 0
    found = _evaluate(tmp_path / "g.onnx", photos)
    assert list(found.sanity) == ["classifier", "last quarter", "last half", "all"]
    # A class map reads the classifier, the map without a class does not.
    assert found.sanity["classifier"]["saliency_map"] == pytest.approx([1.0] * 4, abs=1e-3)
    assert max(found.sanity["classifier"]["cam"]) < 0.999
    assert np.mean(found.sanity["all"]["saliency_map"]) < np.mean(found.sanity["last half"]["saliency_map"])
    assert found.class_dependence("saliency_map") is None
    assert found.class_dependence("cam") is not None
    assert not list(tmp_path.glob("shuffled*"))


def test_a_file_without_maps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has none of saliency_map, cam, fastcam"):
        Subject(_save(make_graft(outputs=("lovi",)), tmp_path))


def test_a_file_without_class_scores_gets_the_figures_that_need_none(tmp_path: Path, photos: Path) -> None:
    """The map is the picture's mean colour, so it is highest on the red squares."""
    path = _save(make_graft(head="places", outputs=("saliency_map",)), tmp_path)
    masks = tmp_path / "masks"
    masks.mkdir()
    for photo in photos.glob("*.png"):
        square = (cv2.imread(str(photo))[..., 2] == 255) * np.uint8(255)
        cv2.imwrite(str(masks / photo.name), square)
    found = _evaluate(path, photos, objects=Objects(masks))
    assert found.measured() == ["pointing", "energy", "pixel_auc"]
    assert found.values("pointing", "saliency_map") == [1.0] * 4
    assert found.mean("pixel_auc", "saliency_map").mean > 0.98
    assert any("holds no class scores" in note for note in found.notes)
    assert found.best[0].name in page.html(found)
    assert "pointing" in table.text(found)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["pictures"][0]["probability"] is None


def test_values_that_are_no_numbers_are_left_out(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gains, asked = road.gains, []

    def once_nan(*given: object) -> dict[str, float]:
        asked.append(1)
        found = gains(*given)  # type: ignore[arg-type]
        return dict.fromkeys(found, float("nan")) if len(asked) == 2 else found

    monkeypatch.setattr(road, "gains", once_nan)
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False)
    assert [picture.name for picture in found.pictures] == ["0.png", "2.png", "3.png"]
    assert any("1.png: the network gives values that are not finite" in note for note in found.notes)
    json.dumps(found.as_dict(), allow_nan=False)


def test_without_a_choice_of_class_nothing_is_said_about_it(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool may turn the input for the class into a constant: both maps would be the same."""
    monkeypatch.setattr(Subject, "takes_class", False)
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False)
    assert found.class_dependence("cam") is None


def test_constant_maps_are_left_out_of_the_checks(tmp_path: Path, photos: Path) -> None:
    """The photos are red on gray: the maps of green and blue are constant, and so are all of a plain one."""
    cv2.imwrite(str(photos / "2a.png"), np.full((64, 96, 3), 90, np.uint8))
    found = _evaluate(_save(make_graft(work=1), tmp_path), photos)
    assert [picture.name for picture in found.pictures][2:4] == ["2.png", "2a.png"]
    assert found.of("classes", "cam") == [None] * 5
    assert [value is None for value in found.of("edges", "saliency_map")] == [False] * 3 + [True, False]
    assert found.sanity["all"]["saliency_map"] == [pytest.approx(1)] * 3 + [None, pytest.approx(1)]
    # The picture behind the plain one stands in for it.
    maps = [Subject(tmp_path / "model.onnx").maps(_tensor(tmp_path, photos / f"{k}.png")) for k in (2, 3)]
    expected = rank_correlation(*(one["saliency_map"] for one in maps))
    assert found.other_picture["saliency_map"][2] == pytest.approx(expected)
    assert found.other_picture["saliency_map"][3] is None
    assert "itself for a random class (cam 5 of 5, fastcam 1 of 5)" in table.text(found)


def _tensor(folder: Path, photo: Path) -> np.ndarray:
    return Subject(folder / "model.onnx").see(cv2.imread(str(photo))).tensor


def test_curves_are_those_of_the_finished_pictures(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drops, asked = perturbation.drops, []

    def stop_at_the_third(*given: object) -> dict[str, tuple[float, float]]:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return drops(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(perturbation, "drops", stop_at_the_third)
    path = _save(make_graft(), tmp_path)
    subject = Subject(path, threads=1)
    request = EvaluationRequest(sorted(photos.glob("*.png")), sanity=False)
    found = begin(subject, "model.onnx", request)
    with pytest.raises(KeyboardInterrupt):
        evaluate(subject, request, found, lambda *_: None)
    assert len(found.pictures) == 2
    assert "seconds" in found.setup
    for kind in ("insertion_blur", "deletion_mean"):
        for method in found.methods:
            height = perturbation.area(found.curve(kind, method))
            assert height == pytest.approx(found.mean(kind, method).mean, abs=1e-5)


def test_a_video_that_breaks_off_loses_no_other_results(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise SourceError("v.mp4: damaged")

    monkeypatch.setattr(evaluation, "flicker", broken)
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False, video="v.mp4")
    assert len(found.pictures) == 4
    assert any("v.mp4: damaged" in note for note in found.notes)


@pytest.mark.parametrize(
    ("room", "damaged", "expected"),
    [
        (20, (), [f"{k * 30 // 20:02d}.png" for k in range(20)]),
        (4, (), ["00.png", "07.png", "15.png", "22.png"]),
        (0, (), ["00.png", "15.png"]),
        (4, (0, 1, 15), ["02.png", "07.png", "16.png", "22.png"]),
    ],
)
def test_the_sanity_checks_take_pictures_from_all_over_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, damaged: tuple[int, ...], expected: list[str]
) -> None:
    """Also if only a few have room, and the next ones if those in question cannot be read."""
    many = tmp_path / "many"
    many.mkdir()
    for k in range(30):
        cv2.imwrite(str(many / f"{k:02d}.png"), np.full((8, 8, 3), 5 * k, np.uint8))
    for k in damaged:
        (many / f"{k:02d}.png").write_bytes(b"no picture")
    path = _save(make_graft((8, 8), work=1), tmp_path)
    size = 8 * 8 * (3 * 4 + 3 + 3 * 4)  # the input, the picture, three maps
    monkeypatch.setattr(evaluation, "_SANITY_BYTES", room * size)
    found = _evaluate(path, many)
    assert found.setup["sanity_pictures"] == expected
    assert len(found.sanity["all"]["cam"]) == len(expected)


def test_the_set_up_has_the_time_the_threads_and_the_versions(tmp_path: Path, photos: Path) -> None:
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False)
    setup = json.loads(json.dumps(found.as_dict()))["setup"]
    assert setup["seconds"] >= 0
    assert setup["threads"] == 1
    assert setup["bootstrap"] == "2000 resamples, expanded percentile, 95 %"
    assert setup["versions"]["onnxruntime"] == onnxruntime.__version__
    assert setup["versions"]["fastcam"] == importlib.metadata.version("fastcam-edge")
    text = page.html(found)
    assert f"<td>seconds</td><td>{setup['seconds']:g}</td>" in text
    assert "<td>threads</td><td>1</td>" in text
    assert f"fastcam: {setup['versions']['fastcam']}; onnxruntime: {onnxruntime.__version__}" in text
    default = Subject(tmp_path / "model.onnx")
    assert default.session_threads == default_threads()


def test_boxes_of_other_pictures_are_refused_before_measuring(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boxes.json").write_text(
        json.dumps({
            "images": [{"id": 1, "file_name": "other.png"}],
            "annotations": [{"image_id": 1, "bbox": [0, 0, 9, 9]}],
        })
    )  # fmt: skip
    path = _save(make_graft(), tmp_path)
    monkeypatch.setattr(evaluation, "judge", None)
    with pytest.raises(FastcamError, match=r"no boxes of 0\.png or any .* it has boxes of other\.png$"):
        _evaluate(path, photos, objects=Objects(tmp_path / "boxes.json"), sanity=False)


@pytest.mark.parametrize(
    ("count", "crowd", "told"),
    [(1, 0, ["objects in 1 of 4 pictures"]), (4, 0, []), (4, 1, ["no picture has figures of objects: they"])],
)
def test_how_many_pictures_have_objects_is_told(
    tmp_path: Path, photos: Path, count: int, crowd: int, told: list[str]
) -> None:
    content = {
        "images": [{"id": k, "file_name": f"{k}.png"} for k in range(4)],
        "annotations": [{"image_id": k, "bbox": [9, 9, 9, 9], "iscrowd": crowd} for k in range(count)],
    }
    (tmp_path / "boxes.json").write_text(json.dumps(content))
    path = _save(make_graft(), tmp_path)
    found = _evaluate(path, photos, objects=Objects(tmp_path / "boxes.json"), sanity=False)
    assert [part for part, note in zip(told, found.notes, strict=True) if part in note] == told


def test_a_mask_of_another_size_is_told_and_does_not_end_the_measurement(
    tmp_path: Path, photos: Path
) -> None:
    masks = tmp_path / "masks"
    masks.mkdir()
    cv2.imwrite(str(masks / "0.png"), np.eye(9, dtype=np.uint8))
    found = _evaluate(_save(make_graft(), tmp_path), photos, objects=Objects(masks), sanity=False)
    assert len(found.pictures) == 4
    assert any("0.png: not a mask of 96×64" in note for note in found.notes)


@pytest.mark.slow
def test_pictures_that_cannot_be_read_are_named_and_left_out(tmp_path: Path, photos: Path) -> None:
    (photos / "5.png").write_bytes(b"no picture")
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False)
    assert len(found.pictures) == 4
    assert "5.png" in table.text(found)
    assert "5.png" in page.html(found)
