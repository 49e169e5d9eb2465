"""Pages of audits show the record's own numbers and verdicts, need no network, and run no name."""

import html
import math
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from drawn_figures import figures_of
from rich.console import Console
from test_report_pages import EVIL, Elements

from benchmarks.audit import picture as audit_plot
from voile.audit.finding import AuditReport, Finding
from voile.audit.membership.curves import allowed_tpr
from voile.audit.membership.findings import MembershipAttack, MembershipReport, Roc, RocPoint
from voile.audit.two_worlds import Estimate
from voile.rendering import print_record, write_page
from voile.report.audit import membership as membership_page
from voile.report.audit import page as audit_page
from voile.report.audit.page import HEAD, METHODS, STYLE, line_of, outcome_text
from voile.report.audit.pictures import (
    READ_IT,
    Scale,
    claim_text,
    find_scale,
    group_findings,
    place_bars,
    shown_text,
    words_of,
)
from voile.report.audit.terminal import MARK, WIDE, draw_bar, print_audit
from voile.report.kit.theme import RAISE

VOID = {"meta", "line", "rect", "circle", "path", "polygon", "polyline", "img", "br"}


def find(name="EBM: extreme bin", claimed=1.0, epsilon=0.34, **facts):
    """A finding with figures that are all different."""
    plain = {
        "delta": 1e-5,
        "confidence": 0.95,
        "method": "guesses",
        "mu": None,
        "claimed_mu": None,
        "runs": 20_011,
        "judged": 10_007,
        "false_alarms": 31,
        "right_alarms": 1_612,
        "without": 5_003,
        "with_canary": 5_004,
        "right": 1_701,
        "guesses": 1_753,
        "advantage": Estimate(0.316, 0.01, 0.297, 0.335),
        "note": "",
    }
    return Finding(name, claimed, epsilon, **{**plain, **facts})


KEPT = find()
BROKEN = find("other: bins of the data", 1.0, 5.81, note="Bins are read off the data.")
NOTHING = find("EBM: new category", 0.5, 0.0)
UNCLAIMED = find("black box", None, 3.2)
UNPROMISED = find("EBM: no noise", math.inf, 6.4)
GAUSSIAN = find("SGD: Dirac", 1.0, 1.2, method="gaussian", mu=0.31, claimed_mu=0.2687)
ALL = AuditReport("Audit", (KEPT, BROKEN, NOTHING, UNCLAIMED, UNPROMISED, GAUSSIAN))
MANY = AuditReport(
    "Many",
    tuple(find(f"group {i % 7}: case {i} " + "long" * i, 1.0, 0.1 * i) for i in range(60)),
)


class Balance(Elements):
    """Elements of a page, and whether each is closed in its turn."""

    def __init__(self, page):
        self.open = []
        super().__init__(page)

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        super().handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        super().handle_endtag(tag)
        assert self.open.pop() == tag


def check_alone(page):
    """No script, no address, nothing that asks for anything; every element is closed."""
    elements = Balance(page)
    assert elements.open == []
    assert not elements.all("script")
    assert not elements.all("link")
    assert not re.search(r"https?:|@import|url\(", page)
    for _, attributes in elements.found:
        assert not {"src", "href", "srcset", "data", "srcdoc"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "nan" not in text_of(page).lower()
    # What scrolls can be reached by keyboard, and has a name.
    for box in elements.all("div"):
        if box.get("class") == "wide":
            assert box["tabindex"] == "0"
            assert box["aria-label"]
    return elements


def text_of(page):
    return re.sub(r"\s+", " ", "".join(Elements(page).text))


def cells_of(page):
    return [
        [html.unescape(cell) for cell in re.findall(r"<td[^>]*>([^<]*)</td>", row)]
        for row in re.findall(r"<tr>(<td.*?)</tr>", page, re.DOTALL)
    ]


def row_of(finding):
    """The drawn row of one finding: its class, its bars, its claims, its words."""
    drawn = place_bars([finding])
    kind, row = re.search(r'<li class="row (\w+)">(.*?)</li>', drawn, re.DOTALL).groups()
    widths = [float(one) for one in re.findall(r'class="bar"[^>]* width="([\d.]+)%"', row)]
    lines = [float(one) for one in re.findall(r'class="claim" x1="([\d.]+)%"', row)]
    return kind, widths, lines, text_of(re.search(r'<div class="words">.*', row).group())


# -- the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [ALL, MANY, AuditReport("None", ()), *ALL.findings],
    ids=lambda one: type(one).__name__,
)
def test_pages_stand_alone(record, tmp_path):
    page = write_page(record, tmp_path / "a.html").read_text(encoding="utf-8")
    check_alone(page)
    findings = getattr(record, "findings", (record,))
    text = text_of(page)
    assert outcome_text(findings) in text
    assert (READ_IT in text) == bool(findings)
    assert len(cells_of(page)) == len(findings)
    for one in findings:
        assert one.verdict in text


