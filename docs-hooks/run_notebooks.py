"""Runs the notebooks of docs/notebooks again, in place: outputs and pictures are of one run.

    python docs-hooks/run_notebooks.py            all of them
    python docs-hooks/run_notebooks.py table      one

Needs the extra `docs`; pictures need chromium, and are left as they are without it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = {
    "table": {"table": ("model.html", 1000, 1130)},
    "images": {"images": ("prototypes.html", 1000, 1240), "maps": ("maps.html", 1000, 900)},
    "black-box": {"black-box": ("why.html", 1000, 1060)},
}
"""Of each notebook its pictures: the page it wrote, and how much of it, in pixels."""


def run(name: str) -> None:
    """Execute one notebook in an empty folder, and store its outputs and its picture."""
    path = DOCS / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": folder}}, record_timing=False
        )
        client.execute()
        for picture, (page, width, height) in PICTURES[name].items():
            place = DOCS / "pictures" / f"notebook-{picture}.png"
            take_picture(Path(folder) / page, place, width, height)
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)
    print(f"{path.relative_to(DOCS.parent)}: {path.stat().st_size / 1000:.0f} kB")


def take_picture(page: Path, path: Path, width: int, height: int) -> None:
    """Draw a page into a PNG file, three pixels for two."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no chromium: the picture stays as it is")
        return
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    options += ["--disable-background-networking", f"--user-data-dir={page.parent}/profile"]
    options += [
        "--hide-scrollbars",
        "--force-device-scale-factor=1.5",
        "--virtual-time-budget=3000",
    ]
    options += [f"--window-size={width},{height}", f"--screenshot={path}"]
    subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        run(chosen)
