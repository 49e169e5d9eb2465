"""Every link inside the documentation leads to a file, and to a heading, that is there."""

import re
from pathlib import Path

import pytest
from documented_pages import PAGES, ROOT

PAGES_WITH_LINKS = [*PAGES, ROOT / "examples" / "federated" / "README.md"]

_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_BLOCK = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(rf"{_BLOCK.pattern}|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def links_of(text):
    """Targets of all links and pictures that are not code."""
    return _LINK.findall(_CODE.sub("code", text))


def headings_of(text):
    """Anchors of a page, as mkdocs and code hosts make them of its headings."""
    anchors, seen = set(), {}
    for heading in re.findall(r"^#+ +(.+?) *#*$", _BLOCK.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain.lower()).strip())
        times = seen.get(anchor, 0)
        seen[anchor] = times + 1
        anchors |= {anchor} if not times else {f"{anchor}_{times}", f"{anchor}-{times}"}
    return anchors | set(re.findall(r"\{ *#([\w-]+) *\}", text))


def broken_links(page: Path, text: str) -> list[str]:
    broken = []
    for link in links_of(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.is_file() or not target.is_relative_to(ROOT):
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md":
            there = text if target == page else target.read_text(encoding="utf-8")
            if anchor not in headings_of(there):
                broken.append(f"{link}: no such heading")
    return broken


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES_WITH_LINKS, ids=named)
def test_links_lead_somewhere(page):
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES_WITH_LINKS, ids=named)
def test_pages_begin_with_one_title(page):
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("folder", ["tutorials", "how-to", "explanation", "proofs", "reference"])
def test_every_page_is_in_the_index_of_its_folder(folder):
    index = (ROOT / "docs" / folder / "index.md").read_text(encoding="utf-8")
    listed = set(links_of(index))
    pages = {page.name for page in (ROOT / "docs" / folder).glob("*.md")} - {"index.md"}
    assert pages <= listed


def test_every_notebook_is_in_the_index():
    folder = ROOT / "docs" / "notebooks"
    listed = set(links_of((folder / "index.md").read_text(encoding="utf-8")))
    assert {path.name for path in folder.glob("*.ipynb")} <= listed


@pytest.mark.parametrize(
    "text",
    [
        "[gone](gone.md)",
        "![gone](docs/pictures/gone.png)",
        "[gone](docs/index.md#no-such-heading)",
        "[gone](#no-such-heading)",
        "[outside](../../etc/passwd)",
    ],
)
def test_a_broken_link_is_found(text):
    assert len(broken_links(ROOT / "README.md", f"# Title\n\n{text}\n")) == 1


def test_what_is_no_link_is_left_alone():
    text = "# A title\n\n`[x](y)` [page](docs/index.md) [here](#a-title) [far](https://x.y/z)\n"
    assert broken_links(ROOT / "README.md", text) == []
    assert links_of("```python\nx[0](gone)\n```\n") == []
