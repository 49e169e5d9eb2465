"""Results as text that can be stored, and how two of them are compared.

What differs between two runs (times, ids, people, paths, versions) is replaced by its kind. Words
and whole numbers are compared as they are, other numbers up to a relative tolerance.
"""

import base64
import binascii
import hashlib
import html
import json
import math
import re
import struct
from html.parser import HTMLParser

import numpy as np
from drawn_figures import decode_png, figures_of, without_figures

MOST_NUMBERS, MOST_SHOWN, WIDEST = 240, 14, 150

_VARYING = [
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"\bentry [0-9a-f]{12}\b"), "entry <id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?"), "<time>"),
    (re.compile(r'"who": "[^"]*"'), '"who": "<who>"'),
    (re.compile(r'[^\s"]+@[^\s"]+(?= ?[(,]login name)'), "<who>"),
    (re.compile(r'"voile": "[^"]*"'), '"voile": "<version>"'),
    (re.compile(r"\bvoile \d+\.\d+[\w.]*"), "voile <version>"),
    (re.compile(r"(?<=wrote it \(')[^']*(?='\))"), "<version>"),
]
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)(?!\w)")
_WEIGHTS = re.compile(r'"weights": "([A-Za-z0-9+/=]+)"')


def settle(text, *folders):
    """The text without what another run would tell otherwise."""
    for folder in folders:
        text = text.replace(str(folder), "<folder>")
    for pattern, kind in _VARYING:
        text = pattern.sub(kind, text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


def as_json(data):
    """Plain data as JSON, a line for each entry of the outermost lists and objects."""
    return json.dumps(data, indent=1, default=_plain)


def _plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


# -- comparing -------------------------------------------------------------------------------------


def differences(stored, made, tolerance):
    """Say what differs, in a few lines; nothing if all is the same."""
    old, new = _lines(stored), _lines(made)
    if len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True), 1)
        found = [(i, a, b) for i, (a, b) in pairs if not _same(a, b, tolerance)]
    else:
        first = next(
            (
                i
                for i, (a, b) in enumerate(zip(old, new, strict=False))
                if not _same(a, b, tolerance)
            ),
            min(len(old), len(new)),
        )
        found = [(first + 1, *("\n".join(x[first : first + 4]) for x in (old, new)))]
    if not found:
        return ""
    shown = [f"  line {i}:\n  - {_cut(a, b)}\n  + {_cut(b, a)}" for i, a, b in found[:MOST_SHOWN]]
    counts = f"{len(old)} lines stored, {len(new)} made, {len(found)} differ"
    return "\n".join([counts, *shown])


def _lines(text):
    text = _WEIGHTS.sub(_open_weights, settle(text))
    return text.splitlines()


def _open_weights(found):
    """Weights of networks as numbers, which can be compared."""
    try:
        values = np.frombuffer(base64.b64decode(found[1], validate=True), dtype="<f8")
    except (ValueError, binascii.Error):
        return found[0]
    return '"weights": ' + "\n".join(f"{one:.9e}" for one in values.tolist())


def _same(stored, made, tolerance):
    if stored == made:
        return True
    if _NUMBER.sub("#", stored) != _NUMBER.sub("#", made):
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(made), strict=True)
    # Sums that cancel leave rest of rounding: it is compared with what was added, about 1.
    return all(
        math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=tolerance / 1000)
        for a, b in pairs
    )


