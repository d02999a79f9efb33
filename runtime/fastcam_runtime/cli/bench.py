"""`fastcam bench`: the options, and the table."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import FastcamError
from ..measure import paired as bench
from ..measure.conditions import describe
from ..measure.device_page import markdown, measure_device
from ..measure.operators import profile
from ..model import providers
from ..model.pruning import is_saliency_output
from ..model.session import count_threads
from ..sinks.atomic import prepare_folder, write_whole
from ..text import format_table, many_lines
from ..web.browser import measure_in_browser
from .arguments import add_provider, add_speed_switches, add_threads
from .bench_tables import format_comparison, format_operators, write_csv
from .output_paths import check_json_path, check_report_path, write_json

logger = logging.getLogger(__name__)

_WHICH = {"plain": ", without its maps", "grafted": ", with its maps"}
"""Two variants may come from the same file; a baseline is the file that the user named."""

_COLUMNS = ("avg", "p50", "p90", "p95", "p99", "min", "max")

_EXAMPLES = """\
Without --baseline the file is compared with itself without its maps.

examples:
  fastcam bench model-fastcam.onnx --threads 1
  fastcam bench model-fastcam.onnx --baseline model.onnx --rounds 300 --json bench.json
  fastcam bench model-fastcam.onnx --profile --csv samples.csv
  fastcam bench model-fastcam.onnx --threads 1 --report board.md
  fastcam bench model-fastcam.onnx --web
  fastcam bench --compare monday.json tuesday.json
"""


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "bench",
        help="what the maps cost on this machine",
        description="Measure a model and the cost of its maps: each round runs it with and without them.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(handler=run)
    parser.add_argument(
        "model", metavar="MODEL", type=Path, nargs="?", help="an ONNX or ORT file, grafted or not"
    )
    parser.add_argument("--baseline", type=Path, metavar="PLAIN.onnx", help="the file to compare with")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each variant (100)")
    add_threads(parser)
    add_provider(parser)
    add_speed_switches(parser)
    parser.add_argument("--web", action="store_true", help="measure in a headless browser, in WebAssembly")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything, raw samples too, to FILE"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="measure every form of the file and write one page to send in: .md to read, .json for programs",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the samples to FILE, one per line")
    parser.add_argument(
        "--profile", action="store_true", help="also show the time per operator, of maps and network"
    )
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar=("A.json", "B.json"),
        help="compare two earlier results; nothing is run",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the files; or compare two earlier results."""
    if args.compare is not None:
        if args.model is not None:
            raise FastcamError(f"--compare reads two files and runs no model; leave {args.model} out")
        print(format_comparison(*args.compare))
        return 0
    if args.model is None:
        raise FastcamError("name a MODEL to measure, or two results with --compare; see fastcam bench --help")
    for path in (args.json, args.csv):
        if path is not None:
            check_json_path(path)
    if args.report is not None:
        return _write_report(args)
    if args.web:
        return _run_in_browser(args)
    options = bench.BenchOptions(args.threads, args.provider, args.rounds, args.compiled, args.cache)
    variants = bench.open_variants(args.model, args.baseline, options)
    if len(variants) == 1 and variants[0].name == "grafted":
        logger.info("%s: an ORT file cannot be cut; compare with --baseline PLAIN.ort", args.model)
    bench.measure(variants, options.rounds)
    report = bench.report(variants, options)
    text = _text(report)
    if args.profile:
        operators = profile(variants[-1], options)
        report["operators"] = [vars(one) for one in operators]
        text += f"\n\n{format_operators(operators)}"
    print(many_lines(text))
    if args.json is not None:
        write_json(args.json, report)
    if args.csv is not None:
        write_csv(args.csv, report)
    return 0


