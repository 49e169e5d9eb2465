"""Forecasts agree with real trainings, never touch data, and say what they rest on."""

import json
import math
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
    Unit,
)
from voile.errors import SchemaError, SettingError
from voile.models.ebm import fit as ebm_fit
from voile.models.ebm import settings as ebm_settings
from voile.models.ebm.binning import TargetFacts
from voile.models.locally_linear.settings import Settings as MapSettings
from voile.models.locally_linear.settings import choose
from voile.models.lvq import settings as lvq_settings
from voile.planning import ebm, locally_linear
from voile.planning import forecast as forecast_record
from voile.planning.facts import check_epsilons, gather_facts
from voile.planning.forecast import forecast
from voile.planning.noise import ColumnNoise
from voile.planning.record import probability_points
from voile.planning.verdict import Rule
from voile.privacy import noise, vault
from voile.privacy.accounting import compose
from voile.privacy.calibrate import calibrate
from voile.privacy.events import Plan
from voile.privacy.noise import fixed_noise
from voile.report.plan.page import draw_attacker, draw_noise, draw_page, group_columns

EVIL = "<script>alert(1)</script>"
CLASSES_OF_TARGET = Category(["no", "yes"])


def census(target=CLASSES_OF_TARGET):
    """14 columns, as a well-known census table has them."""
    numbers = {f"n{j}": Number(0, 100) for j in range(6)}
    categories = {f"c{j}": Category(list("abcdefgh"[: 2 + j % 7])) for j in range(8)}
    return Schema({**numbers, **categories}, target=target)


def made_up(rows, *, skewed=False, regression=False, seed=1):
    """A table with four numbers and three categories that all matter; its schema and target."""
    rng = np.random.default_rng(seed)
    frame, score = {}, np.zeros(rows)
    for j in range(4):
        values = rng.beta(0.8, 4.0, rows) if skewed else rng.random(rows)
        frame[f"x{j}"] = values
        score += 0.6 * np.sin(2 * np.pi * (1 + j % 2) * values + j)
    chances = np.array([0.6, 0.25, 0.1, 0.04, 0.01]) if skewed else np.full(5, 0.2)
    for j in range(3):
        codes = rng.choice(5, rows, p=chances)
        frame[f"c{j}"] = codes
        score += np.array([-0.6, -0.3, 0.0, 0.3, 0.6])[codes]
    columns = {name: Number(0, 1) if name[0] == "x" else Category(range(5)) for name in frame}
    if regression:
        target = np.clip(score + 0.8 * rng.standard_normal(rows), -6, 6)
        return frame, target, Schema(columns, target=Number(-6, 6))
    target = (rng.random(rows) < 1 / (1 + np.exp(0.5 - score))).astype(np.int64)
    return frame, target, Schema(columns, target=Category([0, 1]))


def reported_noise(model):
    """Two standard errors of each term for a typical row: root mean square over the rows."""
    found = []
    for term in model.terms:
        regular = term.bins - (1 if isinstance(term.column, Number) else 2)
        counts = term.counts[:regular]
        squares = (term.standard_errors[:regular] ** 2).mean(axis=1)
        found.append(2 * math.sqrt(counts @ squares / counts.sum()))
    return np.array(found)


