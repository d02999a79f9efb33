"""Where results are kept, and the files beside the checkout that are used if they exist."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
"""What was measured here; never committed."""
REFERENCE = ROOT / "benchmarks" / "reference"
"""The committed results, which the documents are written from."""
SHARED = ROOT.parent / "shared"
"""Data, photos and models of others; it may be missing."""
