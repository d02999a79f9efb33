"""docs/quality.md matches the committed results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastcam_runtime.errors import FastcamError

from benchmarks.quality import reference, study_plan
from benchmarks.quality.evaluations import EVALUATIONS
from benchmarks.quality.report import DOCS, PAGE, page, plots
from benchmarks.quality.retraining import protocol
from benchmarks.quality.retraining.retrain_tables import retrain_section


def test_the_page_and_its_plots_are_those_of_the_committed_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
    for name, text in plots().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text + "\n"


def _line(network: str, number: int, maps: dict[str, float]) -> str:
    content = {"plan": study_plan.VERSION, "network": network, "picture": f"{number}.jpg", "number": number}
    return json.dumps(content | {"maps": {name: {"score": value} for name, value in maps.items()}})


def test_a_candidate_that_is_better_on_two_networks_is_confirmed(tmp_path: Path) -> None:
    every = dict.fromkeys((*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES), 0.3)
    every |= {"saliency_map": 0.3, study_plan.PRODUCT: 0.3}
    lines = []
    for network, gain in (("A", 0.1), ("B", 0.1), ("C", 0.0)):
        for number in range(20):
            maps = every | {"rank average": 0.3 + gain + 0.01 * (number % 3)}
            maps["map × √Grad-CAM"] = 0.3 + gain * (network == "A")
            lines.append(_line(network, number, maps))
    (tmp_path / "study.jsonl").write_text("\n".join(lines))
    reference.accept(tmp_path, tmp_path / "reference")
    text = " ".join(page(tmp_path / "reference").split())
    assert "Selected: rank average; the odd pictures confirm it." in text
    assert "No candidate is better than saliency_map on the even pictures." in text
    assert "With only 10 pictures per half, nothing is adopted yet." in text
    assert reference.study(tmp_path / "reference")["A"]["rank average"][:3] == pytest.approx(
        [0.4, 0.41, 0.42]
    )


def test_nothing_is_said_without_results(tmp_path: Path) -> None:
    assert "|" not in page(tmp_path)


def _weights(equal: list[list[float]], prior: list[list[float]]) -> list[dict[str, object]]:
    """Results of two networks; the default has 0.1 on the even pictures and 0.3 on the odd ones."""
    return [
        {"network": f"N{k}", "scales": k + 3, "scores": {"linear": [0.1, 0.3] * 4, "equal": e, "prior": p}}
        for k, (e, p) in enumerate(zip(equal, prior, strict=True))
    ]


def test_weights_are_selected_on_one_half_and_confirmed_on_the_other(tmp_path: Path) -> None:
    """The even pictures select, the odd ones confirm; the default has nothing to be compared with."""
    content = _weights([[0.2, 0.1] * 4] * 2, [[0.05, 0.5] * 4] * 2)
    (tmp_path / reference.WEIGHTS).write_text(json.dumps(content))
    reference.accept(tmp_path, tmp_path / "reference")
    text = page(tmp_path / "reference")
    lines = text.splitlines()
    assert "| weights | N0 (3) | N1 (4) |" in lines
    assert "| **linear** | 0.200 | 0.200 |" in lines
    cell = "0.150: +0.100 / [−0.200, −0.200]"
    assert f"| equal | {cell} | {cell} |" in lines
    assert "Selected: equal; the odd pictures do not confirm it." in " ".join(text.split())


def test_weights_that_both_halves_prefer_are_confirmed(tmp_path: Path) -> None:
    content = _weights([[0.2, 0.4] * 4] * 2, [[0.1, 0.3] * 4] * 2)
    (tmp_path / reference.WEIGHTS).write_text(json.dumps(content))
    reference.accept(tmp_path, tmp_path / "reference")
    text = " ".join(page(tmp_path / "reference").split())
    assert "Selected: equal; the odd pictures confirm it." in text


@pytest.mark.parametrize(
    ("flicker", "likeness", "verdict"),
    [
        (4.0, 0.99, "Adopted: first scale smoothed."),
        (6.0, 0.99, "Neither is adopted."),
        (4.0, 0.97, "Neither is adopted."),
    ],
)
def test_a_smoothed_first_scale_must_beat_the_smoothing_of_the_whole_map(
    flicker: float, likeness: float, verdict: str, tmp_path: Path
) -> None:
    content = {
        "saliency_map": {"plain": 13.1, "smoothed": 5.0, "correlation": 0.98, "frames": 120},
        "first scale blurred": {"plain": 11.0, "smoothed": 4.5, "correlation": 0.9, "likeness": 0.995},
        "first scale smoothed": {"plain": flicker, "smoothed": 3.0, "correlation": 0.9, "likeness": likeness},
        "scale 1": {"plain": 62.12, "smoothed": 17.93, "correlation": 0.8},
    }
    (tmp_path / reference.FIRST_SCALE).write_text(json.dumps(content))
    reference.accept(tmp_path, tmp_path / "reference")
    lines = page(tmp_path / "reference").splitlines()
    assert "| saliency_map | 13.1 | 1.000 | 5.0 | 0.980 |" in lines
    assert "| first scale blurred | 11.0 | 0.995 | 4.5 |  |" in lines
    assert "| scale 1 | 62.1 |  | 17.9 |  |" in lines
    assert verdict in " ".join(lines)


def test_reciprocam_joins_the_study_and_other_networks_stay(tmp_path: Path) -> None:
    maps = dict.fromkeys((*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES), 0.3)
    maps |= {"saliency_map": 0.3, study_plan.PRODUCT: 0.3}
    for network, score in (("A", 0.3), ("B", 0.4)):  # two runs, accepted one after the other
        lines = [_line(network, number, maps | {"saliency_map": score}) for number in range(4)]
        (tmp_path / "study.jsonl").write_text("\n".join(lines))
        reference.accept(tmp_path, tmp_path / "reference")
    scores = {network: {"ReciproCAM": [0.2] * 4, "saliency_map": [0.3] * 4} for network in "AB"}
    (tmp_path / reference.RECIPROCAM).write_text(json.dumps(scores))
    reference.accept(tmp_path, tmp_path / "reference")
    row = "| ReciproCAM | 0.200 [−0.100, −0.100] | 0.200 [−0.200, −0.200] |"
    assert row in page(tmp_path / "reference").splitlines()


def test_what_was_measured_beside_the_study_replaces_what_the_study_had(tmp_path: Path) -> None:
    """The first run of the study measured Guided Backprop wrongly."""
    maps = dict.fromkeys((*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES), 0.3)
    maps |= {"saliency_map": 0.3, study_plan.PRODUCT: 0.3, study_plan.GUIDED: 0.1}
    (tmp_path / "study.jsonl").write_text("\n".join(_line("A", number, maps) for number in range(4)))
    scores = {"A": {study_plan.GUIDED: [0.2] * 4, "saliency_map": [0.4] * 4}}
    (tmp_path / reference.PACKAGES).write_text(json.dumps(scores))
    reference.accept(tmp_path, tmp_path / "reference")
    found = reference.study(tmp_path / "reference")["A"]
    assert (found[study_plan.GUIDED], found["saliency_map"]) == ([0.2] * 4, [0.3] * 4)
    assert study_plan.GUIDED not in reference.result(reference.STUDY, tmp_path / "reference")["A"]


def test_maps_of_other_pictures_are_refused(tmp_path: Path) -> None:
    maps = dict.fromkeys((*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES), 0.3)
    maps |= {"saliency_map": 0.3, study_plan.PRODUCT: 0.3}
    (tmp_path / "study.jsonl").write_text("\n".join(_line("A", number, maps) for number in range(4)))
    (tmp_path / reference.RECIPROCAM).write_text(json.dumps({"A": {"ReciproCAM": [0.2] * 3}}))
    with pytest.raises(FastcamError, match="A: ReciproCAM has 3 pictures, the study has 4"):
        reference.accept(tmp_path, tmp_path / "reference")


def test_a_stopped_evaluation_is_refused(tmp_path: Path) -> None:
    (tmp_path / EVALUATIONS[0]).write_text(json.dumps({"stopped": True, "pictures": []}))
    with pytest.raises(FastcamError, match="the evaluation was stopped"):
        reference.accept(tmp_path, tmp_path / "reference")


def test_networks_stand_in_the_plans_order_and_a_missing_map_leaves_a_gap(tmp_path: Path) -> None:
    maps = dict.fromkeys((*study_plan.CLASS_CANDIDATES, *study_plan.MAP_CANDIDATES), 0.3)
    maps |= {"saliency_map": 0.3, study_plan.PRODUCT: 0.3}
    networks = (study_plan.RESNET, study_plan.LITE0)
    lines = [_line(network, number, maps) for network in networks for number in range(4)]
    (tmp_path / "study.jsonl").write_text("\n".join(lines))
    scores = {study_plan.RESNET: {"ReciproCAM": [0.2] * 4, "saliency_map": [0.3] * 4}}
    (tmp_path / reference.RECIPROCAM).write_text(json.dumps(scores))
    reference.accept(tmp_path, tmp_path / "reference")
    rows = page(tmp_path / "reference").splitlines()
    assert f"| map | {study_plan.LITE0} | {study_plan.RESNET} |" in rows
    assert "| ReciproCAM |  | 0.200 [−0.100, −0.100] |" in rows


@pytest.mark.parametrize("file", reference.BESIDE)
def test_maps_beside_the_study_were_measured_on_its_pictures(file: str) -> None:
    """Its run scores `saliency_map` again: the same pictures in the same order give the same scores."""
    study, again = reference.study(), reference.result(file)
    assert set(again) == set(study)
    for network, scores in again.items():
        assert scores["saliency_map"] == pytest.approx(study[network]["saliency_map"], abs=2e-3)


def test_sums_of_masked_photos_take_only_the_columns_that_every_map_has() -> None:
    cells = [
        ("smoe prior", "KAR", 0.1, 0.5), ("smoe prior", "ROAR", 0.5, 0.4), ("smoe prior", "KAR", 0.9, 0.8),
        ("centre", "KAR", 0.1, 0.3), ("centre", "ROAR", 0.5, 0.6),
    ]  # fmt: skip
    lines = [
        {"experiment": "input", "method": method, "mode": mode, "at": at, "seed": 0, "accuracy": accuracy}
        for method, mode, at, accuracy in cells
    ]
    rows = [line for line in retrain_section(lines).splitlines() if line.startswith("| ")][2:]
    # The paper prints 65.44 and 48.48 for these two columns; it has no row for the centre.
    assert rows == [
        "| smoe prior | 50.0 | 80.0 | 40.0 | 10.0 | 17.0 |",
        "| centre | 30.0 |  | 60.0 | −30.0 |  |",
    ]


def _layer_lines(seed: int, best: float) -> list[dict[str, object]]:
    """The last layer: every statistic a point worse than the one before, in the order of the protocol."""
    kept = {name: best - 0.01 * place for place, name in enumerate(protocol.LAYER_METHODS)}
    kept[protocol.RANDOM] = 0.3
    return [
        {"experiment": "layer", "method": name, "mode": mode, "at": 5, "seed": seed, "accuracy": value}
        for name, kar in kept.items()
        for mode, value in (("KAR", kar), ("ROAR", 0.3))
    ]


def test_seeds_are_averaged_and_the_order_is_compared_with_the_papers() -> None:
    text = " ".join(retrain_section([*_layer_lines(0, 0.5), *_layer_lines(1, 0.6)]).split())
    assert "| smoe | 55.0 | 30.0 | 0.25 (0.20, 0.30) |" in text
    assert "| random | 30.0 | 30.0 | | | | |" in text
    # By hand: the squared rank differences of the protocol's order and the paper's D add up to 82, and
    # 1 − 6·82 / (9·80) = 0.32.
    assert "Rank correlation with the paper's order: 0.32 (9 rows; " in text
    assert "The first two seeds differ by 0.1 on average, with a rank correlation of 1.00" in text


def test_a_seed_that_lacks_cells_is_left_out() -> None:
    whole, partial = _layer_lines(0, 0.5), _layer_lines(1, 0.6)[:-1]
    rows = [line for line in retrain_section([*whole, *partial]).splitlines() if line.startswith("| smoe |")]
    assert rows[0].startswith("| smoe | 50.0 | 30.0 | 0.20 |")
