"""Pairs of columns as a person types them: any names, one reading, refused before a payment."""

import pytest

from voile import Category, EBMClassifier, Number, Schema
from voile.cli.interactions import find_pairs, read_pairs, split_pair, tell_pairs
from voile.cli.options import ModelKind
from voile.errors import SchemaError, SettingError

SCHEMA = Schema(
    {"age": Number(0, 120), "dose, in mg": Number(0, 10), "a:b": Number(0, 1), "b & c": Number()},
    target=Category(["no", "yes"]),
)


def read(most="auto", *pairs, model=ModelKind.EBM):
    return read_pairs(most, pairs, SCHEMA, model)


def test_what_is_asked_for_is_what_an_estimator_takes():
    assert read() == "auto"
    assert read("0") == 0
    assert read(" 7 ") == 7
    assert read("auto", "age:dose, in mg") == [("age", "dose, in mg")]
    assert read("auto", "age & a:b", "b & c:age") == [("age", "a:b"), ("b & c", "age")]


@pytest.mark.parametrize("text", ["age:a:b", "age & a:b", "age&a:b", " age : a:b "])
def test_names_may_hold_the_signs_that_part_them(text):
    assert split_pair(text, list(SCHEMA)) == ("age", "a:b")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("three",), "auto or a whole number.*--pair"),
        (("2.5",), "whole number"),
        (("",), "whole number"),
        (("-1",), "from 0 to 64"),
        (("65",), "from 0 to 64"),
        (("age:a:b",), "--pair COLUMN:COLUMN"),
        (("3", "age:a:b"), "leave --interactions out"),
        (("auto", "age"), "colon between them"),
        (("auto", ""), "colon between them"),
        (("auto", "age:nowhere"), "'nowhere'.*no such column.*'age'"),
        (("auto", "age:no:where"), "'age:no:where'"),
        (("auto", "age:age"), "one column twice"),
        (("auto", "age:a:b", "a:b & age"), "named twice"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, words):
    with pytest.raises((SettingError, SchemaError), match=words):
        read(*given)


def test_two_readings_are_none():
    with pytest.raises(SettingError, match=r"2 ways.*library"):
        split_pair("a:b:c", ["a", "b:c", "a:b", "c"])


@pytest.mark.parametrize("given", [("0",), ("auto", "age:a:b")])
def test_pairs_are_for_additive_models(given):
    with pytest.raises(SettingError, match="--model ebm"):
        read(*given, model=ModelKind.GMLVQ)
    assert read(model=ModelKind.GMLVQ) == "auto"


def test_what_was_found_is_told_in_a_line():
    frame = {"a": [0.1, 0.9] * 300, "b": [0.1, 0.1, 0.9, 0.9] * 150}
    target = [["no", "yes"][(x > 0.5) ^ (z > 0.5)] for x, z in zip(*frame.values(), strict=True)]
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=Category(["no", "yes"]))

    def told(**settings):
        model = EBMClassifier(epsilon=float("inf"), schema=schema, **settings).fit(frame, target)
        return find_pairs(model.model_), tell_pairs(model.model_)

    found, line = told(interactions=[("b", "a")])
    assert found == [{"columns": ["a", "b"], "verdict": "clear"}]
    assert line == "Pairs of columns: a & b (clear)"
    assert told(interactions=0) == (None, "")
    frame["b"] = frame["a"]
    found, line = told()
    assert found == []
    assert line == "Pairs of columns: none was clear of the noise"


def test_edited_pairs_have_no_verdict_and_the_others_keep_theirs():
    from dataclasses import replace

    frame = {name: [0.1, 0.9, 0.4] * 200 for name in "abc"}
    schema = Schema({name: Number(0, 1) for name in "abc"}, target=Category([0, 1]))
    named = [("a", "b"), ("b", "c")]
    fitted = EBMClassifier(epsilon=8.0, schema=schema, interactions=named)
    model = fitted.fit(frame, [0, 1, 1] * 200).model_
    first = find_pairs(model)
    edited = model.with_pair(replace(model.pairs[0], evidence=None))
    assert find_pairs(edited)[0]["verdict"] == "edited"
    assert find_pairs(edited)[1] == first[1]


def test_the_verdict_allows_for_all_terms_and_pairs():
    from voile.models.ebm.pair_verdicts import judge_pairs
    from voile.models.verdict import judge

    class Told:
        def __init__(self, value):
            self.value = value

        def p_value(self):
            return self.value

    class Part:
        def __init__(self, value):
            self.evidence = None if value is None else Told(value)

    class Model:
        terms = (Part(0.5), Part(None), Part(0.9))
        pairs = (Part(0.02), Part(None), Part(0.0001))

    # Holm: 0.0001 x 4, 0.02 x 3.
    assert judge(0.02) == "perhaps"
    assert judge_pairs(Model()) == ("cannot be told from nothing", "edited", "clear")
