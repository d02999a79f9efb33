"""Our own keys: `preprocess`, the JSON of `--preprocess`, and `names`."""

from __future__ import annotations

from .clue import Clue, ModelFile
from .labels import NAMES_KEY, parse_names
from .preprocess import PREPROCESS_KEY, stated_preprocess


def read_preprocess(file: ModelFile) -> Clue | None:
    """The key `preprocess`.

    Raises:
        GraftError: The key is there but incomplete.
    """
    text = file.metadata.get(PREPROCESS_KEY)
    return Clue(f"'{PREPROCESS_KEY}' in the file", stated_preprocess(text)) if text else None


def read_names(file: ModelFile) -> Clue | None:
    """The key `names`, which many exporters write."""
    labels = parse_names(file.metadata.get(NAMES_KEY, ""))
    return Clue(f"'{NAMES_KEY}' in the file", labels=labels) if labels else None
