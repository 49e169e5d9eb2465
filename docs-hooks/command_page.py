"""Writes docs/reference/command.md from the voile command itself.

    python docs-hooks/command_page.py

A test compares the page with the command, so that it cannot go stale.
"""

import inspect
import re
from pathlib import Path

import click
import typer

from voile.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command.md"

HEAD = """# The command

<!-- Made by: python docs-hooks/command_page.py. Change the command, not this page. -->

`--help` after a verb shows the same in the terminal. See also [exit codes](exit-codes.md) and
[the command in scripts](../how-to/use-the-command.md).
"""


def make_page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    assert isinstance(root, click.Group)
    parts = [HEAD, _overview(root), "## Without a verb\n", _options(root)]
    for path, command in _leaves(root, ("voile",)):
        parts += [f"## {' '.join(path)}\n", _describe(path, command)]
    return "\n".join(parts).rstrip() + "\n"


def _leaves(
    group: click.Group, path: tuple[str, ...]
) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += _leaves(command, (*path, name))
        else:
            found.append(((*path, name), command))
    return found


def _overview(root: click.Group) -> str:
    lines = ["| verb | what it does |", "|---|---|"]
    for path, command in _leaves(root, ("voile",)):
        name = " ".join(path)
        lines.append(f"| [`{name}`](#{'-'.join(path)}) | {_cell(_texts(command)[0])} |")
    return "\n".join(lines) + "\n"


def _describe(path: tuple[str, ...], command: click.Command) -> str:
    told, examples = _split(_texts(command))
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    usage = " ".join([*path, "[OPTIONS]", *(_metavar(one) for one in arguments)]).rstrip()
    parts = ["\n\n".join(told), "", f"```text\n{usage}\n```", ""]
    parts += [_arguments(arguments)] if arguments else []
    parts += [_options(command)]
    if examples:
        parts += [
            "Example:\n" if len(examples) == 1 else "Examples:\n",
            "```text",
            *examples,
            "```",
            "",
        ]
    return "\n".join(parts)


def _texts(command: click.Command) -> list[str]:
    """Paragraphs of a help text, each in one line."""
    text = inspect.cleandoc(command.help or "").partition("\f")[0]
    return [" ".join(one.split()) for one in re.split(r"\n\s*\n", text) if one.strip()]


def _split(texts: list[str]) -> tuple[list[str], list[str]]:
    """What a help text tells, and the examples it ends with."""
    for place, text in enumerate(texts):
        found = re.match(r"Examples?: ", text)
        if found:
            return texts[:place], [text[found.end() :], *texts[place + 1 :]]
    return texts, []


def _arguments(arguments: list[click.Argument]) -> str:
    # One argument may show the names of all: "[MODEL] [ROWS]", and nothing for the second.
    shown = " ".join(_metavar(one) for one in arguments)
    names = re.findall(r"\[[^\]]*\]|\S+", shown)
    assert len(names) == len(arguments), shown
    lines = ["| argument | |", "|---|---|"]
    for name, one in zip(names, arguments, strict=True):
        told = _cell(getattr(one, "help", "") or "")
        lines.append(f"| `{name.replace(' | ', ' or ')}` | {told} |")
    return "\n".join(lines) + "\n"


def _metavar(argument: click.Argument) -> str:
    if argument.metavar is not None:
        return argument.metavar
    name = (argument.name or "").upper()
    return name if argument.required else f"[{name}]"


def _options(command: click.Command) -> str:
    lines = ["| option | | default |", "|---|---|---|"]
    for one in command.params:
        if not isinstance(one, click.Option) or one.hidden:
            continue
        names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
        lines.append(f"| {names} | {_cell(one.help or '')}{_choices(one)} | {_default(one)} |")
    return "\n".join(lines) + "\n"


def _choices(option: click.Option) -> str:
    values = getattr(option.type, "choices", None)
    if not values:
        return ""
    return " One of " + ", ".join(f"`{getattr(one, 'value', one)}`" for one in values) + "."


def _default(option: click.Option) -> str:
    if option.required:
        return "**required**"
    value = option.default
    if value is None or callable(value) or value in ((), [], "") or repr(value) == "Sentinel.UNSET":
        return ""
    if isinstance(value, bool):
        if not option.secondary_opts:
            return ""
        return f"`{option.opts[0] if value else option.secondary_opts[0]}`"
    return f"`{getattr(value, 'value', value)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
    print(PAGE)