# -- agreement with the fit ------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [50, 3_000, 32_561, 10**7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_number_of_bins_is_the_one_the_fit_would_choose(rows, epsilon):
    schema, budget = census(), Budget(epsilon, 1e-6)
    facts = gather_facts(schema, rows=rows, target_rate=0.24)
    schedule = ebm_settings.choose(ebm_settings.Settings(), schema)
    plan = calibrate(budget, ebm_settings.plan_shape(schema, schedule, 1e-6))
    none = np.zeros(0)
    target = TargetFacts(rows, np.array([0.76 * rows, 0.24 * rows]), 0.0, 1.0, none, none)
    table = SimpleNamespace(schema=schema, weight_per_unit=1.0)
    fitted = ebm_fit._most_bins(table, SimpleNamespace(plan=plan), target, schedule.rounds)
    assert ebm.most_bins(facts, ebm._set_up(facts, budget, ebm_settings.Settings())) == fitted


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_the_closed_form_agrees_with_a_training_on_made_up_rows(regression, epsilon):
    """Evenly spread rows, all columns matter: the median column within 25 %, all within 2."""
    frame, target, schema = made_up(30_000, regression=regression)
    kind = EBMRegressor if regression else EBMClassifier
    with fixed_noise(3):
        model = kind(epsilon=epsilon, schema=schema).fit(frame, target).model_
    known = {"target_spread": float(target.std())} if regression else {"target_rate": target.mean()}
    found = forecast(schema, rows=30_000, epsilons=[epsilon], **known).outlooks[0]
    ratios = reported_noise(model) / np.array([one.noise for one in found.columns])
    assert 0.8 < np.median(ratios) < 1.25
    assert np.all((ratios > 0.5) & (ratios < 2.0))
    for term, column in zip(model.terms, found.columns, strict=True):
        regular = term.bins - (1 if column.kind == "number" else 2)
        assert column.bins == pytest.approx(regular, rel=0.15)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_closed_form_is_within_a_factor_on_a_skewed_table(epsilon):
    """Crowded numbers, rare levels: the median column within a factor of 2.5."""
    frame, target, schema = made_up(20_000, skewed=True)
    with fixed_noise(3):
        model = EBMClassifier(epsilon=epsilon, schema=schema).fit(frame, target).model_
    rate = min(target.mean(), 1 - target.mean())
    found = forecast(schema, rows=20_000, epsilons=[epsilon], target_rate=rate).outlooks[0]
    ratio = np.median(reported_noise(model)) / found.noise
    assert 1 / 2.5 < ratio < 2.5


def test_columns_without_effect_have_less_noise_than_foretold():
    """The stated direction: training smooths them more."""
    frame, target, schema = made_up(20_000)
    target = np.random.default_rng(5).permutation(target)
    with fixed_noise(3):
        model = EBMClassifier(epsilon=0.5, schema=schema).fit(frame, target).model_
    found = forecast(schema, rows=20_000, epsilons=[0.5]).outlooks[0]
    assert np.median(reported_noise(model)) < found.noise


@pytest.mark.parametrize(
    ("name", "kind"),
    [("glvq", GLVQClassifier), ("gmlvq", GMLVQClassifier), ("lvq1", LVQ1Classifier)],
)
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_prototypes_agree_with_a_training(name, kind, epsilon):
    """Within 40 % of the model's own standard errors; with a metric within a factor of 2."""
    frame, target, schema = made_up(6_000)
    with fixed_noise(3):
        model = kind(epsilon=epsilon, schema=schema).fit(frame, target).model_
    rate = min(target.mean(), 1 - target.mean())
    found = forecast(schema, rows=6_000, epsilons=[epsilon], model=name, target_rate=rate)
    real = 2 * math.sqrt(float((model.prototype_errors**2).mean()))
    columns = found.outlooks[0].columns
    foretold = np.mean([2 * c.noise if c.kind == "number" else c.noise for c in columns])
    most = 2.0 if name == "gmlvq" else 1.4
    assert 1 / most < real / foretold < most


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_maps_agree_with_a_training(epsilon):
    """Weights within 15 % of the model's own standard errors."""
    frame, target, schema = made_up(6_000)
    budget = Budget(epsilon, 1e-6)
    with fixed_noise(3):
        fitted = LocallyLinearClassifier(epsilon=epsilon, schema=schema, random_state=0)
        model = fitted.fit(frame, target).model_
    facts = gather_facts(schema, rows=6_000)
    schedule = choose(MapSettings(), budget, sampled=True)
    line = next(one for one in model.receipt.lines if one.label == "steps")
    found = locally_linear.foretell_weights(facts, schedule, line.event.noise_multiplier)
    assert found.error == pytest.approx(float(model.weight_errors.mean()), rel=0.15)


def test_the_share_for_missing_facts_is_that_of_a_real_receipt():
    frame, target, schema = made_up(4_000)
    open_schema = schema.with_column("x0", Number()).with_column("c0", Category())
    with fixed_noise(3):
        receipt = EBMClassifier(epsilon=2.0, schema=open_schema).fit(frame, target).receipt_
    paid = sum(one.share for one in receipt.lines if "unlisted" in one.label)
    found = forecast(open_schema, rows=4_000)
    assert [one.what for one in found.missing] == [
        "column 'x0' has no bounds",
        "column 'c0' has no levels",
    ]
    assert sum(one.share for one in found.missing) == pytest.approx(paid, abs=1e-6)
    assert "give Number(lower, upper) for 'x0'" in str(found)


