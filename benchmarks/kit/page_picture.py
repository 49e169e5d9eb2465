"""A page as a picture, by chromium where there is one. Not a script."""

import shutil
import subprocess
import tempfile
from pathlib import Path


def shoot(page: str, path: Path, size: str) -> None:
    """Draw HTML into a PNG file; ``size`` is "width,height" in pixels."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no chromium: no picture")
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        options += ["--disable-background-networking", f"--user-data-dir={folder}/profile"]
        options += ["--hide-scrollbars", f"--window-size={size}", "--virtual-time-budget=2000"]
        subprocess.run(
            [browser, *options, f"--screenshot={path}", source.as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )
    print(f"picture: {path}")