def test_a_report_knows_its_page(tmp_path):
    assert ALL.to_html(tmp_path / "a.html").read_text(encoding="utf-8") == audit_page.draw_page(ALL)
    assert "iframe" in ALL._repr_html_()


def test_the_table_has_the_numbers_of_the_record():
    cells = cells_of(audit_page.draw_page(ALL))
    assert cells == [list(line_of(one)) for one in ALL.findings]
    for row, one in zip(cells, ALL.findings, strict=True):
        told = dict(zip(HEAD, row, strict=True))
        assert told["name"] == one.name
        assert float(told["attacked ε at least"]) == one.epsilon
        if one.claimed is None:
            assert told["claimed ε"] == "none"
        elif math.isinf(one.claimed):
            assert told["claimed ε"] == "no guarantee"
        else:
            assert float(told["claimed ε"]) == one.claimed
        assert float(told["delta"]) == one.delta
        assert told["confidence"] == "95 %"
        assert told["runs"] == "20,011,\n10,007 judged"
        assert told["method"].startswith(METHODS[one.method])
        assert told["alarms"] == "right 1,612 of 5,004,\nfalse 31 of 5,003"
        assert told["verdict"] == one.verdict
        assert told["note"] == one.note
    assert "mu at least 0.31, the claim allows 0.269" in cells[5][6]


def test_what_was_tried_is_told():
    text = text_of(audit_page.draw_page(ALL))
    assert "20,011 runs: 10,004 taught the attacker, 10,007 judged it" in text
    assert "1,701 of 1,753 guesses it ventured were right" in text
    assert str(KEPT.advantage) in text
    one_run = find(method="one run", runs=900, judged=900, guesses=0, right=0)
    alone = audit_page.draw_page(one_run).split("What was tried")[1]
    assert "900 canaries of one training. It said" in alone
    assert "guesses" not in alone


def test_limits_name_what_these_findings_suppose():
    kept = audit_page.draw_page(KEPT)
    assert "for such noise alone" in audit_page.draw_page(GAUSSIAN)
    assert "for such noise alone" not in kept
    assert "too high by chance" not in kept
    assert "of these 60, at most 3 are" in audit_page.draw_page(MANY)


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ((), "Nothing was audited."),
        ((KEPT,), "The attack did not exceed the guarantee."),
        ((BROKEN,), "The guarantee is broken."),
        ((UNCLAIMED, UNPROMISED), "No guarantee was made, so none could be broken."),
        ((KEPT, NOTHING), "No attack exceeded any of 2 guarantees."),
        ((KEPT, BROKEN), "1 of 2 guarantees is broken."),
        ((BROKEN, GAUSSIAN, KEPT), "2 of 3 guarantees are broken."),
        (
            (KEPT, UNCLAIMED),
            "The attack did not exceed the guarantee. 1 more finding has no guarantee.",
        ),
    ],
)
def test_the_outcome_counts_guarantees(findings, text):
    assert outcome_text(findings) == text


def test_names_are_text():
    worse = "\"><img src=x onerror=alert(1)> & 'co': </style></title>"
    record = AuditReport(EVIL, (find(EVIL, note=EVIL), find(worse, note=worse)))
    page = audit_page.draw_page(record)
    elements = check_alone(page)
    assert not elements.all("img")
    assert cells_of(page)[0][0] == EVIL
    assert cells_of(page)[1][0] == worse
    check_alone(audit_page.draw_page(record.findings[1]))


# -- bars ---------------------------------------------------------------------------------------


def test_a_longer_bar_is_a_larger_epsilon():
    scale = Scale(10.0)
    sizes = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 9.99, 10.0]
    places = [scale.place(size) for size in sizes]
    assert places[0] == 0.0
    assert places[-1] == 1.0
    assert all(one < other for one, other in pairwise(places))
    # A tenth can be seen beside ten, and one lies near the middle.
    assert places[2] > 0.05
    assert 0.3 < places[4] < 0.6
    assert scale.place(math.inf) == scale.place(1e9) == 1.0


