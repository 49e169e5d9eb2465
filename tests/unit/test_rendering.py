"""Records find what draws them by their type, and only then is it loaded."""

import subprocess
import sys

import pytest

import voile
from voile import explaining, rendering
from voile.errors import SettingError


class Thing:
    pass


class SpecialThing(Thing):
    pass


@pytest.fixture
def tables(monkeypatch):
    for name in ("_PAGES", "_PRINTS", "_CARDS", "_REPORTS", "_FRAMES"):
        monkeypatch.setattr(rendering, name, {})
    monkeypatch.setattr(rendering, "_LOADERS", [])


def test_a_page_is_found_by_the_type_or_the_nearest_type_above(tables, tmp_path):
    rendering.draws(Thing)(lambda record: "a thing")
    assert rendering.write_page(SpecialThing(), tmp_path / "a.html").read_text() == "a thing"
    rendering.draws(SpecialThing)(lambda record: "special")
    assert rendering.write_page(SpecialThing(), tmp_path / "a.html").read_text() == "special"
    assert rendering.write_page(Thing(), tmp_path / "a.html").read_text() == "a thing"


def test_loaders_run_until_one_has_registered(tables, capsys):
    ran = []

    def first():
        ran.append("first")
        rendering.prints(Thing)(lambda console, record: console.print("a thing"))

    rendering.load_with(first, lambda: ran.append("second"))
    rendering.print_record(Thing())
    rendering.print_record(Thing())
    assert ran == ["first"]
    assert capsys.readouterr().out == "a thing\n" * 2


def test_what_nobody_draws_is_refused(tables, tmp_path):
    with pytest.raises(SettingError, match="No page can be drawn of a Thing"):
        rendering.write_page(Thing(), tmp_path / "a.html")
    with pytest.raises(SettingError, match="No card can be drawn of a Thing"):
        rendering.draw_card(Thing())
    with pytest.raises(SettingError, match="No report can be drawn of a Thing"):
        rendering.write_report(Thing(), tmp_path / "a.html")
    with pytest.raises(SettingError, match=r"cannot be shown in a terminal: print\(\) it"):
        rendering.print_record(Thing())
    rendering.draws(SpecialThing)(lambda record: "special")
    with pytest.raises(SettingError, match="No frame can be drawn around a SpecialThing"):
        rendering.draw_inline(SpecialThing())
    assert not (tmp_path / "a.html").exists()


def test_what_nobody_explains_is_refused():
    for ask in (explaining.explain_global, lambda model: explaining.explain_local(model, [])):
        with pytest.raises(SettingError, match="give one of EBMModel, L"):
            ask(Thing())


def test_importing_voile_loads_no_page_and_pages_load_no_torch():
    text = (
        "import sys, voile\n"
        "assert not {'jinja2', 'plotly', 'rich', 'numpy'} & set(sys.modules)\n"
        "import voile.audit, voile.planning\n"
        "for load in voile.rendering._LOADERS: load()\n"
        "assert voile.rendering._PAGES and voile.rendering._PRINTS\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
    assert voile.rendering is rendering


def test_a_record_of_an_audit_finds_its_frame_where_nothing_else_is_loaded():
    text = (
        "from voile.audit.finding import AuditReport\n"
        "assert 'iframe' in AuditReport('x', ())._repr_html_()\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


@pytest.mark.parametrize("name", ["p.png", "p.SVG", "p.pdf", "p.docx"])
def test_a_page_is_not_written_into_a_file_of_another_kind(tables, tmp_path, name):
    rendering.draws(Thing)(lambda record: "a thing")
    with pytest.raises(SettingError, match=r"end it in \.html"):
        rendering.write_page(Thing(), tmp_path / name)
    with pytest.raises(SettingError, match=r"end it in \.html"):
        rendering.write_report(Thing(), tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["p.html", "p.HTM", "p", ".hidden"])
def test_pages_end_in_html_or_in_nothing(tables, tmp_path, name):
    rendering.draws(Thing)(lambda record: "a thing")
    assert rendering.write_page(Thing(), tmp_path / name).read_text() == "a thing"