@pytest.mark.parametrize("model", ["ebm", "glvq"])
def test_the_attacker_is_that_of_the_plan(model):
    schema = census()
    found = forecast(schema, rows=1_000, epsilons=[1.0], model=model).outlooks[0]
    schedule = ebm_settings.choose(ebm_settings.Settings(), schema)
    shape = ebm_settings.plan_shape(schema, schedule, 1e-6)
    if model == "glvq":
        shape = Plan(tuple(lvq_settings.first_steps(schema, 1e-6)))
    loss = compose(calibrate(Budget(1.0, 1e-6), shape).events)
    assert found.attacker.mu == pytest.approx(loss.mu, rel=1e-6)


# -- scaling ---------------------------------------------------------------------------------------


def test_standard_errors_fall_as_one_over_the_rows():
    """Foretold: exactly so where smoothing leaves everything; real: within 20 %."""
    schema = Schema(
        {"a": Category(list("abcd")), "b": Category(list("xyz"))}, target=Category([0, 1])
    )
    few, many = (forecast(schema, rows=n, epsilons=[4.0])[4.0].noise for n in (10**6, 10**8))
    assert few / many == pytest.approx(100.0, rel=0.01)
    rng = np.random.default_rng(0)
    found = []
    for rows in (10_000, 80_000):
        frame = {"a": rng.choice(list("abcd"), rows), "b": rng.choice(list("xyz"), rows)}
        target = (rng.random(rows) < np.where(frame["a"] == "a", 0.7, 0.4)).astype(int)
        with fixed_noise(1):
            model = EBMClassifier(epsilon=4.0, schema=schema).fit(frame, target).model_
        found.append(reported_noise(model).mean())
    assert found[0] / found[1] == pytest.approx(8.0, rel=0.2)


@pytest.mark.parametrize("model", ["ebm", "glvq", "gmlvq", "lvq1", "locally_linear"])
def test_noise_falls_with_rows_and_with_epsilon(model):
    schema = census()
    small, large = (forecast(schema, rows=n, model=model) for n in (20_000, 2_000_000))
    for one, other in zip(small.outlooks, large.outlooks, strict=True):
        assert other.visible < one.visible
    visible = [one.visible for one in small.outlooks]
    assert visible == sorted(visible, reverse=True)


def test_units_of_several_rows_have_more_noise():
    schema = census()
    alone = forecast(schema, rows=50_000, epsilons=[1.0])
    together = forecast(schema.with_unit(Unit("patient", rows=4)), rows=50_000, epsilons=[1.0])
    assert together[1.0].visible > 1.5 * alone[1.0].visible
    assert "4 times" in " ".join(together.notes)
    assert "patient" in together.title


@pytest.mark.slow
def test_a_whole_forecast_is_small_for_any_number_of_rows():
    schema = census()
    forecast(schema, rows=100)  # imports
    tracemalloc.start()
    for rows in (1, 32_561, 10_000_000, 10**15):
        for one in forecast(schema, rows=rows).outlooks:
            assert math.isfinite(one.noise)
            assert math.isfinite(one.visible)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 64 * 2**20


# -- never the data --------------------------------------------------------------------------------


def test_no_data_no_noise_and_no_file_is_touched(monkeypatch):
    schema = census()
    expected = forecast(schema, rows=5_000).to_json()
    forecast(schema, rows=5_000, model="locally_linear")  # whatever is read once is read now

    def refuse(*args, **kwargs):
        raise AssertionError("a forecast must not do this")

    for place, name in ((vault, "open_rows"), (vault, "protect"), (noise, "_draw")):
        monkeypatch.setattr(place, name, refuse)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    assert forecast(schema, rows=5_000).to_json() == expected
    for model in ("glvq", "gmlvq", "lvq1", "locally_linear"):
        forecast(schema, rows=5_000, model=model)


@pytest.mark.parametrize("data", [np.zeros((5, 2)), {"a": [1, 2]}, "rows.parquet", None])
def test_data_is_refused_in_place_of_a_schema(data):
    with pytest.raises(SettingError, match="never the data"):
        forecast(data, rows=10)


def test_the_same_question_has_the_same_answer():
    for model in ("ebm", "glvq", "locally_linear"):
        first, second = (forecast(census(), rows=777, model=model).to_json() for _ in range(2))
        assert first == second


