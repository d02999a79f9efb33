"""What single options of `fastcam export` cost as a Markdown table, for docs/costs.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import markdown_table, paragraph, percent_cell

HEAD = ("option", "network", "plain", "added time", "added")


def option_table(result: Mapping[str, Any]) -> str:
    """The table for docs/costs.md."""
    config = result["config"]
    said = paragraph(
        "What one option adds to the file without it, in percent of the plain network's processor time: "
        f"{config['cpu']}, one thread, medians of {config['rounds']} differences; in brackets the 95 % "
        "interval of the median. `--cam layercam` is compared with `--cam gradcam`, `--target` with the "
        "ordinary file in standard operators. onnxruntime's CPU provider runs every file: the processor of "
        "a target may need more or less."
    )
    return f"{said}\n\n{markdown_table(HEAD, [option_row(one) for one in result['options']])}"


def option_row(one: Mapping[str, Any]) -> list[str]:
    """An option, its network, and what it adds."""
    added = one["added"]
    return [
        f"`{one['option']}`", one["network"], f"{one['plain']['median_ms']:.1f} ms",
        f"{added['median_ms']:.2f} ms".replace("-", "−"),
        percent_cell(added["percent"], added["interval_percent"]),
    ]  # fmt: skip
