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
from .numbers import rounded
from .table import brackets, flicker_rows, levels, main_rows, pictures_told, sanity_rows
from .words import conclusions

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#24292f;max-width:1180px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}
table{border-collapse:collapse;margin:.6rem 0;font-size:13px}
td,th{padding:.25rem .6rem;border-bottom:1px solid #d0d7de;text-align:left;white-space:nowrap}
th{background:#f6f8fa}.plots{display:grid;gap:1.2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}
.plots>div{overflow-x:auto}svg{max-width:100%;min-width:27rem;height:auto}
.scroll{overflow-x:auto}.shots{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;width:270px}
figure img{width:132px;margin-right:3px}figcaption{font-size:12px;color:#57606a;overflow-wrap:anywhere}
p.small{color:#57606a;font-size:13px}
"""


def html(found: Evaluation) -> str:
    """The page, self-contained: it loads no other files."""
    title = f"How good are the maps of {found.file}?"
    count = pictures_told(found)
    stopped = " The evaluation was stopped early: these are partial results." if found.stopped else ""
    body = [
        f"<h1>{escape(title)}</h1><p>{count}.{stopped}</p>",
        "<h2>Conclusions</h2>" + _list(conclusions(found)),
    ]
    if found.pictures:
        body += [_figures(found), _plots(found), _checks(found), _shots(found)]
    body.append(_method(found))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"{''.join(body)}</body></html>"
    )


def _figures(found: Evaluation) -> str:
    if not found.measured():
        return ""
    rows = main_rows(found)
    return (
        f"<h2>Figures</h2><p class=small>* best of its column. {escape(brackets(found, rows))}</p>"
        f"{_table(rows)}"
        f"<details><summary>all figures</summary>{_table(main_rows(found, tuple(METRICS)))}</details>"
    )


def _plots(found: Evaluation) -> str:
    parts = []
    if found.measured(("score_blur",)):
        scores = {method: found.mean("score_blur", method) for method in found.methods}
        parts.append(svg.bars("Insertion − deletion, blurred baseline", scores))
    for kind in [kind for kind in METRICS if any(kind in p.curves for p in found.pictures)]:
        curves = {method: found.curve(kind, method).tolist() for method in found.methods}
        note = "pixels, most salient first"
        parts.append(svg.lines(f"{METRICS[kind].title}: probability of the class", LEVELS, curves, note))
    if found.sanity:
        steps = list(found.sanity)
        across = [k / max(1, len(steps)) for k in range(len(steps) + 1)]
        curves = {
            name: [1.0, *(found.compare(found.sanity[step][name], [])[0].mean for step in steps)]
            for name in found.maps
        }
        ticks = dict(zip(across, ("none", *steps), strict=True))
        note = "shuffled layers"
        parts.append(svg.lines("Weights shuffled from the head down", across, curves, note, ticks))
    plots = "".join(f"<div>{part}</div>" for part in parts)
    return f'<h2>Plots</h2><div class="plots">{plots}</div>' if parts else ""


def _checks(found: Evaluation) -> str:
    rows = sanity_rows(found)
    text = (
        "<h2>Sanity checks</h2><p class=small>Rank correlation of each map with the one named in the row. A "
        f"map that shows what was learnt changes with the weights. {escape(brackets(found, rows))}</p>"
        f"{_table(rows)}"
    )
    text += _list(found.left_out())
    return text + (f"<h2>Video</h2>{_table(flicker_rows(found))}" if found.flicker else "")


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
    meanings = [f"{metric.title}: {metric.meaning}." for metric in METRICS.values()]
    return (
        f"<h2>How it was measured</h2><p>{levels()}</p>{_table([('', ''), *rows])}"
        f"{_list(meanings)}{_list(found.notes)}"
    )


def _in_words(value: object) -> str:
    """A value of the set-up as a person would write it."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_in_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in body)
    return f'<div class="scroll"><table><tr>{cells}</tr>{lines}</table></div>'