# -- wrong input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": None}, "public row count"),
        ({"rows": 0}, "'rows'"),
        ({"rows": -5}, "'rows'"),
        ({"rows": 10.5}, "'rows'"),
        ({"rows": True}, "'rows'"),
        ({"rows": math.nan}, "'rows'"),
        ({"rows": 10**18}, "'rows'"),
        ({"epsilons": [-1.0]}, "epsilon"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"epsilons": [math.nan]}, "epsilon"),
        ({"epsilons": [math.inf]}, "epsilon"),
        ({"epsilons": []}, "epsilons"),
        ({"epsilons": "1,2"}, "epsilons"),
        ({"epsilons": [None]}, "epsilon"),
        ({"epsilons": None}, "epsilons"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": "small"}, "delta"),
        ({"model": "forest"}, "'model'"),
        ({"model": None}, "'model'"),
        ({"target_rate": 0.0}, "target_rate"),
        ({"target_rate": 0.6}, "target_rate"),
        ({"target_rate": math.nan}, "target_rate"),
        ({"target_spread": 1.0}, "target_spread"),
        ({"bins": 1}, "'bins'"),
        ({"bins": 8, "model": "glvq"}, "'bins'"),
        ({"interactions": "all"}, "'interactions'"),
        ({"interactions": -1}, "'interactions'"),
        ({"interactions": True}, "'interactions'"),
        ({"interactions": [("n0", "n0")]}, "one column twice"),
        ({"interactions": [("n0", "c1"), ("c1", "n0")]}, "named twice"),
        ({"interactions": 3, "model": "glvq"}, "leave them out"),
        ({"interactions": [("n0", "n1")], "model": "locally_linear"}, "leave them out"),
        ({"worth_seeing": 0.0}, "worth_seeing"),
        ({"worth_seeing": math.inf}, "worth_seeing"),
    ],
)
def test_wrong_settings_are_refused_in_words(change, words):
    with pytest.raises(SettingError, match=words):
        forecast(census(), **{"rows": 1_000, **change})


def test_wrong_schemas_are_refused_in_words():
    with pytest.raises(SchemaError, match="no target"):
        forecast(Schema({"a": Number(0, 1)}), rows=10)
    with pytest.raises(SchemaError, match="no columns"):
        forecast(Schema({}, target=Number(0, 1)), rows=10)
    with pytest.raises(SchemaError, match="at least two"):
        forecast(Schema({"a": Number(0, 1)}, target=Category(["one"])), rows=10)
    with pytest.raises(SettingError, match="predicts classes"):
        forecast(census(Number(0, 1)), rows=10, model="glvq")
    with pytest.raises(SettingError, match="target_rate"):
        forecast(census(Number(0, 1)), rows=10, target_rate=0.1)
    with pytest.raises(SettingError, match="target_spread"):
        forecast(census(Number(0, 1)), rows=10, target_spread=0.7)
    with pytest.raises(SchemaError, match="no column of the schema"):
        forecast(census(), rows=10, interactions=[("n0", "nowhere")])


# -- what it says ----------------------------------------------------------------------------------


def test_epsilons_come_in_order_and_once():
    budgets = check_epsilons([4, 1, 1.0, np.float64(0.5)], 1e-6)
    assert [one.epsilon for one in budgets] == [0.5, 1.0, 4.0]
    assert [one.epsilon for one in check_epsilons(2, 1e-6)] == [2.0]


def test_the_row_count_may_come_from_the_schema_and_the_argument_wins():
    schema = census().with_rows(5_000)
    assert forecast(schema).rows == 5_000
    assert forecast(schema, rows=6_000).rows == 6_000


def test_the_verdict_follows_the_rule_and_the_rule_is_stated():
    rule = Rule("curves", "log-odds", 0.1)
    sizes = [0.1, 0.101, 0.3, 0.301, 1.0, 1.01]
    expected = ["clear", "broad", "broad", "strongest", "strongest", "too little"]
    assert [rule.judge(one) for one in sizes] == expected
    found = forecast(census(), rows=32_561, target_rate=0.24)
    for level in ("clear", "broad", "strongest", "too little"):
        assert rule.say(level) in found.rule.words
    assert found.rule.words in " ".join(str(found).split())
    assert [one.level for one in found.outlooks][-1] == "clear"
    assert forecast(census(), rows=100).first() is None
    assert found.first() in [one.epsilon for one in found.outlooks]
    stricter = forecast(census(), rows=32_561, worth_seeing=1e-6)
    assert {one.level for one in stricter.outlooks} == {"too little"}