@pytest.mark.parametrize("top", [2.0, 5.0, 10.0, 50.0, 100.0, 1000.0])
def test_ticks_have_room(top):
    scale = Scale(top)
    ticks = scale.ticks()
    assert ticks[0] == 0.0
    assert ticks[-1] == top
    assert 1.0 in ticks
    places = [scale.place(one) for one in ticks]
    assert min(b - a for a, b in pairwise(places)) > 0.08


def test_the_axis_holds_all_that_is_finite():
    assert find_scale([]).top == 2.0
    assert find_scale([KEPT, UNPROMISED]).top == 10.0
    assert find_scale([find(claimed=20.0)]).top == 20.0
    assert find_scale([find(claimed=math.inf, epsilon=math.inf)]).top == 2.0
    assert find_scale([find(claimed=1e6)]).top == 1000.0


@pytest.mark.parametrize("one", ALL.findings, ids=lambda one: one.name)
def test_bars_and_lines_are_where_the_record_says(one):
    kind, widths, lines, words = row_of(one)
    scale = find_scale([one])
    expected = [100 * scale.place(one.epsilon)] if one.epsilon else []
    assert widths == pytest.approx(expected, abs=1e-3)
    guaranteed = one.claimed is not None and math.isfinite(one.claimed)
    assert lines == (
        [pytest.approx(100 * scale.place(one.claimed), abs=1e-3)] if guaranteed else []
    )
    assert kind == ("broken" if one.broken else "kept" if guaranteed else "without")
    assert words.startswith(one.verdict)
    # The verdict is a word, not a colour alone.
    assert ("BROKEN" in words) == one.broken
    assert ("guaranteed" in words) == guaranteed
    if one.broken:
        assert widths[0] > lines[0]


def test_a_guarantee_broken_by_little_is_seen():
    barely = find(claimed=1.0, epsilon=1.00001)
    assert (shown_text(barely), claim_text(barely)) == ("1.00001", "1")
    assert 'width="8"' in place_bars([barely])
    assert 'width="8"' not in place_bars([BROKEN])
    assert words_of(barely) == "1.00001 shown, 1 guaranteed"


def test_what_is_off_the_axis_is_marked():
    endless = find(claimed=1.0, epsilon=math.inf)
    assert "»" in place_bars([endless])
    assert "∞ shown, 1 guaranteed" in text_of(audit_page.draw_page(endless))
    assert "»" not in place_bars([BROKEN])
    assert words_of(NOTHING) == "nothing shown, 0.5 guaranteed"


def test_groups_are_named_by_what_is_before_the_colon():
    groups = group_findings(ALL.findings)
    assert list(groups) == ["EBM", "other", "SGD", "Other findings"]
    assert groups["EBM"] == [KEPT, NOTHING, UNPROMISED]
    assert list(group_findings([UNCLAIMED])) == [""]
    assert list(group_findings([find(": x"), find("x: "), find("a:b")])) == [""]
    # A group may have the name that is given to those without one.
    same = group_findings([find("Other findings: x"), UNCLAIMED])
    assert [len(one) for one in same.values()] == [2]
    drawn = place_bars(ALL.findings)
    assert '<h3 class="group">EBM <span>none of 2 broken</span></h3>' in drawn
    assert '<h3 class="group">other <span>1 of 1 broken</span></h3>' in drawn
    assert '<h3 class="group">Other findings</h3>' in drawn
    assert sum(len(one) for one in group_findings(MANY.findings).values()) == 60


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_on_light_and_dark_pages():
    schemes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{([^}]*)\}", STYLE)
    ]
    assert len(schemes) == 2
    for scheme in schemes:
        page = scheme["page"]
        assert all(contrast(scheme[name], page) >= 4.5 for name in ("ink", "soft", "bad"))
        assert all(contrast(scheme[name], page) >= 3 for name in ("calm", "alarm", "grey"))


