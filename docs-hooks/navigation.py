"""A hook of mkdocs: sections in the order of a reader, and pages in the order of their index.

So a new page needs no entry in mkdocs.yml: its folder's index.md, which must list it, says where it
stands.
"""

import re
from typing import Any

from mkdocs.structure.nav import Navigation, Section

SECTIONS = {
    "tutorials": "Tutorials",
    "notebooks": "Notebooks",
    "how-to": "How-to guides",
    "explanation": "Explanations",
    "reference": "Reference",
    "proofs": "Proofs",
}


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Put sections and pages in order, and name the sections."""
    folders = {id(one): _folder(one) for one in nav.items}
    order = ["", *SECTIONS]
    nav.items.sort(key=lambda one: order.index(folders[id(one)]))
    for section in nav.items:
        if isinstance(section, Section):
            section.title = SECTIONS[folders[id(section)]]
            _sort_pages(section)
    return nav


def _folder(item: Any) -> str:
    """The folder that a section stands for; "" for the page on top."""
    if not isinstance(item, Section):
        return ""
    return item.children[0].file.src_uri.partition("/")[0]


def _sort_pages(section: Section) -> None:
    files = {page.file.src_uri.partition("/")[2]: page for page in section.children}
    text = files["index.md"].file.content_string
    listed = re.findall(r"\]\(([\w-]+)\.(?:md|ipynb)\)", text)
    names = ["index", *dict.fromkeys(listed)]
    section.children.sort(key=lambda page: names.index(page.file.name))
