"""Templates: what is given is escaped, wherever it stands, and nothing missing goes unnoticed."""

import json

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from voile.report.kit.html import ENVIRONMENT, REPORT, Templates, parts, write_data

EVIL = "</script><script>alert(1)</script>\"'&"


def drawn(name):
    match name:
        case "table":
            return parts.table([EVIL, "b"], [[EVIL, EVIL]], 1)
        case "fold":
            return parts.fold(EVIL, EVIL)
        case "list":
            return parts.list([EVIL], EVIL)
        case "key":
            return parts.key([(EVIL, EVIL)])
        case "text":
            return parts.text(EVIL, EVIL)
        case "card":
            return parts.card(EVIL, [], [EVIL])
        case _:
            return getattr(parts, name)([EVIL])


@pytest.mark.parametrize(
    "name", ["table", "fold", "list", "key", "text", "card", "notes", "paragraphs", "cards"]
)
def test_names_are_escaped_in_every_part(name):
    text = drawn(name)
    assert isinstance(text, Markup)
    assert "<script>" not in text
    assert '"\'&"' not in text
    assert "&lt;script&gt;" in text


def test_data_in_a_script_cannot_end_it():
    text = write_data({EVIL: [EVIL, 1.5, None]})
    assert "<" not in text
    assert json.loads(text) == {EVIL: [EVIL, 1.5, None]}
    with pytest.raises(ValueError, match="JSON"):
        write_data(float("nan"))


def test_html_is_placed_as_it_is():
    assert "<b>x</b>" in parts.fold("title", Markup("<b>x</b>"))
    assert "<b>x</b>" not in parts.fold("title", "<b>x</b>")


def test_what_is_not_given_is_an_error():
    with pytest.raises(UndefinedError):
        Templates("kit/frame.html").nothing()
    with pytest.raises(UndefinedError):
        ENVIRONMENT.get_template("kit/frame.html").render()


def test_every_template_compiles_and_none_switches_escaping_off():
    names = [one.relative_to(REPORT).as_posix() for one in sorted(REPORT.rglob("*.html"))]
    assert len(names) > 20
    for name in names:
        ENVIRONMENT.get_template(name)
        text = (REPORT / name).read_text(encoding="utf-8")
        assert "|safe" not in text.replace(" ", "")
        assert "autoescape" not in text