# -- the terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [ALL, MANY, AuditReport("None", ()), *ALL.findings],
    ids=lambda one: type(one).__name__,
)
def test_the_terminal_shows_names_and_verdicts(record, capsys):
    print_record(record)
    shown = capsys.readouterr().out
    for one in getattr(record, "findings", (record,)):
        assert one.verdict in shown
        assert shown_text(one) in shown
    assert ("BROKEN" in shown) == bool(record.broken)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_terminal_keeps_its_width_and_takes_names_as_text(columns):
    console = Console(width=columns, record=True, file=None, force_terminal=False)
    with console.capture() as caught:
        print_audit(
            console, AuditReport("[red]x[/red]", (find("[bold]a[/bold]", note="[b]"), BROKEN))
        )
    assert "[red]x[/red]" in caught.get()
    assert all(len(line) <= columns for line in caught.get().splitlines())
    assert "[bold]" in caught.get()


def test_bars_of_characters():
    scale = Scale(10.0)
    sizes = [0.0, 0.001, 0.1, 0.5, 1.0, 3.0, 10.0, math.inf]
    free = [draw_bar(scale, find(claimed=None, epsilon=size)) for size in sizes]
    assert free[0] == ""
    assert free[1] == "▏"
    assert free[-1] == "█" * WIDE
    assert [len(bar) for bar in free] == sorted(len(bar) for bar in free)
    for size in sizes:
        for claimed in (0.0, 0.1, 1.0, 10.0):
            bar = draw_bar(scale, find(claimed=claimed, epsilon=size))
            assert bar.count(MARK) == 1
            # Something is beyond the line if, and only if, the guarantee is broken.
            assert bool(bar.split(MARK)[1]) == (size > claimed)
    assert MARK not in draw_bar(scale, UNPROMISED)


# -- the picture of the docs --------------------------------------------------------------------


