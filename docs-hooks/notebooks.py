"""A hook of mkdocs: notebooks become pages, with the outputs that are stored in them.

Plain Markdown is written, without Jupyter's own pages: those fetch scripts from other hosts. Links
to a notebook lead to its page, and the page offers the notebook itself.
"""

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

_LINK = re.compile(r"(\]\([^)\s]+)\.ipynb(#[^)]*)?\)")


def on_files(files: "Files", config: Any) -> "Files":
    """Add a page for every notebook; the file itself stays, to be downloaded."""
    from mkdocs.structure.files import File

    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            name = PurePosixPath(file.src_uri)
            text = as_markdown(json.loads(file.content_string), name.name)
            files.append(File.generated(config, str(name.with_suffix(".md")), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to notebooks to their pages."""
    if page.file.generated_by is not None:
        return markdown
    return _LINK.sub(r"\1.md\2)", markdown)


def as_markdown(notebook: dict[str, Any], name: str) -> str:
    """A notebook as a page."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(_fenced("python", source))
            parts += [_output(one) for one in cell["outputs"]]
    title, _, rest = parts[0].partition("\n")
    parts[0] = f"{title}\n\n*[This page as a notebook]({name}){{ download }}*\n{rest}"
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _fenced("text", "".join(output["text"]))
    if output["output_type"] == "error":
        raise ValueError(f"A notebook holds an error: {output['ename']}.")
    data = output["data"]
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return f"![output](data:image/png;base64,{picture})"
    drawn = "".join(data.get("text/html", ""))
    if drawn and "<script" not in drawn:
        return "\n".join(line for line in drawn.splitlines() if line.strip())
    return _fenced("text", "".join(data["text/plain"]))


def _fenced(language: str, text: str) -> str:
    longest = max([2, *(len(run) for run in re.findall(r"`+", text))])
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
