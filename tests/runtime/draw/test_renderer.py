"""The whole picture: frame, map, caption and legend, each in its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastcam_runtime import Explainer, Explanation, FastcamError, Overlay
from fastcam_runtime.draw import renderer as renderer_module
from fastcam_runtime.draw.caption import answer, row_height
from fastcam_runtime.draw.legend import lovi_colors, map_colors
from fastcam_runtime.draw.renderer import Renderer, RenderOptions
from fastcam_runtime.draw.views import VIEWS, output_of
from support.tiny_grafts import save_graft

SIZE = (240, 320)


@pytest.fixture(scope="module")
def explainer(tmp_path_factory: pytest.TempPathFactory) -> Explainer:
    words = ("saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass")
    path: Path = save_graft(tmp_path_factory.mktemp("renderer") / "graft.onnx", outputs=words)
    return Explainer(path, threads=1)


def explained(explainer: Explainer, view: str) -> tuple[np.ndarray, Explanation]:
    frame = np.random.default_rng(0).integers(0, 256, (*SIZE, 3), np.uint8)
    return frame, explainer.explain(frame, outputs=[output_of(view, explainer.model)])[0]


def draw(explainer: Explainer, view: str, **options: object) -> np.ndarray:
    frame, explanation = explained(explainer, view)
    renderer = Renderer(Overlay(), RenderOptions(**options))  # type: ignore[arg-type]
    return renderer.draw(frame, explanation, view, None, 24.9).copy()


PICTURES = [view for view in VIEWS if view != "boxes"]  # those are of detectors


@pytest.mark.parametrize("view", PICTURES)
def test_a_caption_below_covers_nothing(explainer: Explainer, view: str) -> None:
    bare, captioned = draw(explainer, view, caption="none"), draw(explainer, view)
    np.testing.assert_array_equal(captioned[: len(bare)], bare)
    rows = 2 if view == "lovi" else 1  # LOVI comes with its legend
    assert len(captioned) - len(bare) == rows * row_height(*bare.shape[:2])
    assert captioned[len(bare) :].max() > 200


def test_the_caption_names_the_best_class_beside_another(
    explainer: Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(renderer_module, "write_row", lambda row, letters, left, right: said.append(left))
    frame, best = explained(explainer, "cam")
    other = next(i for i in range(3) if i != best.index)
    renderer = Renderer(Overlay(), RenderOptions())
    for explanation in (best, explainer.explain(frame, other)[0]):
        renderer.draw(frame, explanation, "cam", None, None)
    assert said[0] == answer(best.label, best.score)
    assert said[1].endswith(f", best {said[0]}")


@pytest.mark.parametrize("view", [view for view in PICTURES if view != "scales"])
def test_a_caption_inside_keeps_the_size(explainer: Explainer, view: str) -> None:
    bare, captioned = draw(explainer, view, caption="none"), draw(explainer, view, caption="inside")
    assert captioned.shape == bare.shape
    rows = 2 if view == "lovi" else 1
    above = len(bare) - rows * row_height(*bare.shape[:2])
    np.testing.assert_array_equal(captioned[:above], bare[:above])
    assert (captioned[above:] != bare[above:]).any()


def test_a_caption_never_covers_a_scale(explainer: Explainer) -> None:
    bare, captioned = draw(explainer, "scales", caption="none"), draw(explainer, "scales", caption="inside")
    np.testing.assert_array_equal(captioned[: len(bare)], bare)


def colours_of(row: np.ndarray, expected: np.ndarray) -> bool:
    """Whether a row of the picture has the colours of a bar, in order."""
    ends = [np.flatnonzero((row == colour).all(-1).any(0)) for colour in (expected[0, 0], expected[0, -1])]
    return bool(ends[0].size and ends[1].size and ends[0].min() < ends[1].max())


def test_the_legend_has_the_colours_of_the_map(explainer: Explainer) -> None:
    frame, explanation = explained(explainer, "overlay")
    for name in ("inferno", "viridis"):
        renderer = Renderer(Overlay(name), RenderOptions(caption="none", legend=True))
        strip = renderer.draw(frame, explanation, "overlay", None, None)[SIZE[0] :]
        assert strip.size
        # The row of the bar, between the letters' top and baseline.
        assert any(colours_of(strip[y : y + 1], map_colors(100, 1, name)[:, 2:]) for y in range(len(strip)))


def test_lovi_has_its_own_legend(explainer: Explainer) -> None:
    strip = draw(explainer, "lovi")[SIZE[0] :]
    assert any(colours_of(strip[y : y + 1], lovi_colors(100, 1)) for y in range(len(strip)))
    assert not draw(explainer, "lovi", caption="none")[SIZE[0] :].size


def test_the_outline_surrounds_the_brightest_share(explainer: Explainer) -> None:
    frame, saliency = np.full((100, 100, 3), 90, np.uint8), np.zeros((100, 100), np.float32)
    saliency[20:50, 30:60] = np.random.default_rng(0).uniform(0.5, 1, (30, 30))  # 9 % of the picture
    outlined = Overlay(alpha=0.0, contour=0.09).draw(frame, saliency)
    rows, columns = np.nonzero((outlined != frame).any(-1))
    assert abs(rows.min() - 20) <= 3
    assert abs(rows.max() - 49) <= 3
    assert abs(columns.min() - 30) <= 3
    assert abs(columns.max() - 59) <= 3
    inner = outlined[25:45, 35:55]
    np.testing.assert_array_equal(inner, np.full_like(inner, 90))


def test_a_constant_map_has_no_outline() -> None:
    frame = np.full((40, 50, 3), 90, np.uint8)
    for value in (0.0, 0.5, 1.0, np.nan):
        saliency = np.full((8, 8), value, np.float32)
        np.testing.assert_array_equal(Overlay(contour=0.1).draw(frame, saliency), frame)


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(FastcamError, match=r"no place 'bellow' for the caption; .*closest: below"):
        RenderOptions(caption="bellow")


def test_specks_get_no_outline() -> None:
    """A large bright part and a dot: the line runs around the part only."""
    saliency = np.random.default_rng(0).random((50, 50), np.float32) * 0.1
    saliency[5:20, 5:20] = 1.0
    saliency[40, 40] = 1.0
    frame = np.full((200, 200, 3), 90, np.uint8)
    outlined = Overlay(alpha=0.0, contour=0.09).draw(frame, saliency)
    assert (outlined[10:90, 10:90] != frame[10:90, 10:90]).any()
    np.testing.assert_array_equal(outlined[140:, 140:], frame[140:, 140:])
