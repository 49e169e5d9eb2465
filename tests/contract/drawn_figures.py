"""The plotly figures behind the figures of pages, and the pixels of their pictures.

Whatever the kit draws is remembered here.
"""

import json
import re
import struct
import zlib
from collections import deque

import numpy as np

from voile.report.kit import html

_DRAWN = deque(maxlen=4000)
_FIGURE = re.compile(r'(<figure[^>]*>)<div class="drawn".*?</figure>', re.DOTALL)
_draw = html.draw_fluid


def _remember(figure, name, rows=()):
    drawn = _draw(figure, name, rows)
    _DRAWN.append((name, str(drawn), figure))
    return drawn


html.draw_fluid = _remember


def figures_of(page):
    """The figures of a page, in its order: name -> traces and layout."""
    found = {}
    for name, drawn, figure in reversed(_DRAWN):
        at = page.find(drawn)
        if at >= 0 and name not in found:
            found[name] = (at, figure)
    made = {}
    for name, (_, figure) in sorted(found.items(), key=lambda item: item[1][0]):
        data = json.loads(figure.to_json())
        made[name] = (data["data"], data["layout"])
    return made


def without_figures(page):
    """The same page with empty figures."""
    return _FIGURE.sub(r"\1</figure>", page)


def decode_png(data):
    """Pixels of a PNG as this library writes them: grey, a palette or colours; simple filters."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, chunks = 8, {}
    while place < len(data):
        size = struct.unpack(">I", data[place : place + 4])[0]
        body = data[place + 4 : place + 8 + size]
        assert struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0] == zlib.crc32(
            body
        )
        chunks[body[:4]] = body[4:]
        place += 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8
    parts = {0: 1, 2: 3, 3: 1}[kind]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    (number,) = set(lines[:, 0].tolist())
    values = lines[:, 1:].reshape(height, width, parts)
    if number:
        values = np.cumsum(values, axis=2 - number, dtype=np.uint8)
    if kind == 3:
        return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[values[..., 0]]
    return np.repeat(values, 3 // parts, axis=2)
