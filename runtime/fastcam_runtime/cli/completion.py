"""`fastcam completion`: a script for the shell that completes commands, options and their values.

Everything in it comes from the parsers. The values of an option are its `choices`, or those that its help
lists at the beginning: `stretch | crop | letterbox (default: stretch)`.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .arguments import Parser

_WORD = re.compile(r"[a-z0-9][a-z0-9_+-]*")
_CLAUSE = re.compile(r"[:;(]")
_DESCRIPTION = """\
Print a script that completes commands, options and their values in your shell. Nothing is installed.

  bash   source <(fastcam completion bash)          in ~/.bashrc
  zsh    source <(fastcam completion zsh)           in ~/.zshrc, after compinit
  fish   fastcam completion fish | source           in ~/.config/fish/config.fish
"""


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    names: tuple[str, ...]
    takes_value: bool
    words: tuple[str, ...]
    help: str


def add_parser(commands: Any, parsers: Callable[[], Mapping[str, Parser]], helps: Mapping[str, str]) -> None:
    """Add the sub-command to the parsers of `fastcam`.

    `parsers` returns all parsers by name, with their options; `helps` has one line for each command.
    """
    parser = commands.add_parser("completion", help=helps["completion"], description=_DESCRIPTION)
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help=" | ".join(SHELLS))
    parser.set_defaults(handler=lambda args: print(script(args.shell, parsers(), helps)))


def script(shell: str, parsers: Mapping[str, Parser], helps: Mapping[str, str]) -> str:
    """The script for one of `SHELLS`."""
    return SHELLS[shell]({name: options_of(parser) for name, parser in parsers.items()}, helps)


def options_of(parser: argparse.ArgumentParser) -> list[Option]:
    """The options that the help of a command shows, and `--debug`, which every command takes."""
    found = [
        Option(tuple(action.option_strings), action.nargs != 0, _words(action), _help(action))
        for action in parser._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    ]
    positional = [
        Option((), True, words, _help(action))
        for action in parser._actions
        if not action.option_strings and (words := _words(action))
    ]
    return [*found, Option(("--debug",), False, (), "show the traceback of an error"), *positional]


def _words(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    clause = _CLAUSE.split(action.help or "")[0]
    if "|" not in clause:
        return ()
    listed = re.split(r"[|,]" if "any of " in clause else r"\|", clause.replace("any of ", ""))
    return tuple(word for part in listed if _WORD.fullmatch(word := part.strip()))


def _help(action: argparse.Action) -> str:
    """The first clause of an option's help, on one line."""
    return " ".join(re.split(r"[;(]", (action.help or "").replace("%%", "%"))[0].split())


_BASH = """\
_fastcam() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i
  # Bash cuts --view=map at the equals sign.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in -*) ;; *) command=${{COMP_WORDS[i]}}; break ;; esac
  done
  case "$command:$prev:$cur" in
    :*:-*) words='--help --version' ;;
    :*) words={commands} ;;
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _fastcam fastcam"""


def _bash(commands: Mapping[str, list[Option]], _: Mapping[str, str]) -> str:
    cases = []
    for command, options in commands.items():
        for option in options:
            if option.words and option.names:
                patterns = "|".join(f"{command}:{name}:*" for name in option.names)
                cases.append(f"    {patterns}) words={_quoted(option.words)} ;;")
        names = [name for option in options for name in option.names]
        cases.append(f"    {command}:*:-*) words={_quoted(names)} ;;")
        words = [word for option in options if not option.names for word in option.words]
        if words:
            cases.append(f"    {command}:*) words={_quoted(words)} ;;")
    return _BASH.format(commands=_quoted(commands), cases="\n".join(cases))


def _quoted(words: Any) -> str:
    return "'" + " ".join(words) + "'"


def _zsh(commands: Mapping[str, list[Option]], helps: Mapping[str, str]) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(commands, helps)}"


def _fish(commands: Mapping[str, list[Option]], helps: Mapping[str, str]) -> str:
    lines = ["complete -c fastcam -n __fish_use_subcommand -l version -d 'show versions'"]
    for command, options in commands.items():
        start = f"complete -c fastcam -n __fish_use_subcommand -f -a {command}"
        lines.append(f"{start} -d {shlex.quote(helps.get(command, ''))}")
        for option in options:
            parts = [f"complete -c fastcam -n '__fish_seen_subcommand_from {command}'"]
            parts += [f"-l {name[2:]}" if name[:2] == "--" else f"-s {name[1:]}" for name in option.names]
            if option.words:
                parts.append(f"{'-x' if option.names else '-f'} -a {_quoted(option.words)}")
            elif option.takes_value:
                parts.append("-r")
            lines.append(" ".join([*parts, f"-d {shlex.quote(option.help)}"]))
    return "\n".join(lines)


SHELLS: Mapping[str, Callable[[Mapping[str, list[Option]], Mapping[str, str]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
"""The shells, and the function that writes the script of each."""
