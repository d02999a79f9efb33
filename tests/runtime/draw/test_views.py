"""What each view shows, and the error for a file without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError, Overlay, contract
from fastcam_runtime.draw.views import VIEWS, Painter, available_views, output_of
from fastcam_runtime.model.grafted import Model
from support.tiny_grafts import save_graft


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def explainer(folder: Path) -> Explainer:
    return Explainer(save_graft(folder / "all.onnx"), threads=1)


def frame_with_a_red_corner() -> np.ndarray:
    frame = np.full((120, 180, 3), 40, np.uint8)
    frame[:60, :90, 2] = 255
    return frame


def paint(explainer: Explainer, view: str, overlay: Overlay | None = None) -> np.ndarray:
    frame = frame_with_a_red_corner()
    explanation = explainer.explain(frame, outputs=[output_of(view, explainer.model)])[0]
    return Painter(overlay or Overlay("gray", alpha=1.0, blend="colour")).paint(
        view, frame, explanation.maps, explanation.geometry
    )


@pytest.mark.parametrize("view", ["overlay", "map", "cam", "fastcam"])
def test_maps_are_bright_where_the_red_is(explainer: Explainer, view: str) -> None:
    picture = paint(explainer, view)
    assert picture.shape == (120, 180, 3)
    assert picture[20:40, 20:70].mean() > 2 * picture[80:, 110:].mean()


def test_nonclass_is_dark_where_the_red_is(explainer: Explainer) -> None:
    picture = paint(explainer, "nonclass")
    assert picture[20:40, 20:70].mean() < 0.5 * picture[80:, 110:].mean()


def test_lovi_keeps_its_colours_over_a_gray_frame(explainer: Explainer) -> None:
    blue, green, red = paint(explainer, "lovi")[30, 45].astype(int)
    gray = 0.114 * 40 + 0.587 * 40 + 0.299 * 255
    assert abs(red - (0.75 * 255 + 0.25 * gray)) <= 2
    assert abs(green - (0.75 * 40 + 0.25 * gray)) <= 2
    assert blue == green


def test_side_is_the_frame_and_the_overlay(explainer: Explainer) -> None:
    picture = paint(explainer, "side")
    assert picture.shape == (120, 360, 3)
    np.testing.assert_array_equal(picture[:, :180], frame_with_a_red_corner())
    np.testing.assert_array_equal(picture[:, 180:], paint(explainer, "overlay"))


def test_scales_are_a_grid_with_the_frame_first(explainer: Explainer) -> None:
    picture = paint(explainer, "scales")
    # The frame and two scales: two by two, the last cell empty; no tile is too small for its size in text.
    assert picture.shape == (214, 320, 3)
    assert picture[10, 10, 2] == 255
    assert not picture[107:, 160:].any()
    second = picture[107:, :160]
    assert second[36:50, 18:71].mean() > 1.5 * second[71:, 89:].mean()


def test_a_captioned_picture_leaves_no_trace_in_the_next(explainer: Explainer) -> None:
    frame = frame_with_a_red_corner()
    for view in available_views(explainer.model):
        explanation = explainer.explain(frame, outputs=[output_of(view, explainer.model)])[0]
        painter = Painter(Overlay())
        first = painter.paint(view, frame, explanation.maps, explanation.geometry)
        before = first.copy()
        first[:] = 77
        again = painter.paint(view, frame, explanation.maps, explanation.geometry)
        np.testing.assert_array_equal(again, before)


def test_without_maps_the_frame_itself_as_a_copy(explainer: Explainer) -> None:
    frame = frame_with_a_red_corner()
    geometry = explainer(frame).geometry
    picture = Painter(Overlay()).paint("overlay", frame, {}, geometry)
    np.testing.assert_array_equal(picture, frame)
    assert not np.shares_memory(picture, frame)


def test_overlay_prefers_the_class_once_one_is_chosen(explainer: Explainer) -> None:
    assert output_of("overlay", explainer.model) == "saliency_map"
    assert output_of("overlay", explainer.model, of_class=True) == "fastcam"
    assert output_of("lovi", explainer.model, of_class=True) == "lovi"


def test_what_a_small_file_can_show(folder: Path) -> None:
    model = Model(save_graft(folder / "small.onnx", outputs=("saliency_map",)))
    assert available_views(model) == ("overlay", "map", "side")
    with pytest.raises(
        FastcamError, match=r"'cam' .*possible: overlay, map, side.*--outputs saliency_map,cam"
    ):
        output_of("cam", model)
    with pytest.raises(FastcamError, match=r"no view 'overly'; one of .*; closest: overlay"):
        output_of("overly", model)
    only_cam = Model(save_graft(folder / "cam.onnx", outputs=("cam",)))
    assert output_of("overlay", only_cam) == "cam"


def test_every_word_of_the_contract_has_a_view() -> None:
    assert {word for words in VIEWS.values() for word in words} == set(contract.OUTPUTS)
