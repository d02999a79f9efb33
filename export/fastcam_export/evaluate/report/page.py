"""An evaluation as one HTML file: conclusions, tables, plots, and the best and worst pictures."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

import cv2
from fastcam_runtime.draw.overlay import overlay

from ..measures.perturbation import LEVELS
from ..metrics import METRICS, RANKED_BY
from ..results import Evaluation, Example
from . import svg
from .html_table import directed, figure_table, html_list, html_table
from .numbers import rounded
from .style import STYLE
from .table import CHANGE, brackets, flicker_rows, levels, main_rows, pictures_told, sanity_rows
from .verdicts import QUESTIONS, verdicts
from .words import conclusions


def html(found: Evaluation) -> str:
    """The page, self-contained: it loads no other files."""
    title = f"How good are the maps of {found.file}?"
    count = pictures_told(found)
    stopped = " The evaluation was stopped early: these are partial results." if found.stopped else ""
    body = [
        f"<h1>{escape(title)}</h1><p>{count}.{stopped}</p>",
        _conclusions(found),
    ]
    if found.pictures:
        body += [_figures(found), _plots(found), _checks(found), _shots(found)]
    body.append(_method(found))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"{''.join(body)}</body></html>"
    )


def _conclusions(found: Evaluation) -> str:
    """A card for each map, then the sentences."""
    cards = []
    for name, answers in verdicts(found).items():
        told = "".join(
            f'<dt>{escape(question)}</dt><dd class="{answer.mark}">{escape(answer.short)}'
            f"<span>{escape(answer.figure)}</span></dd>"
            for question, answer in zip(QUESTIONS, answers, strict=True)
            if answer is not None
        )
        cards.append(f'<div class="card"><h3>{escape(name)}</h3><dl>{told}</dl></div>')
    lines = conclusions(found)
    if not cards:
        return f"<h2>Conclusions</h2>{html_list(lines)}"
    of_maps = [line for line in lines if any(name in line.replace(":", " ").split() for name in found.maps)]
    return (
        f'<h2>Conclusions</h2><div class="cards">{"".join(cards)}</div>'
        f"{html_list([line for line in lines if line not in of_maps])}"
        f"<details><summary>about each map in sentences</summary>{html_list(of_maps)}</details>"
    )


def _figures(found: Evaluation) -> str:
    if not found.measured():
        return ""
    rows, every = main_rows(found), main_rows(found, tuple(METRICS))
    return (
        f"<h2>Figures</h2><p class=small>↑ higher is better, ↓ lower is better; * and green: best of "
        f"its column. {escape(brackets(found, rows))}</p>{figure_table([directed(rows[0]), *rows[1:]])}"
        "<details><summary>all figures</summary>"
        f"{figure_table([directed(every[0]), *every[1:]])}</details>{_meanings(found)}"
    )


def _meanings(found: Evaluation) -> str:
    """What the columns are, behind a heading to click on."""
    told = [f"{title}: {meaning}." for title, meaning in _measured_meanings(found)]
    return f"<details><summary>what the figures mean</summary>{html_list(told)}<p>{levels()}</p></details>"


def _measured_meanings(found: Evaluation) -> list[tuple[str, str]]:
    metrics = [METRICS[name] for name in found.measured()]
    return [(title, one.meaning) for one in metrics for title in directed([one.title])]


def _plots(found: Evaluation) -> str:
    parts = []
    if found.measured(("score_blur",)):
        scores = {method: found.mean("score_blur", method) for method in found.methods}
        parts.append(svg.bars("Insertion − deletion, blurred baseline (↑)", scores, width=210, left=104))
    for kind in [kind for kind in METRICS if any(kind in p.curves for p in found.pictures)]:
        curves = {method: found.curve(kind, method).tolist() for method in found.methods}
        note = "pixels, most salient first"
        parts.append(
            svg.lines(
                f"{directed([METRICS[kind].title])[0]} area: probability of the class", LEVELS, curves, note
            )
        )
    if found.sanity:
        steps = list(found.sanity)
        across = [k / max(1, len(steps)) for k in range(len(steps) + 1)]
        curves = {
            name: [1.0, *(found.compare(found.sanity[step][name], [])[0].mean for step in steps)]
            for name in found.maps
        }
        ticks = dict(zip(across, ("none", *steps), strict=True))
        note = "shuffled layers"
        parts.append(
            svg.lines("Rank correlation, weights shuffled from the head down", across, curves, note, ticks)
        )
    plots = "".join(f"<div>{part}</div>" for part in parts)
    return f'<h2>Plots</h2><div class="plots">{plots}</div>' if parts else ""


def _checks(found: Evaluation) -> str:
    rows = sanity_rows(found)
    text = (
        "<h2>Sanity checks</h2><p class=small>Rank correlation of each map with the one named in the row. A "
        f"map that shows what was learnt changes with the weights. {escape(brackets(found, rows))}</p>"
        f"{figure_table(rows)}"
    )
    text += html_list(found.left_out())
    if not found.flicker:
        return text
    video = flicker_rows(found)
    told = f"{CHANGE[0].upper()}{CHANGE[1:]}. {brackets(found, video, video=True)}"
    return f"{text}<h2>Video</h2><p class=small>{escape(told)}</p>{figure_table(video)}"


def _shots(found: Evaluation) -> str:
    """The best and the worst pictures; none is among both."""
    if not found.best:
        return ""
    count = len(found.values(_ranked(found), found.reference))
    best = found.best[: max(1, count // 2)]
    worst = found.worst[: count - len(best)]
    by = escape(f"{found.reference}, by {METRICS[_ranked(found)].title}")
    text = f"<h2>Where the map did best</h2><p class=small>{by}</p>{_figure_row(best)}"
    return text + (f"<h2>Where it did worst</h2>{_figure_row(worst)}" if worst else "")


def _ranked(found: Evaluation) -> str:
    return found.measured(RANKED_BY)[0]


def _figure_row(examples: Sequence[Example]) -> str:
    shots = []
    for one in examples:
        picture = one.picture if one.picture.ndim == 3 else cv2.cvtColor(one.picture, cv2.COLOR_GRAY2BGR)
        drawn = overlay(picture, one.saliency)
        shots.append(
            f'<figure><img src="{_jpeg(picture)}" alt=""><img src="{_jpeg(drawn)}" alt="">'
            f"<figcaption>{escape(one.label)}{', ' if one.label else ''}{rounded(one.score)}<br>"
            f"{escape(one.name)}</figcaption></figure>"
        )
    return f'<div class="shots">{"".join(shots)}</div>'


def _jpeg(picture: object) -> str:
    done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])  # type: ignore[call-overload]
    assert done
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}"


def _method(found: Evaluation) -> str:
    rows = [(key.replace("_", " "), _in_words(value)) for key, value in found.setup.items()]
    return f"<h2>How it was measured</h2>{html_table([('', ''), *rows], 'wrap')}{html_list(found.notes)}"


def _in_words(value: object) -> str:
    """A value of the set-up as a person would write it."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_in_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