def _write_report(args: argparse.Namespace) -> int:
    others = ("web", "profile", "json", "csv", "baseline")
    if given := [f"--{name}" for name in others if getattr(args, name)]:
        raise FastcamError(f"--report measures every form on its own; leave {', '.join(given)} out")
    if args.provider not in ("auto", "cpu") or not args.compiled or not args.cache:
        raise FastcamError("--report measures every form on the CPU; it takes --threads and --rounds only")
    check_report_path(args.report)
    report = measure_device(args.model, bench.BenchOptions(args.threads, "cpu", args.rounds))
    page = markdown(report)
    print(page)
    if args.report.suffix.lower() == ".json":
        write_json(args.report, report)
    else:
        prepare_folder(args.report.parent, str(args.report))
        write_whole(args.report, page.encode(errors="replace"))
    logger.info("written to %s; docs/devices.md says how to send it in", args.report)
    return 0


def _run_in_browser(args: argparse.Namespace) -> int:
    if args.csv is not None or args.profile:
        raise FastcamError("--web has neither --csv nor --profile; --json has every sample")
    if args.baseline is not None:
        raise FastcamError("--web cuts the plain network out of the file; it takes no --baseline")
    report = measure_in_browser(args.model, args.rounds, args.threads)
    rows = [
        [v["name"], *(f"{v['statistics_ms'][column]:.3f}" for column in _COLUMNS)] for v in report["variants"]
    ]
    print(f"{report['cpu']}, {report['browser']}")
    print(f"onnxruntime-web {report['onnxruntime_web']}, wasm, {count_threads(report['threads'])}")
    print(format_table(["ms", *_COLUMNS], rows))
    print(f"maps cost {_cost(report['difference_ms'], report['rounds'], frames=1)}")
    if args.json is not None:
        write_json(args.json, report)
    return 0


def _text(report: dict[str, Any]) -> str:
    rows = [
        [
            v["name"],
            *(f"{v['statistics_ms'][c]:.3f}" for c in _COLUMNS),
            f"{v['cpu_statistics_ms']['p50']:.3f}",
            f"{v['load_ms']:.0f}",
        ]
        for v in report["variants"]
    ]
    frames = _frames(report["variants"][-1]["inputs"])
    versions, threads = report["versions"], count_threads(report["threads"])
    lines = [
        f"{report['cpu']}, {providers.short_name(report['provider'])}, {threads}, "
        f"onnxruntime {versions['onnxruntime']}, {report['kernels']}, "
        f"{report['rounds']} rounds after {report['warm_up']} to warm up",
        *(
            f"{v['name']}: {v['file']}{_WHICH.get(v['name'], '')} (sha256 {v['sha256'][:12]})"
            for v in report["variants"]
        ),
        format_table(
            ["ms" if frames == 1 else f"ms per {frames} frames", *_COLUMNS, "CPU p50", "start"], rows
        ),
    ]
    if report["difference_ms"]:
        before, after = (any(map(is_saliency_output, v["outputs"])) for v in report["variants"])
        what = "maps cost" if after and not before else f"{report['variants'][1]['name']} minus baseline:"
        lines.append(f"{what} {_cost(report['difference_ms'], report['rounds'], frames)}")
        cpu = report["cpu_difference_ms"]
        low, high = cpu["interval"]
        lines.append(
            f"in CPU time {cpu['median']:+.3f} ms ({cpu['percent']:+.1f} %), {low:+.3f} to {high:+.3f}: "
            "other programs hardly change it"
        )
    lines.append(f"peak memory {report['peak_rss_bytes'] / 1e6:.1f} MB, {describe(report['conditions'])}")
    return "\n".join(lines)


def _frames(inputs: Mapping[str, Sequence[int]]) -> int:
    """How many pictures one run takes: the fixed batch of the network, else 1."""
    return next((shape[0] for shape in inputs.values() if len(shape) == 4), 1)


def _cost(difference: Mapping[str, Any], rounds: int, frames: int) -> str:
    low, high = difference["interval"]
    first, third = difference["quartiles"]
    each = "frame" if frames == 1 else f"{frames} frames in one run"
    text = (
        f"{difference['median']:+.3f} ms ({difference['percent']:+.1f} %) per {each}: the median of "
        f"{rounds} differences, one per round; with 95 % certainty {low:+.3f} to {high:+.3f}, "
        f"half of all rounds {first:+.3f} to {third:+.3f}"
    )
    if low <= 0 <= high:
        text += "\nthe difference is within the noise; try a longer run: --rounds N"
    return text