def test_smoothing_hides_noise_but_not_from_the_verdict():
    """With hardly any rows curves are drawn to zero: little noise, and nothing to see."""
    one = ColumnNoise("a", "number", 3, 0.05, 0.1)
    assert one.visible == pytest.approx(0.5)
    assert forecast(census(), rows=100)[1.0].level == "too little"


def test_noise_in_points_is_that_of_the_logistic_function():
    for size in (0.01, 0.1, 1.0, 5.0):
        points = 100 * (1 / (1 + math.exp(-size)) - 0.5)
        assert probability_points(size) == pytest.approx(points)


def test_assumptions_are_told():
    schema = Schema({"a": Number(), "b": Category()}, target=Category())
    text = str(forecast(schema, rows=1_000))
    for words in ("8 levels", "2 classes", "equally frequent", "evenly", "spent nothing"):
        assert words in text
    number = forecast(Schema({"a": Number(0, 1)}, target=Number()), rows=1_000)
    assert "parts of the target's range" in number.rule.units
    assert "well below one over" in " ".join(forecast(census(), rows=10**7).notes)


def test_several_classes_and_numbers_are_foretold():
    three = forecast(census(Category(list("abc"))), rows=30_000, target_rate=0.1)
    assert three.outlooks[-1].level == "clear"
    price = forecast(census(Number(0, 500_000)), rows=30_000, target_spread=100_000)
    assert price.rule.worth_seeing == pytest.approx(10_000)
    assert "units of the target" in str(price)


def test_json_is_strict_and_complete():
    data = json.loads(forecast(census(), rows=1_000).to_json())
    assert data["rows"] == 1_000
    assert len(data["outlooks"]) == 6
    assert len(data["outlooks"][0]["columns"]) == 14
    assert "73 %" in data["outlooks"][2]["attacker"]["words"]
    assert data["rule"]["words"]


def test_outlooks_are_found_by_their_epsilon():
    found = forecast(census(), rows=1_000)
    assert found[1.0].epsilon == 1.0
    with pytest.raises(KeyError):
        found[3.0]


# -- pages, terminal, command ----------------------------------------------------------------------


@pytest.mark.parametrize("model", ["ebm", "gmlvq", "locally_linear"])
def test_pages_say_what_the_record_says(model, tmp_path):
    record = forecast(census(), rows=5_000, model=model)
    text = record.to_html(tmp_path / "plan.html").read_text(encoding="utf-8")
    for one in record.outlooks:
        assert one.verdict in text
    assert "spent nothing" in text
    assert 'src="http' not in text
    assert record._repr_html_().startswith("<iframe")


def test_evil_names_are_shown_as_they_are():
    columns = {EVIL: Number(), '%{x} $x^2$ "q" \'': Category(), "b": Category([EVIL, "x"])}
    record = forecast(Schema(columns, target=Category([EVIL, "no"])), rows=500, epsilons=[1.0])
    page = draw_page(record)
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page


def test_figures_draw_each_kind_of_column_once_and_the_limits():
    record = forecast(census(), rows=5_000)
    groups = group_columns(record)
    assert sum(map(len, groups.values())) == 14
    assert len(groups) == 8
    figure = draw_noise(record)
    assert len(figure.data) == 7  # six kinds at most, and the smallest visible effect
    assert len(figure.layout.shapes) == len(figure.layout.annotations) == 3
    roc = draw_attacker(record)
    assert len(roc.data) == 7
    assert all(0 <= y <= 1 for trace in roc.data for y in trace.y)
    draw_noise(forecast(census(), rows=5_000, epsilons=[1.0]))


def test_the_terminal_shows_a_line_per_epsilon(capsys):
    record = forecast(census(), rows=32_561)
    record.show()
    shown = capsys.readouterr().out
    for one in record.outlooks:
        assert one.verdict in shown
    assert "curves clear" in shown
    assert "spent nothing" in shown


@pytest.mark.parametrize("model", ["ebm", "glvq", "locally_linear"])
@pytest.mark.parametrize("unknown", [False, True])
def test_a_forecast_of_44_columns_fits_a_screen(model, unknown, monkeypatch, capsys):
    """40 lines of 100 columns, the conclusion among the first."""
    monkeypatch.setenv("COLUMNS", "100")
    numbers = {f"laboratory value {k}": Number() if unknown else Number(0, 9) for k in range(22)}
    levels = Category() if unknown else Category(list("abcd"))
    columns = numbers | {f"category {k}": levels for k in range(22)}
    unit = Unit("patient", rows=3)
    schema = Schema(columns, target=Category() if unknown else CLASSES_OF_TARGET, unit=unit)
    record = forecast(schema, rows=20_000, delta=1e-4, model=model)
    record.show()
    for text in (str(record), capsys.readouterr().out):
        lines = text.splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= 100
        assert record.conclusion in " ".join(" ".join(lines[:4]).split())
        assert text.count("'laboratory value") <= 5


