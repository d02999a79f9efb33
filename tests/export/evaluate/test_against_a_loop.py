"""A whole evaluation against a loop over pixels, written from the definitions: numpy, scipy, onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import cv2
import fastcam_export
import numpy as np
import onnxruntime
import pytest
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.evaluation import EvaluationRequest, begin, evaluate
from fastcam_export.evaluate.measures.masks import ranking
from fastcam_export.evaluate.objects import Objects
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.evaluate.subject import Subject
from scipy import integrate, ndimage, sparse, stats
from scipy.sparse import linalg
from support.networks import add_weights, small_cnn, take_weights

SIZE = 64
LEVELS = (0, 0.1, 0.25, 0.5, 0.75, 1)
MEAN, STD = np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
COUNT = 4
EXACT = 2e-4
"""What float32 and other batches may change."""


@dataclass(frozen=True)
class Loop:
    """The network as a function, and one picture as it sees it."""

    session: onnxruntime.InferenceSession
    picture: np.ndarray
    """3×H×W, normalised."""

    def chances(self, picture: np.ndarray) -> np.ndarray:
        """The probabilities, from float64's softmax."""
        logits = self.session.run(["logits"], {"input": picture[None].astype(np.float32)})[0][0]
        powers = np.exp(logits.astype(np.float64) - logits.max())
        return powers / powers.sum()

    @property
    def target(self) -> int:
        return int(self.chances(self.picture).argmax())

    def baseline(self, kind: str) -> np.ndarray:
        if kind == "mean":
            return np.ones_like(self.picture) * self.picture.mean(axis=(1, 2))[:, None, None]
        return np.stack([ndimage.gaussian_filter(plane, SIZE / 20, mode="reflect") for plane in self.picture])

    def area(self, start: np.ndarray, end: np.ndarray, order: np.ndarray, target: int) -> float:
        """Pixels of `start` become those of `end` one after the other; the area under the probability."""
        changed, heights, done = start.copy(), [], 0
        for level in LEVELS:
            for pixel in order[done : round(level * order.size)]:
                row, column = divmod(int(pixel), SIZE)
                changed[:, row, column] = end[:, row, column]
            done = round(level * order.size)
            heights.append(self.chances(changed)[target])
        return float(integrate.trapezoid(heights, LEVELS))

    def insertion(self, kind: str, order: np.ndarray, target: int) -> float:
        return self.area(self.baseline(kind), self.picture, order, target)

    def deletion(self, kind: str, order: np.ndarray, target: int) -> float:
        return self.area(self.picture, self.baseline(kind), order, target)

    def imputed(self, missing: np.ndarray) -> np.ndarray:
        """Every missing pixel is the weighted mean of its neighbours: one equation for each."""
        places = {tuple(place): k for k, place in enumerate(np.argwhere(missing))}
        matrix, right = sparse.lil_matrix((len(places), len(places))), np.zeros((len(places), 3))
        for (row, column), k in places.items():
            for down, across in product((-1, 0, 1), repeat=2):
                other = row + down, column + across
                if other == (row, column) or min(other) < 0 or max(other) == SIZE:
                    continue
                weight = 1 / 12 if down and across else 1 / 6
                matrix[k, k] += weight
                if other in places:
                    matrix[k, places[other]] -= weight
                else:
                    right[k] += weight * self.picture[:, other[0], other[1]]
        filled = self.picture.copy()
        filled[:, missing] = linalg.spsolve(matrix.tocsc(), right).T
        return filled

    def road(self, order: np.ndarray, target: int) -> float:
        """What the most salient pixels matter more than the least salient ones."""
        gaps = []
        for level in (0.25, 0.5, 0.75):
            count = round(level * order.size)
            left = []
            for removed in (order[:count], order[-count:]):
                missing = np.zeros(order.size, bool)
                missing[removed] = True
                left.append(self.chances(self.imputed(missing.reshape(SIZE, SIZE)))[target])
            gaps.append((left[1] - left[0]) / 2)
        return float(np.mean(gaps))

    def faded(self, saliency: np.ndarray, target: int) -> tuple[float, float]:
        """The average drop, and whether the probability rises."""
        mask = (saliency - saliency.min()) / (saliency.max() - saliency.min())
        blended = mask * self.picture + (1 - mask) * self.baseline("mean")
        whole, left = self.chances(self.picture)[target], self.chances(blended)[target]
        return max(0.0, (whole - left) / whole), float(left > whole)


