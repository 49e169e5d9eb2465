"""The picture of a report in the README: the main parts of what `voile demo` writes.

python benchmarks/command/report_picture.py [demo-output/report.html]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "report.png"
SHOWN = ("quality", "terms", "cost")
"""Sections of the report, of which the beginning is shown."""

TRIM = """(shown) => {
  document.querySelector('header.scheme')?.remove();
  document.querySelector('nav')?.remove();
  for (const section of document.querySelectorAll('main > section')) {
    if (!shown.includes(section.id)) { section.remove(); continue; }
    let figures = 0;
    for (const part of [...section.children]) {
      if (figures >= (section.id === 'cost' ? 2 : 1)) part.remove();
      if (part.matches('figure') || part.querySelector?.('figure')) figures += 1;
    }
  }
}"""


def main() -> None:
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/report.html").resolve()
    with sync_playwright() as play:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=options)
        view = browser.new_page(viewport={"width": 920, "height": 900}, color_scheme="light")
        view.goto(page.as_uri())
        view.wait_for_timeout(1500)
        view.evaluate(TRIM, list(SHOWN))
        view.wait_for_timeout(500)
        view.screenshot(path=PICTURE, full_page=True)
        browser.close()
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