def test_missing_facts_of_one_kind_are_one_sentence():
    columns = {f"n{k}": Number() for k in range(5)} | {"c": Category()}
    record = forecast(Schema(columns, target=Category()), rows=1_000)
    first, bounds, levels, classes = record.missing_words
    assert "incomplete" in first
    assert "5 columns have no bounds" in bounds
    assert "'n0', 'n1', 'n2' and 2 more" in bounds
    assert levels.startswith("Column 'c' has no levels")
    assert "give target=Category([...])" in classes
    data = json.loads(record.to_json())["missing"]
    assert [one["what"] for one in data][:2] == [
        "column 'n0' has no bounds",
        "column 'n1' has no bounds",
    ]
    assert data[0]["remedy"] == "give Number(lower, upper) for 'n0'"


def test_the_package_names_its_record():
    assert forecast_record is forecast


def run(**change):
    from voile.cli.plan import plan

    options = {
        "file": None,
        "schema": None,
        "target": None,
        "rows": None,
        "epsilons": "0.5,1",
        "delta": 1e-6,
        "model": "ebm",
        "target_rate": None,
        "target_spread": None,
        "output": None,
        **dict.fromkeys(("sheet", "encoding", "decimal", "thousands", "dates")),
        "as_json": True,
    } | change
    plan(**options)


def test_the_command_plans_from_a_schema(tmp_path, capsys):
    place, page = tmp_path / "s.yaml", tmp_path / "plan.html"
    census().save(place)
    run(schema=place, rows=5_000, output=page, model="locally-linear")
    data = json.loads(capsys.readouterr().out)
    assert [one["epsilon"] for one in data["outlooks"]] == [0.5, 1.0]
    assert data["model"] == "locally_linear"
    assert page.exists()
    run(schema=place, rows=5_000, as_json=False, output=page)
    assert "Page with pictures" in capsys.readouterr().out


def test_the_command_neither_reads_nor_counts_rows(tmp_path, capsys):
    told = []
    for name, rows in (("few.csv", 3), ("many.csv", 400)):
        lines = [f"{30 + i % 40},{'AB'[i % 2]},{['no', 'yes'][i % 2]}" for i in range(rows)]
        (tmp_path / name).write_text("\n".join(["age,ward,ill", *lines]), encoding="utf-8")
        run(file=tmp_path / name, target="ill", rows=1_000)
        told.append(capsys.readouterr().out)
        with pytest.raises(SettingError, match="--rows"):
            run(file=tmp_path / name, target="ill")
    assert told[0] == told[1]


def test_with_a_schema_the_file_is_not_opened(tmp_path, capsys):
    place = tmp_path / "s.json"
    census().with_rows(900).save(place)
    run(file=tmp_path / "there-is-none.csv", schema=place)
    assert json.loads(capsys.readouterr().out)["rows"] == 900


def test_the_command_refuses_in_words(tmp_path):
    place = tmp_path / "s.json"
    Schema({"a": Number(0, 1), "b": Category([0, 1])}).save(place)
    with pytest.raises(SettingError, match="--schema"):
        run(rows=10)
    with pytest.raises(SchemaError, match="--target"):
        run(schema=place, rows=10)
    with pytest.raises(SettingError, match="commas"):
        run(schema=place, target="b", rows=10, epsilons="one")
    with pytest.raises(SettingError, match="'model'"):
        run(schema=place, target="b", rows=10, model="forest")
    with pytest.raises(FileNotFoundError, match="no such folder"):  # the command: code 7
        run(schema=place, target="b", rows=10, output=tmp_path / "no" / "folder.html")


def test_the_command_takes_the_target_from_the_columns(tmp_path, capsys):
    place = tmp_path / "s.json"
    Schema({"a": Number(0, 1), "b": Category([0, 1])}).save(place)
    run(schema=place, target="b", rows=10)
    columns = json.loads(capsys.readouterr().out)["outlooks"][0]["columns"]
    assert [one["name"] for one in columns] == ["a"]