def _cut(line, other):
    """The part of a line where it differs from another."""
    at = next((i for i, (a, b) in enumerate(zip(line, other, strict=False)) if a != b), 0)
    start = max(0, at - WIDEST // 2) if len(line) > WIDEST else 0
    return ("..." if start else "") + line[start : start + WIDEST]


# -- pages -----------------------------------------------------------------------------------------

_SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.S)
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.S)
_PLACE = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|var\([^)]*\)")
_LAYOUT_LEFT = ("template", "font", "margin", "legend", "height", "hoverlabel")
_SPOKEN = ("alt", "title", "aria-label", "placeholder")
_PLACES = ("d", "points", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height")
_BLOCKS = {"p", "div", "li", "tr", "h1", "h2", "h3", "h4", "section", "table", "ul", "ol", "dl"}
_BLOCKS |= {"dt", "dd", "figure", "figcaption", "summary", "details", "option", "main", "header"}
_BLOCKS |= {"caption", "br", "nav", "button", "label", "pre", "footer", "article", "body", "svg"}


def read_page(page):
    """The visible text of a page, and what its figures show, each as readable text."""
    found = {
        page.index(f'<div class="drawn" id="{name}">'): (
            f"figure {name}",
            *_gather([traces, _shown(layout)]),
        )
        for name, (traces, layout) in figures_of(page).items()
    }
    for match in _SCRIPT.finditer(page):
        # Those without a name are hints of figures.
        if "application/json" in match[1] and "id=" in match[1]:
            told = _gather(json.loads(match[2]))
            found[match.start()] = ("data " + match[1].strip(), *told)
    figures = [found[place] for place in sorted(found)]
    page = without_figures(page)
    reader = _Reader()
    reader.feed(_STYLE.sub("", _SCRIPT.sub("", page)))
    reader.close()
    if reader.places:
        figures.append(("drawn elements", reader.places, []))
    for number, picture in enumerate(reader.pictures):
        figures.append((f"picture {number}: {picture}", [], []))
    return reader.text(), "\n".join(_tell(*one) for one in figures)


def _shown(layout):
    return {key: value for key, value in layout.items() if key not in _LAYOUT_LEFT}


def _gather(data):
    """All numbers and texts in plain data."""
    numbers, words, left = [], [], [data]
    while left:
        one = left.pop()
        if isinstance(one, dict) and set(one) >= {"bdata", "dtype"}:
            raw = base64.b64decode(one["bdata"])
            numbers += np.frombuffer(raw, dtype=np.dtype(one["dtype"])).astype(float).tolist()
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str):
            words.append(one)
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            numbers.append(float(one))
    return numbers, words


def _tell(title, numbers, words):
    lines = [f"## {title}"]
    lines += [f"  {one}" for one in sorted({" ".join(word.split()) for word in words} - {""})]
    if numbers:
        values = np.sort(np.array(numbers))
        lines.append(f"  {len(values)} numbers")
        if len(values) > MOST_NUMBERS:
            lines.append(f"  sum {values.sum():.9e}, of squares {(values**2).sum():.9e}")
            values = values[np.linspace(0, len(values) - 1, MOST_NUMBERS).astype(int)]
        told = [f"{one:#.9g}" for one in values.tolist()]
        lines += ["  " + " ".join(told[i : i + 8]) for i in range(0, len(told), 8)]
    return "\n".join(lines) + "\n"


class _Reader(HTMLParser):
    """Visible text, numbers that place elements, and pictures of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.places, self.pictures, self._parts = [], [], []
        self._as_it_is = 0

    def handle_starttag(self, tag, attrs):
        self._as_it_is += tag == "pre"
        if tag in _BLOCKS:
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        given = {name: value or "" for name, value in attrs}
        for name in _SPOKEN:
            if name in given and tag != "meta":
                self._parts.append(f" [{name}: {given[name]}] ")
        places = [given[name] for name in _PLACES if name in given] + [given.get("style", "")]
        for one in places:
            if not one.startswith("data:"):
                self.places += [float(x) for x in _PLACE.findall(_COLOUR.sub("", one))]
        if given.get("src", "").startswith("data:image/png"):
            self.pictures.append(_read_picture(given["src"]))
        if "srcdoc" in given:
            text, figures = read_page(html.unescape(given["srcdoc"]))
            self._parts.append(f"\n[frame]\n{text}\n{figures}\n[end of frame]\n")

    def handle_endtag(self, tag):
        self._as_it_is -= tag == "pre"
        if tag in _BLOCKS:
            self._parts.append("\n")

    def handle_data(self, data):
        self._parts.append(data if self._as_it_is else re.sub(r"\s+", " ", data))

    def text(self):
        lines = (" ".join(line.split()) for line in "".join(self._parts).splitlines())
        return "\n".join(line for line in lines if line)


def _read_picture(address):
    """Size and a digest of the pixels of a PNG, however it was compressed."""
    pixels = decode_png(base64.b64decode(address.split(",", 1)[1]))
    height, width, _ = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    digest = hashlib.sha256(head + lines.tobytes()).hexdigest()[:16]
    return f"{width} x {height} pixels, {digest}"
