"""The demo: graft, draw, play and measure, then publish all results at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fastcam_models import default_model
from fastcam_runtime import Explainer, SinkError, contract
from fastcam_runtime.measure.paired import WARM_UP
from fastcam_runtime.model.grafted import Model
from fastcam_runtime.sinks.atomic import prepare_folder
from fastcam_runtime.sinks.images import save_image
from fastcam_runtime.sources.test_clip import DEFAULT_FPS, TestClip

from ..api import export
from ..cli.progress import Progress
from ..save.interruption import temporary_folder
from .clip import LabelRun, format_labels, record
from .contact_sheet import FRAME, Row, columns_for, draw_sheet, pick
from .latency import compare, format_latency
from .options import DemoOptions

ROWS = 6
MODEL = f"{default_model().stem}-fastcam.onnx"
VIDEO, SHEET, STRIP = "overlay.mp4", "sheet.png", "strip.jpg"


def show(options: DemoOptions, progress: Progress) -> str:
    """Run the demo.

    The results are published together at the end: a failure or an interruption leaves the results of an
    earlier run in place, and nothing else.

    Returns:
        The report: the files, the labels and the latencies.

    Raises:
        FastcamError: Something cannot be written, or an option is not possible.
    """
    clip = TestClip(size=options.size, frames=options.frames)
    with published(options.out) as folder:
        progress.begin(f"graft {default_model().name}")
        export(default_model(), folder / MODEL, outputs=contract.OUTPUTS)
        # Each stage opens its own model, so the memory of earlier stages is free.
        progress.begin("draw the contact sheet")
        draw_pictures(Model(folder / MODEL, threads=options.threads), clip, options.frames, folder)

        progress.begin("play the clip")
        explainer = Explainer(folder / MODEL, options.threads, outputs=["saliency_map"])
        seen = record(explainer, clip, folder / VIDEO, lambda count: progress.update(count, options.frames))
        del explainer

        progress.begin("measure the latency")
        total = WARM_UP + options.rounds
        variants = compare(
            default_model(),
            folder / MODEL,
            options.rounds,
            lambda number: progress.update(number + WARM_UP + 1, total),
        )
    return _report(options.out, seen, format_latency(variants))


def draw_pictures(model: Model, clip: TestClip, frames: int, folder: Path) -> None:
    """Write the contact sheet, and a strip: its first and last row, fewer columns.

    `frames` is the length of the clip. The model must have every output.
    """
    explainer = Explainer.of(model)
    rows = []
    for index in sorted({int((i + 0.5) * frames / ROWS) for i in range(ROWS)}):
        frame = clip.render(index)
        rows.append(Row(index / (clip.fps or DEFAULT_FPS), frame, explainer(frame)))
    columns = columns_for(model.metadata)
    scales = len(model.metadata.taps)
    save_image(folder / SHEET, draw_sheet(rows, columns, scales, tile_width=192))
    few = pick(columns, FRAME, contract.MAP, contract.CAM, contract.FASTCAM, contract.LOVI)
    strip = draw_sheet([rows[0], rows[-1]], few, scales, tile_width=204)
    save_image(folder / STRIP, strip)


@contextlib.contextmanager
def published(out: Path) -> Iterator[Path]:
    """A hidden folder inside `out`. On success its files are moved to `out`; the folder is always removed."""
    made = not out.exists()
    prepare_folder(out, str(out))
    try:
        with temporary_folder(".fastcam-", out) as folder:
            yield folder
            for file in list(folder.iterdir()):
                os.replace(file, out / file.name)
    except BaseException as error:
        if made:
            with contextlib.suppress(OSError):
                out.rmdir()
        if isinstance(error, OSError):
            raise SinkError(f"{error.filename2 or error.filename or out}: {error.strerror}") from error
        raise


def _report(out: Path, seen: list[LabelRun], latency: str) -> str:
    files = {
        VIDEO: "the clip with the map over it",
        SHEET: "every map, for a few frames of the clip",
        STRIP: "some maps, for two frames",
        MODEL: "the network with every map in it",
    }
    width = max(len(str(out / name)) for name in files)
    lines = [f"{str(out / name).ljust(width)}  {what}" for name, what in files.items()]
    return "\n\n".join(["\n".join(lines), format_labels(seen), latency])
