"""Words that readers stumbled over stay out of what people see: texts, errors, pages, help.

Each has the field's word, or a plain one, in its place (docs/reference/glossary.md). Names in code,
comments and docstrings are not looked at here.
"""

import ast
import re
from pathlib import Path

import pytest
from source_tree import SOURCE

BANNED = {
    r"desks?": "client agent",
    r"purses?": "allowance",
    r"admit(s|ted)?": "pay, reserve",
    r"(first|one|that|a) looks?|looks? at the rows?|looks? at no rows?|looked at": "access, read",
    r"chances? (that|of which|alone|to fail)|with that chance|mostly chance|and chance": (
        "probability, sampling error, seed"
    ),
    r"promis(e|es|ed)": "guarantee",
    r"tilt(s|ed|ing)?": "reweighting",
    r"workshops?": "per-example engine",
    r"witness(es)?|watched": "insider, observed",
    r"manners": "interface",
    r"in vain": "nothing found",
    r"influences?": "contribution, slope",
    r"rests? on": "effective sample share, is estimated from",
    r"used of plan": "queries used / planned",
    r"are its probabilities true": "calibration",
    r"among these rows together": "95 % interval: privacy noise plus sampling error",
    r"houses": "sites",
    r"(class|network|filter|distance|it) looks? (for|at)": "pattern, weight",
    r"riddles?": "say it plainly",
}
WORDS = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)

STORED = {("voile/privacy/ledger/entry.py", "admit")}
"""Words of file formats, which no page shows."""


def visible_texts(path):
    """Texts of a module that may be shown: literals with a space, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    # Help of a verb is its docstring.
    if path.parent.name == "cli":
        silent = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
            yield node.lineno, "".join(pieces)
        elif isinstance(getattr(node, "value", None), str) and id(node) not in silent:
            yield node.lineno, node.value


def find_words(folder):
    """Banned words in texts of modules and in page templates."""
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        for line, text in visible_texts(path):
            wrong += [
                f"{name}:{line}: {found[0]!r}"
                for found in WORDS.finditer(text)
                if (name, found[0]) not in STORED
            ]
    for path in sorted((*folder.rglob("*.html"), *folder.rglob("*.js"))):
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", path.read_text(encoding="utf-8"))
        wrong += [f"{path.relative_to(folder)}: {found[0]!r}" for found in WORDS.finditer(text)]
    return wrong


def test_what_people_see_has_plain_words():
    assert find_words(SOURCE) == []


@pytest.mark.parametrize(
    "text",
    [
        'print("The desk admits it.")',
        'raise ValueError(f"{1} looks at the rows")',
        'help = "Chance that the guarantee fails."',
    ],
)
def test_a_banned_word_is_found(tmp_path, text):
    (tmp_path / "m.py").write_text(text + "\n")
    assert find_words(tmp_path)


def test_comments_and_docstrings_are_not_looked_at(tmp_path):
    (tmp_path / "m.py").write_text('"""A desk."""\n# in vain\nx = 1\n')
    assert find_words(tmp_path) == []


def test_pages_are_searched(tmp_path):
    page = Path(tmp_path / "p.html")
    page.write_text("<p>It rests on 3 rows. {# houses #}")
    assert find_words(tmp_path) == ["p.html: 'rests on'"]
