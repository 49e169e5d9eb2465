"""Pages of the reference say what the program says: verbs, options, exit codes, names."""

import importlib.util
import re

import pytest
from documented_pages import ROOT

import voile
from voile.cli import exit_codes

REFERENCE = ROOT / "docs" / "reference"


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs-hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_command_is_that_of_this_command():
    page = (REFERENCE / "command.md").read_text(encoding="utf-8")
    made = load("command_page").make_page()
    assert page == made, "Run: python docs-hooks/command_page.py"


def test_the_page_of_the_command_has_every_verb_and_option():
    """Against the parser itself, so that a fault of the page's maker is found, too."""
    import click
    import typer

    from voile.cli.app import app

    page = (REFERENCE / "command.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (voile [a-z -]+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    found = {}

    def walk(command, path):
        if isinstance(command, click.Group):
            for name, one in command.commands.items():
                walk(one, f"{path} {name}")
        else:
            found[path] = command

    walk(typer.main.get_command(app), "voile")
    assert set(sections) == set(found)
    for path, command in found.items():
        options = [one for one in command.params if isinstance(one, click.Option)]
        for name in (name for one in options for name in (*one.opts, *one.secondary_opts)):
            assert f"`{name}`" in sections[path], (path, name)


def test_the_page_of_exit_codes_is_true():
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|", page, re.MULTILINE))
    meant = dict(re.findall(r"^    (\d+) +(.+)$", exit_codes.__doc__, re.MULTILINE))
    assert told == meant
    codes = {
        value for name, value in vars(exit_codes).items() if name.isupper() and type(value) is int
    }
    assert {int(code) for code in told} == {0, *codes}


def names_of_the_reference():
    """Pages on names for Python, as one text."""
    return "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))


@pytest.mark.parametrize("name", sorted(set(voile.__all__) - {"VoileError", "__version__"}))
def test_every_public_name_is_in_the_reference(name):
    page = names_of_the_reference()
    assert re.search(rf"^::: voile\.[\w.]*\b{name}$", page, re.MULTILINE)


@pytest.mark.parametrize("name", voile.datasets.__all__)
def test_every_name_of_the_data_sets_is_in_the_reference(name):
    page = names_of_the_reference()
    assert re.search(rf"^::: voile\.datasets\.[\w.]*\b{name}$", page, re.MULTILINE)