def test_the_picture_reads_what_a_report_writes(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(ALL.to_json(), encoding="utf-8")
    read = audit_plot.read_report(tmp_path / "a.json")
    assert read == ALL
    (tmp_path / "b.json").write_text(f'{{"report": {ALL.to_json()}}}', encoding="utf-8")
    assert audit_plot.read_report(tmp_path / "b.json") == ALL
    shot = []
    monkeypatch.setattr(audit_plot, "shoot", lambda *given: shot.append(given))
    monkeypatch.setattr(sys, "argv", ["audit_plot.py", str(tmp_path / "a.json"), "x.png"])
    audit_plot.main()
    [(page, path, size)] = shot
    assert path == Path("x.png")
    assert size == f"1100,{audit_plot.height(ALL)}"
    assert place_bars(ALL.findings) in page
    assert "prefers-color-scheme" not in page
    monkeypatch.setattr(sys, "argv", ["audit_plot.py"])
    with pytest.raises(SystemExit, match="JSON file"):
        audit_plot.main()


# -- membership ---------------------------------------------------------------------------------


def attack(name="LiRA", tpr=0.02, exceeds=False, auc=0.61, guarantee=(1.0, 1e-5)):
    points = tuple(
        RocPoint(
            fpr=fpr,
            false_alarms=1,
            non_members=1000,
            right_alarms=20,
            members=1000,
            false_rate=Estimate(fpr, 0.0, fpr / 2, fpr * 2),
            tpr=Estimate(share, 0.0, share / 2, share * 2),
            allowed=None if guarantee is None else allowed_tpr(*guarantee, fpr),
            exceeds=None if guarantee is None else exceeds,
        )
        for fpr, share in ((0.01, tpr), (0.001, 0.1 * tpr))
    )
    return MembershipAttack(
        name=name,
        trainings=12,
        rows=400,
        auc=Estimate(auc, 0.01, auc - 0.02, auc + 0.02),
        allowed_auc=None if guarantee is None else 0.731,
        points=points,
        roc=Roc((0.0, 0.0, 0.0005, 0.01, 0.1, 1.0), (0.0, 0.001, 0.002, tpr, 0.3, 1.0)),
    )


def members(*attacks, epsilon=1.0, delta=1e-5):
    return MembershipReport("classification", 12, 400, epsilon, delta, attacks)


WITHIN = members(attack(), attack("RMIA", auc=0.7))
OVER = members(attack(), attack("RMIA", 0.4, exceeds=True))
DOUBTFUL = members(attack(), attack("RMIA", 0.04))
ENDLESS = members(attack(guarantee=(math.inf, 0.0)), epsilon=math.inf, delta=0.0)
FREE = members(attack(guarantee=None), epsilon=None, delta=None)


@pytest.mark.parametrize(
    ("record", "outcome", "verdict"),
    [
        (
            WITHIN,
            "None of 2 attacks gets further than the guarantee allows.",
            "within the guarantee",
        ),
        (members(attack()), "The attack does not get further", "within the guarantee"),
        (OVER, "1 of 2 attacks gets further than the guarantee allows.", "MORE THAN ALLOWED"),
        (members(*OVER.attacks[1:]), "1 of 1 attack gets further", "MORE THAN ALLOWED"),
        (members(*OVER.attacks[1:] * 2), "2 of 2 attacks get further", "MORE THAN ALLOWED"),
        (DOUBTFUL, "1 of 2 is above it, by no more than the error", "above, not certain"),
        (ENDLESS, "No guarantee: the training guarantees nothing. The stron", "no guarantee"),
        (FREE, "No guarantee was given to compare with. The strongest attack", "no guarantee"),
        (members(), "No attack was tried.", ""),
    ],
)
def test_membership_pages(record, outcome, verdict, tmp_path, capsys):
    page = record.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    elements = check_alone(page)
    text = text_of(page)
    assert outcome in text
    assert verdict in text
    drawn = elements.all("figure")
    assert len(drawn) == len(figures_of(page)) == len(record.attacks)
    assert all(one["role"] == "img" and one["aria-label"] for one in drawn)
    guaranteed = record.epsilon is not None and math.isfinite(record.epsilon)
    for traces, _ in figures_of(page).values():
        assert ("what the guarantee allows" in [one["name"] for one in traces[:1]]) == guaranteed
    assert ("the guarantee allows" in [row[0] for row in cells_of(page)]) == (
        guaranteed and bool(record.attacks)
    )
    record.show()
    shown = capsys.readouterr().out
    for one in record.attacks:
        assert one.name in shown
        assert f"{one.auc.value:.3f}" in shown
    assert outcome in re.sub(r"\s+", " ", shown)


def test_membership_table_has_the_numbers_of_the_record():
    rows = {row[0]: row[1:] for row in cells_of(membership_page.draw_page(OVER))}
    assert rows["blind guessing"] == ["0.5", "1 %", "0.1 %", ""]
    assert rows["LiRA"][0] == "0.610 (0.590 to 0.630)"
    assert rows["LiRA"][1:3] == ["2 % (1 to 4 %)", "0.2 % (0.1 to 0.4 %)"]
    assert rows["RMIA"][1] == "40 % (20 to 80 %)"
    assert rows["the guarantee allows"][:3] == ["0.731", "2.7 %", "0.27 %"]
    assert re.findall(r'<td class="bad"[^>]*>([^<]*)', membership_page.draw_page(OVER)) == [
        "MORE THAN ALLOWED"
    ]


def test_the_curve_is_made_of_steps_and_starts_with_what_is_left_of_the_axis():
    x, y = membership_page.find_steps(attack(tpr=0.02))
    assert x == [0.001, 0.01, 0.1, 1.0]
    assert y == [0.002, 0.02, 0.3, 1.0]
    figure = membership_page.draw_curve(WITHIN, attack(tpr=0.02))
    line = next(one for one in figure.data if one.name == "LiRA")
    assert line.line.shape == "hv"
    assert (list(line.x), list(line.y)) == (x, y)
    points = figure.data[-1]
    assert list(points.x) == [0.01, 0.001]
    assert list(points.y) == pytest.approx([0.02, 0.002])
    assert list(points.error_y.array) == pytest.approx([0.02, 0.002])


def test_the_region_is_what_the_guarantee_allows():
    figure = membership_page.draw_curve(members(attack()), attack())
    edge = figure.data[0]
    assert edge.fill == "tozeroy"
    for rate, allowed in zip(edge.x, edge.y, strict=True):
        assert allowed == allowed_tpr(1.0, 1e-5, min(rate, 1.0))
    assert list(edge.y) == sorted(edge.y)
    over = membership_page.draw_curve(OVER, OVER.attacks[1])
    assert over.data[-1].marker.color == RAISE


def test_names_of_attacks_are_text():
    page = membership_page.draw_page(members(attack('"><script>x</script>')))
    check_alone(page)
    assert '"><script>x</script>' in [row[0] for row in cells_of(page)]


def test_an_infinite_claim_of_mu_survives_the_picture(tmp_path):
    one = replace(GAUSSIAN, claimed=math.inf, claimed_mu=math.inf)
    (tmp_path / "a.json").write_text(AuditReport("x", (one,)).to_json(), encoding="utf-8")
    assert audit_plot.read_report(tmp_path / "a.json").findings == (one,)
