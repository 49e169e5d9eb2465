"""What models, receipts, explanations, pages and errors were when they were stored, they still are.

``python tests/contract/stored_jobs.py`` says how to store them again, on purpose.
"""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from stored_insides import tiny_network, torch
from stored_jobs import JOBS, MODELS, STORED, stored
from stored_results import MODEL, describe_answers
from stored_text import differences, read_page, settle

import voile
from voile.report.kit import html

REMEDY = "If the change is meant: python tests/contract/stored_jobs.py --write"


def compare(job, before, made):
    """Fail with the names of results that differ, and a few lines of each."""
    found = []
    for name in sorted(before.keys() | made.keys()):
        if name not in made or name not in before:
            found.append(f"{name}: {'is not made any more' if name in before else 'is new'}")
        elif told := differences(before[name], made[name], job.tolerance):
            found.append(f"{name}: {told}")
    assert not found, "\n".join([f"{job.name} has changed. {REMEDY} {job.name}", *found])


def needed(job):
    if job.needs_torch:
        if torch is None:
            pytest.skip("needs torch: pip install 'voile[federated]'")
        tiny_network()


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_results_are_as_they_were(job, tmp_path):
    needed(job)
    compare(job, stored(job.name), job.results(tmp_path))


@pytest.mark.parametrize("name", sorted(one.stem for one in MODELS.glob("*.voile")))
def test_files_of_models_from_before_say_the_same(name, tmp_path):
    """They load, answer, explain themselves, and are written again as they were."""
    job = JOBS[name]
    needed(job)
    model = voile.load(MODELS / f"{name}.voile")
    told = describe_answers(replace(job, pages=False), model, tmp_path)
    made = {key: settle(text) for key, text in told.items()}
    made[MODEL] = model.save(tmp_path / MODEL).read_text(encoding="utf-8")
    made["receipt.json"] = settle(model.receipt_.to_json())
    before = stored(name)
    compare(job, {key: before[key] for key in made}, made)


def test_everything_that_is_stored_is_of_a_job():
    folders = {one.name for one in STORED.iterdir()} - {MODELS.name}
    assert folders <= JOBS.keys()
    assert {one.stem for one in MODELS.iterdir()} == {n for n, job in JOBS.items() if job.train}
    assert sum(one.stat().st_size for one in STORED.rglob("*") if one.is_file()) < 3_000_000


# -- the comparison itself -------------------------------------------------------------------------

PLANTED = [
    (r"-?\d+\.\d{4,}", lambda found: repr(float(found[0]) * (1 + 1e-8) + 1e-11), MODEL),
    (r'"count": (\d+)', lambda found: f'"count": {int(found[1]) + 1}', "receipt.json"),
    (r"Gaussian", lambda found: "gaussian", "receipt.txt"),
    (r'"kind": ', lambda found: '"sort": ', "global.json"),
    (r"\n  \"", lambda found: '\n   "', "local.json"),
    (r"What it cost", lambda found: "Its cost", "local.page.txt"),
    (r"-2\.\d+", lambda found: repr(float(found[0]) * (1 + 1e-7)), "local.figures.txt"),
]


@pytest.mark.parametrize(("pattern", "change", "name"), PLANTED, ids=[one[2] for one in PLANTED])
def test_a_planted_change_is_noticed(pattern, change, name):
    job = JOBS["ebm-two-classes"]
    before = stored(job.name)
    compare(job, before, dict(before))
    text, count = re.subn(pattern, change, before[name], count=1)
    assert count == 1
    with pytest.raises(AssertionError, match=re.escape(f"{name}: ")) as failed:
        compare(job, before, {**before, name: text})
    assert len(str(failed.value)) < 4000


def test_a_result_more_or_less_is_noticed():
    job = JOBS["ebm-two-classes"]
    before = stored(job.name)
    fewer = {name: text for name, text in before.items() if name != "local.json"}
    with pytest.raises(AssertionError, match="is not made any more"):
        compare(job, before, fewer)
    with pytest.raises(AssertionError, match="is new"):
        compare(job, fewer, before)


def test_what_varies_and_the_last_bits_are_no_difference():
    stored_text = '{"id": "%s", "at": "2026-01-02T03:04:05.678+00:00", "x": 0.1}' % ("a" * 32)
    made = '{"id": "%s", "at": "2027-03-04T05:06:07.890+00:00", "x": 0.10000000000000002}'
    assert not differences(stored_text, made % ("b" * 32), 1e-9)
    assert differences("3 of 4", "3 of 5", 1e-3)
    assert differences("1.5 rows", "-1.5 rows", 1e-3)
    assert differences('"weights": "AAAAAAAA8D8="', '"weights": "AAAAAAAAAEA="', 1e-3)
    assert not differences('"weights": "AAAAAAAA8D8="', '"weights": "AQAAAAAA8D8="', 1e-9)


def test_pages_are_read_with_their_words_figures_and_pictures():
    figure = go.Figure(go.Scatter(y=np.array([1.5])), {"title": "over", "font": {"size": 9.25}})
    drawn = html.draw_figure(figure, "one")
    text, figures = read_page(
        "<title>T</title><style>p { left: 3px }</style><script>var library = 1.5;</script>"
        "<p title='more'>some <b>words</b></p><pre>a\n  b</pre><i style='width: 12.5%'></i>"
        f"<figure>{drawn}</figure>"
    )
    assert text.splitlines() == ["T", "[title: more] some words", "a", "b"]
    assert "1.50000000" in figures
    assert "over" in figures
    assert "12.5000000" in figures
    assert "9.25" not in figures
