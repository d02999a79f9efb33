"""Put the modules of a page into one script: one request instead of forty, and fewer bytes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BUNDLE = "app.js"

_COMMENT = re.compile(
    r"^[ ]*/\*\*(?:(?!\*/).)*\*/\n|/\*\*[^\n]*?\*/ ?|^[ ]*//[^\n]*\n|^[ ]+|^\n", re.DOTALL | re.MULTILINE
)
"""JSDoc on its own lines and within them, comment lines, indents, empty lines; our strings hold none."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const)\b)", re.MULTILINE)
_LOADER = """const made = {};
export const need = (name) => made[name] ??= modules[name](new URL(name, import.meta.url).href);
"""


@dataclass
class _Module:
    """A module as the body of a function."""

    body: str
    imported: set[str] = field(default_factory=set)
    """What other modules import from it."""


def bundle(folder: Path, entries: Sequence[str]) -> Mapping[str, str]:
    """The scripts of a page: `app.js`, and a short one for each entry, which starts it from `app.js`.

    A module becomes a function that returns what the others import. It knows its own address, as before.

    Args:
        folder: The modules. They import names from each other, at their beginning, without cycles.
        entries: Modules that a page or a worker starts, as paths with slashes.
    """
    modules: dict[str, _Module] = {}
    for entry in entries:
        _add(folder, entry, modules)
    functions = "".join(
        f'"{name}": {"async " if name in entries else ""}(meta) => {{\n{module.body}'
        f"return {{ {', '.join(sorted(module.imported))} }};\n}},\n"
        for name, module in sorted(modules.items())
    )
    scripts = {BUNDLE: f"const modules = {{\n{functions}}};\n{_LOADER}"}
    for entry in entries:
        address = posixpath.relpath(BUNDLE, posixpath.dirname(entry))
        scripts[entry] = f'import {{ need }} from "{address}";\nneed("{entry}");\n'
    return scripts


def strip_comments(script: str) -> str:
    """The script without JSDoc, comments and indents: a third of the bytes that a browser would fetch."""
    return _COMMENT.sub("", script)


def _add(folder: Path, name: str, modules: dict[str, _Module]) -> _Module:
    if name in modules:
        return modules[name]
    module = modules[name] = _Module("")

    def rewrite(found: re.Match[str]) -> str:
        names = [part.strip() for part in found[1].split(",") if part.strip()]
        source = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
        _add(folder, source, modules).imported.update(part.partition(" as ")[0] for part in names)
        return f'const {{ {", ".join(names).replace(" as ", ": ")} }} = need("{source}");\n'

    script = strip_comments((folder / name).read_text("utf-8"))
    module.body = _EXPORT.sub("", _IMPORT.sub(rewrite, script)).replace("import.meta.url", "meta")
    return module
