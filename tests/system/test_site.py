"""The built documentation: no broken reference, and nothing fetched from another host."""

import os
import re
import subprocess
import sys

import mkdocs  # noqa: F401
import mkdocstrings  # noqa: F401
import pytest
from documented_pages import ROOT
from report_visits import QUIET

from needs import find_chromium, needs

pytestmark = pytest.mark.slow

_FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|prev|next))[^>]*\bhref=[\"']?(?:https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_pages_fetch_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not _FETCHED.search(page.read_text(encoding="utf-8")), page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(
            r"(?:url\([\"']?|@import\s+[\"']?)(?:https?:)?//", sheet.read_text("utf-8")
        )


@needs("Chromium", "playwright")
def test_pages_opened_from_disk_can_be_searched(site):
    from playwright import sync_api as driver

    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_chromium(), args=QUIET)
        page, asked, wrong = browser.new_page(), [], []
        page.on("request", lambda one: asked.append(one.url))
        page.on("pageerror", lambda one: wrong.append(str(one)))
        page.goto((site / "how-to" / "index.html").as_uri())
        # The words of a title: the list shows only its first results.
        page.fill(".md-search__input", "protect people with several rows")
        page.wait_for_selector(".md-search-result__link", timeout=600_000)
        found = page.eval_on_selector_all(
            ".md-search-result__link", "links => links.map((one) => one.href)"
        )
        browser.close()
    assert any("protect-people-with-several-rows.html" in link for link in found)
    assert wrong == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in asked)


def test_notebooks_are_pages_and_files(site):
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert f'href="{path.name}"' in page
        assert (site / "notebooks" / path.name).is_file()
        assert f'href="{path.stem}.html"' in (site / "notebooks" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://x.y/z.js">',
        '<link rel="stylesheet" href="//x.y/z.css">',
        "<img alt=x src=http://x.y/z.png>",
    ],
)
def test_what_is_fetched_is_found(text):
    assert _FETCHED.search(text)
