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
        usual = {"viewport": {"width": 1100, "height": 800}, "color_scheme": "light"}
        self.page = browser.new_page(**{**usual, **settings})
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
        """Wait until the page is laid out and painted anew."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def check_alone(self):
        assert self.said == []
        assert {re.sub("^data:.*", "data", one) for one in self.asked} <= {self.home, "data"}
