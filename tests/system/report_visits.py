"""Pages in a real browser, with all that they say and ask for."""

import re
from pathlib import Path

REVIEW = (Path(__file__).parent / "report_browser.js").read_text(encoding="utf-8")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Visit:
    """A page in the browser, and all that it said and asked for."""

    def __init__(self, browser, text, folder, **settings):
        self.said, self.asked = [], []
        path = folder / "page.html"
        path.write_text(text, encoding="utf-8")
        size = {"width": 1100, "height": 800}
        self.page = browser.new_page(viewport=size, **{"color_scheme": "light", **settings})
        self.page.on("console", lambda one: self.said.append(one.text))
        self.page.on("pageerror", lambda one: self.said.append(str(one)))
        self.page.on("dialog", lambda one: (self.said.append("dialog"), one.dismiss()))
        self.page.on("request", lambda one: self.asked.append(one.url))
        self.page.goto(path.as_uri())
        self.page.evaluate(REVIEW)
        self.home = path.as_uri()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.page.close()

    def review(self, what):
        return self.page.evaluate(f"review.{what}()")

    def settle(self):
        """Wait until figures are as wide as their places, and drawn."""
        self.page.wait_for_function(
            """() => [...document.querySelectorAll("figure .js-plotly-plot")].every((one) =>
              !one.checkVisibility({ contentVisibilityAuto: true })
              || Math.abs(one._fullLayout.width - one.clientWidth) < 2)"""
        )
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))"
        )

    def check_alone(self):
        assert self.said == []
        # Plotly draws the cells of a map into pictures that never leave the browser.
        assert {re.sub("^(data|blob):.*", r"\1", one) for one in self.asked} <= {
            self.home,
            "data",
            "blob",
        }


def without_figures(page):
    """The same page, quicker to open: for tests of what is no figure."""
    return re.sub("<figure.*?</figure>", "", page, flags=re.DOTALL)
