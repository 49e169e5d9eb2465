"""Pages of the documentation as programs: their snippets in order, and the commands they name."""

from __future__ import annotations

import re
import shlex
import textwrap
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

RUN = ("python", "console", "bash", "sh", "yaml")
SHOWN = ("", "text", "json", "csv", "html")
"""Languages of blocks that show something and are not run."""

_FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
_EXIT = re.compile(r"#\s*exits with (\d+)\s*$")
_COMMAND = re.compile(r"`((?:(?:voile|make|pip install) |python (?:benchmarks|examples)/)[^`\n]*)`")


class PageError(Exception):
    """A page shows something that cannot be run or checked."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page it begins at."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line of a console block, without its prompt and comment, and how it is to end."""

    words: tuple[str, ...]
    exit_code: int = 0


def read_blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order; a fence that is not closed is an error."""
    blocks = []
    for found in _FENCE.finditer(page):
        language = found[3].strip().split(" ")[0].split("{")[0]
        line = page.count("\n", 0, found.start()) + 1
        blocks.append(Block(language, textwrap.dedent(found[4]), line))
    fences = len(re.findall(r"^ *`{3,}", page, re.MULTILINE))
    if fences != 2 * len(blocks):
        raise PageError(f"{fences} fences do not make whole blocks")
    return blocks


def read_commands(text: str) -> list[Command]:
    """The commands of a console block: one in a line, or in several that end in a backslash.

    What a command prints stands in a block of its own, so every line here is a command.
    """
    commands = []
    for line in text.replace("\\\n", " ").splitlines():
        stated = _EXIT.search(line)
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words:
            commands.append(Command(tuple(words), int(stated[1]) if stated else 0))
    return commands


def as_program(page: str) -> str:
    """The page as one Python program; console lines become calls of ``_voile``."""
    parts: list[str] = []
    for block in read_blocks(page):
        if block.language == "python":
            parts.append(block.text)
        elif block.language == "console":
            parts += _calls(block)
        elif block.language in ("bash", "sh"):
            _refuse_checked(block)
            parts.append(f"_script({block.language!r}, {block.text!r})")
        elif block.language == "yaml":
            parts.append(_yaml(block))
        elif block.language not in SHOWN:
            raise PageError(
                f"line {block.line}: a block of {block.language!r} is neither run ({RUN}) nor "
                f"shown ({SHOWN})"
            )
    many = sum(part.startswith("_voile(") for part in parts) >= _FEW
    server = str(Path(__file__).with_name("command_server.py")) if many else ""
    return "\n".join([_PRELUDE, f"_SERVER = {server!r}", *parts])


def has_snippets(page: str) -> bool:
    """Whether anything of a page is to be run."""
    return any(f"```{language}" in page for language in RUN)


def _calls(block: Block) -> list[str]:
    calls = []
    for command in read_commands(block.text):
        if command.words[0] == "voile":
            calls.append(f"_voile({list(command.words[1:])!r}, {command.exit_code})")
        else:
            try:
                check_command(command.words)
            except PageError as error:
                raise PageError(f"line {block.line}: {error}") from None
    return calls


def _refuse_checked(block: Block) -> None:
    for line in block.text.splitlines():
        if re.match(r"\s*(make|pip|git|python (benchmarks|examples)/)", line):
            raise PageError(f"line {block.line}: {line.strip()!r} belongs in a console block")


def _yaml(block: Block) -> str:
    """A schema must load; a block that begins with "# name.yaml" becomes that file."""
    name = re.match(r"# ([\w.-]+\.ya?ml)\n", block.text)
    schema = "voile_schema" in block.text
    if not name and not schema:
        raise PageError(
            f"line {block.line}: a block of yaml must be a schema, or begin with '# name.yaml'"
        )
    kept = f"__import__('pathlib').Path({name[1]!r}).write_text({block.text!r})" if name else ""
    read = f"__import__('voile').Schema.from_yaml({block.text!r})" if schema else ""
    return f"{kept}\n{read}"


# -- commands that are checked, and not run --------------------------------------------------------


def find_commands(page: str) -> list[str]:
    """Commands in running text and tables, such as `make demo`."""
    return _COMMAND.findall(_FENCE.sub("", page))


def check_command(words: tuple[str, ...]) -> None:
    """Refuse a command that names a target, script, option or extra that is not there."""
    match words:
        case ("voile", *rest):
            _check_voile(rest)
        case ("make", *rest):
            _check_make(rest)
        case ("python", script, *rest) if re.match(r"(benchmarks|examples)/", script):
            _check_script(script, rest)
        case ("pip", "install", *rest):
            _check_install(rest)
        case ("flower-superlink" | "flower-supernode" as script, *rest):
            _check_flower(script, rest)
        case ("git", "clone", *_):
            pass
        case _:
            raise PageError(f"{shlex.join(words)!r} can be neither run nor checked")


def _check_make(words: list[str]) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    variables = set(re.findall(r"^([A-Z]+) *\?=", text, re.MULTILINE))
    for word in words:
        name, given, value = word.partition("=")
        if not given:
            if name not in targets:
                raise PageError(f"make has no target {name!r}")
        elif name not in variables:
            raise PageError(f"make has no variable {name!r}")
        elif name == "BENCH" and not (ROOT / "benchmarks" / f"{value}.py").is_file():
            raise PageError(f"there is no benchmark {value!r}")
        elif name == "TESTS" and not (ROOT / value).exists():
            raise PageError(f"there are no tests {value!r}")


def _check_script(script: str, words: list[str]) -> None:
    path = ROOT / script
    if not path.is_file():
        raise PageError(f"there is no {script}")
    # Some options are those of every benchmark: --quick, --out.
    parts = [path, ROOT / "benchmarks/kit/script.py"]
    source = "".join(one.read_text(encoding="utf-8") for one in parts)
    for word in words:
        option = word.split("=")[0]
        # Some are made in a loop over names: add_argument(f"--{name}").
        looped = 'f"--{' in source and f'"{option.removeprefix("--")}"' in source
        if option.startswith("-") and f'"{option}"' not in source and not looped:
            raise PageError(f"{script} has no option {option}")


def _check_flower(script: str, words: list[str]) -> None:
    if not metadata.entry_points(group="console_scripts", name=script):
        raise PageError(f"Flower has no {script}")
    folder = Path(str(metadata.distribution("flwr").locate_file("flwr")))
    source = "".join(one.read_text(encoding="utf-8") for one in folder.rglob("*.py"))
    for word in words:
        if word.startswith("--") and f'"{word}"' not in source:
            raise PageError(f"{script} has no option {word}")


def _check_install(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(one for some in extras.values() for one in some)]
    packages = {re.split(r"[\[<>=!~;]", one)[0] for one in named}
    for word in words:
        if word in ("-e", "-c", "constraints.txt"):
            continue
        found = re.fullmatch(r"(voile|\.)(?:\[([\w,]+)\])?", word)
        if found:
            for extra in (found[2] or "").split(","):
                if extra and extra not in extras:
                    raise PageError(f"there is no extra {extra!r}")
        elif word not in packages:
            raise PageError(f"{word!r} is no package that voile can use")


def _check_voile(words: list[str]) -> None:
    import click
    import typer

    from voile.cli.app import app

    command = typer.main.get_command(app)
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            raise PageError(f"voile has no verb {rest[0]!r}")
        command = command.commands[rest.pop(0)]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    for word in rest:
        if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known:
            raise PageError(f"voile {command.name} has no option {word}")


_FEW = 3
"""Commands of a page for which it does not pay to load everything once."""

_PRELUDE = """
def _run(words, code, **more):
    import subprocess
    done = subprocess.run(words, stdin=subprocess.DEVNULL, check=False, **more)
    if done.returncode != code:
        raise SystemExit(f"{words} exited with {done.returncode}, and was to exit with {code}")

_servers = []

def _voile(words, code):
    import json, subprocess, sys
    sys.stdout.flush()
    if not _SERVER or words[0] == "audit":  # an audit starts processes, which a forked one cannot
        return _run([sys.executable, "-W", "error", "-m", "voile", *words], code)
    if not _servers:
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        _servers.append(subprocess.Popen([sys.executable, "-W", "error", _SERVER], **pipe))
    server = _servers[0]
    server.stdin.write(json.dumps(words) + "\\n")
    server.stdin.flush()
    found = server.stdout.readline().strip()
    if found != str(code):
        raise SystemExit(f"voile {words} exited with {found!r}, and was to exit with {code}")

def _script(shell, text):
    import os, pathlib, sys
    sys.stdout.flush()
    folder = pathlib.Path(".bin").resolve()
    folder.mkdir(exist_ok=True)
    for name, what in (("voile", "-m voile"), ("python", "")):
        shim = folder / name
        shim.write_text(f'#!/bin/sh\\nexec "{sys.executable}" -W error {what} "$@"\\n')
        shim.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    _run([shell, "-eu", "-c", text], 0, env={**os.environ, "PATH": path})
"""
