"""YAML as people read it: nothing means another thing than it looks like, letters stay letters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.errors import SchemaError
from voile.schema.yaml_text import read_yaml, write_yaml

_MISREAD = [
    *("01067", "08123", "0x10", "0o17", "0b11", "1_000", "+5", "12:30", "08:30", "00.5", "1_0.5"),
    *("1e3", "1E-3", "1.0e3", "190:20:30.15", "no", "On", "OFF", "yes", "<<", "="),
]


@pytest.mark.parametrize("text", _MISREAD)
def test_what_is_read_otherwise_than_it_looks_needs_quotes(text):
    for written in (f"levels: [a, {text}]", f"levels:\n- {text}\n", f"upper: {text}", f"{text}: 1"):
        with pytest.raises(SchemaError) as error:
            read_yaml(written)
        assert f"says {text} without quotes (line " in str(error.value)
        assert f'write "{text}"' in str(error.value)
        assert "\n" not in str(error.value)
    assert read_yaml(f"levels: [\"{text}\", '{text}']") == {"levels": [text, text]}


@pytest.mark.parametrize("text", ["~", "null", "2024-01-31", "2024-01-31 08:30:00"])
def test_dates_and_nothing_are_bounds_but_no_levels(text):
    with pytest.raises(SchemaError, match=f"says {text} without quotes"):
        read_yaml(f"levels: [{text}]")
    read_yaml(f"lower: {text}")
    with pytest.raises(SchemaError, match="a level without a text"):
        read_yaml("levels:\n- a\n-\n")


def test_the_first_place_is_named():
    with pytest.raises(SchemaError, match=r"says 01067 without quotes \(line 2, column 12\)"):
        read_yaml("a:\n  levels: [01067, 01070, 08123]\nb: {levels: [no]}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("0", 0), ("-17", -17), ("1067", 1067), ("12.50", 12.5), (".5", 0.5), ("-0.5", -0.5)),
        *(("1.0e+16", 1e16), ("true", True), ("False", False), ("E11.9", "E11.9"), ("I10", "I10")),
        *(("1-2", "1-2"), ("12:75", "12:75"), ("nein", "nein"), ("1.2.3", "1.2.3"), ("y", "y")),
    ],
)
def test_what_means_what_it_looks_like_needs_none(text, value):
    assert read_yaml(f"levels: [{text}]") == {"levels": [value]}


@pytest.mark.parametrize(
    "text",
    ["a: [1,\n", "a: 'b\n", "\ta: 1\n", "a: b: c", "a: %b", "a: \x01", "a: !!python/x 1", "}"],
)
def test_what_is_no_yaml_is_told_in_one_line_of_plain_words(text):
    with pytest.raises(SchemaError) as error:
        read_yaml(text)
    assert str(error.value).startswith("The schema is not valid YAML: ")
    for raw in ("\n", "<", "unicode", "token", "while"):
        assert raw not in str(error.value)


def test_letters_are_written_as_letters_and_what_cannot_be_seen_as_escapes():
    names = [
        "Größe",
        "\U0001f600 mood",
        "日本",
        "a\u202eb ü",
        "\u200b",
        "x\x07é",
        "no\u00a0break ß",
    ]
    text = write_yaml({"levels": names})
    for shown in ("Größe", "\U0001f600 mood", "日本", '"a\\u202Eb ü"', '"\\u200B"', '"x\\x07é"'):
        assert shown in text
    assert '"no\\xA0break ß"' in text
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert read_yaml(text) == {"levels": names}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
        | st.sampled_from(_MISREAD)
        | st.text("0123456789.:_eExob+- ~<=#\n\t\"'\\", max_size=8)
    )
)
def test_every_text_is_read_back(texts):
    data = {"levels": texts, "columns": {name: {"kind": "category"} for name in texts}}
    assert read_yaml(write_yaml(data)) == data