def _most_salient_first(saliency: np.ndarray) -> np.ndarray:
    """Equal values in the evaluation's own fixed order, which is arbitrary."""
    return np.lexsort((ranking(np.zeros_like(saliency)).ravel(), -saliency.ravel()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that is sure of different classes, pictures of its own size, and masks of their objects."""
    folder = tmp_path_factory.mktemp("loop")
    model = small_cnn(seed=3)
    add_weights(model, w4=8 * take_weights(model, "w4"))
    (folder / "plain.onnx").write_bytes(model.SerializeToString())
    fastcam_export.export(
        model, folder / "graft.onnx", outputs="saliency_map,cam,fastcam", preprocess="imagenet"
    )
    random = np.random.default_rng(0)
    for name in ("photos", "masks"):
        (folder / name).mkdir()
    for k in range(COUNT):
        noise = np.stack(
            [cv2.GaussianBlur(random.standard_normal((SIZE, SIZE)), (0, 0), 3) for _ in "BGR"], 2
        )
        photo = np.clip(128 + 400 * noise + 60 * random.standard_normal(3), 0, 255).astype(np.uint8)
        cv2.imwrite(str(folder / "photos" / f"{k}.png"), photo)
        mask = np.zeros((SIZE, SIZE), np.uint8)
        mask[8 * k : 8 * k + 30, 4 * k : 4 * k + 34] = 255
        cv2.imwrite(str(folder / "masks" / f"{k}.png"), mask)
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Evaluation:
    subject = Subject(folder / "graft.onnx", threads=1)
    request = EvaluationRequest(
        sorted((folder / "photos").iterdir()), Objects(folder / "masks"), sanity=False
    )
    found = begin(subject, "graft.onnx", request)
    evaluate(subject, request, found, lambda *_: None)
    return found


@pytest.fixture(scope="module")
def loops(folder: Path) -> list[Loop]:
    session = onnxruntime.InferenceSession(folder / "plain.onnx", providers=["CPUExecutionProvider"])
    loops = []
    for k in range(COUNT):
        rgb = cv2.imread(str(folder / "photos" / f"{k}.png"))[..., ::-1].astype(np.float64)
        loops.append(Loop(session, ((rgb - MEAN) / STD).transpose(2, 0, 1)))
    return loops


@pytest.fixture(scope="module")
def maps(folder: Path, loops: list[Loop]) -> list[dict[str, np.ndarray]]:
    """The maps of the file for the predicted class, and the controls; by picture."""
    session = onnxruntime.InferenceSession(folder / "graft.onnx", providers=["CPUExecutionProvider"])
    names = {"saliency_map": "saliency_map", "cam": "saliency_cam", "fastcam": "saliency_fastcam"}
    every = []
    for k, loop in enumerate(loops):
        feed = {"input": loop.picture[None].astype(np.float32), "saliency_class": np.array([loop.target])}
        answers = session.run(list(names.values()), feed)
        photo = cv2.imread(str(folder / "photos" / f"{k}.png"))
        controls = {name: make(photo, k) for name, make in CONTROLS.items()}
        every.append({name: one[0] for name, one in zip(names, answers, strict=True)} | controls)
    return every


def test_the_network_tells_the_pictures_apart(loops: list[Loop]) -> None:
    """Else a wrong class, baseline or direction would not show."""
    assert len({loop.target for loop in loops}) > 1
    for loop in loops:
        chances = loop.chances(loop.picture)
        assert np.sort(chances)[-2] < chances[loop.target] - 0.05


def test_insertion_and_deletion_are_those_of_pixels_changed_one_by_one(
    found: Evaluation, loops: list[Loop], maps: list[dict[str, np.ndarray]]
) -> None:
    for result, loop, every in zip(found.pictures, loops, maps, strict=True):
        assert result.probability == pytest.approx(loop.chances(loop.picture).max(), abs=EXACT)
        for name in found.methods:
            order, ours = _most_salient_first(every[name]), result.methods[name]
            for kind in ("blur", "mean"):
                insertion = loop.insertion(kind, order, loop.target)
                deletion = loop.deletion(kind, order, loop.target)
                assert ours[f"insertion_{kind}"] == pytest.approx(insertion, abs=EXACT), (name, kind)
                assert ours[f"deletion_{kind}"] == pytest.approx(deletion, abs=EXACT), (name, kind)
                assert ours[f"score_{kind}"] == pytest.approx(insertion - deletion, abs=2 * EXACT)


def test_a_mistake_would_show(
    found: Evaluation, loops: list[Loop], maps: list[dict[str, np.ndarray]]
) -> None:
    """The loop with another class, the other baseline, insertion for deletion, or the map upside down."""
    away = dict.fromkeys(("class", "baseline", "direction", "order"), 0.0)
    for result, loop, every in zip(found.pictures, loops, maps, strict=True):
        order = _most_salient_first(every["saliency_map"])
        other = (loop.target + 1) % 10
        mistakes = {
            "class": loop.insertion("blur", order, other),
            "baseline": loop.insertion("mean", order, loop.target),
            "direction": loop.deletion("blur", order, loop.target),
            "order": loop.insertion("blur", order[::-1], loop.target),
        }
        for name, value in mistakes.items():
            away[name] = max(away[name], abs(value - result.methods["saliency_map"]["insertion_blur"]))
    assert min(away.values()) > 50 * EXACT, away


def test_average_drop_and_increase_are_those_of_the_blended_pictures(
    found: Evaluation, loops: list[Loop], maps: list[dict[str, np.ndarray]]
) -> None:
    rises = 0.0
    for result, loop, every in zip(found.pictures, loops, maps, strict=True):
        for name in found.methods:
            drop, increase = loop.faded(every[name], loop.target)
            assert result.methods[name]["drop"] == pytest.approx(drop, abs=10 * EXACT), name
            assert result.methods[name]["increase"] == increase, name
            rises += increase
    assert 0 < rises < COUNT * len(found.methods)


@pytest.mark.slow
def test_road_is_the_loss_by_removed_pixels(
    found: Evaluation, loops: list[Loop], maps: list[dict[str, np.ndarray]]
) -> None:
    """The evaluation adds a little noise and solves the equations approximately."""
    gains = []
    for result, loop, every in [*zip(found.pictures, loops, maps, strict=True)][:2]:
        gains.append(loop.road(_most_salient_first(every["cam"]), loop.target))
        assert result.methods["cam"]["road"] == pytest.approx(gains[-1], abs=0.01)
    assert max(map(abs, gains)) > 0.05


def test_objects_are_found_where_the_masks_have_them(
    folder: Path, found: Evaluation, maps: list[dict[str, np.ndarray]]
) -> None:
    hits = []
    for k, (result, every) in enumerate(zip(found.pictures, maps, strict=True)):
        inside = cv2.imread(str(folder / "masks" / f"{k}.png"), cv2.IMREAD_GRAYSCALE) > 0
        for name in ("saliency_map", "random", "blobs"):
            saliency, ours = every[name].astype(np.float64), result.methods[name]
            row, column = np.unravel_index(saliency.argmax(), saliency.shape)
            hits.append(bool(inside[row, column]))
            assert ours["pointing"] == hits[-1], name
            assert ours["energy"] == pytest.approx(saliency[inside].sum() / saliency.sum(), rel=1e-5)
            wins = stats.mannwhitneyu(saliency[inside], saliency[~inside]).statistic
            pairs = inside.sum() * (~inside).sum()
            assert ours["pixel_auc"] == pytest.approx(wins / pairs, abs=1e-4)
    assert 0 < sum(hits) < len(hits)


def test_class_maps_are_compared_with_those_of_another_class(
    folder: Path, found: Evaluation, loops: list[Loop], maps: list[dict[str, np.ndarray]]
) -> None:
    """Which one is random: the correlation must be that of one of the nine others."""
    session = onnxruntime.InferenceSession(folder / "graft.onnx", providers=["CPUExecutionProvider"])
    for result, loop, every in zip(found.pictures, loops, maps, strict=True):
        possible: list[float | None] = []
        for other in {*range(10)} - {loop.target}:
            feed = {"input": loop.picture[None].astype(np.float32), "saliency_class": np.array([other])}
            cam = session.run(["saliency_cam"], feed)[0][0]
            constant = cam.min() == cam.max()
            possible.append(None if constant else stats.spearmanr(every["cam"].ravel(), cam.ravel())[0])
        value = result.classes["cam"]
        assert value in possible if value is None else min(
            abs(value - one) for one in possible if one is not None
        ) < 1e-4  # fmt: skip
