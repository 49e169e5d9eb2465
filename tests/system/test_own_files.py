"""One's own rows in files: every row has its answer, in a file like the one with the question."""

import contextlib
import csv
import io

import pytest
from command_line import run_voile
from workbooks import write_workbook

from needs import needs
from voile import Category, EBMClassifier, Number, Schema, load
from voile.cli import app
from voile.errors import DataError
from voile.privacy.noise import fixed_noise

WARDS = ["Süd", "Ost"]
excel = needs("openpyxl", "python_calamine")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.voile"
    table = {"cost": [1889.5 + i for i in range(40)], "ward": WARDS * 20}
    schema = Schema({"cost": Number(0, 5000), "ward": Category(WARDS)}, target=Category(["a", "b"]))
    with fixed_noise(1):
        fitted = EBMClassifier(epsilon=4, schema=schema, rounds=1).fit(table, ["a", "b"] * 20)
    fitted.save(path)
    return path


def ask(model, path, monkeypatch, capsys, *said):
    return run_voile(["predict", model, path, *said], monkeypatch, capsys)


def test_answers_are_written_like_the_rows(model, tmp_path, monkeypatch, capsys):
    rows = tmp_path / "new.csv"
    rows.write_bytes(
        "who;cost;ward\nM\xfcller;1.889,50;S\xfcd\n7;70.000;Nord\n8;;\n".encode("cp1252")
    )
    done = ask(model, rows, monkeypatch, capsys, "--keep", "who", "--probabilities")
    assert done.code == 0
    table = list(csv.DictReader(io.StringIO(done.out), delimiter=";"))
    assert [one["who"] for one in table] == ["Müller", "7", "8"]
    assert all("," in one["probability of a"] for one in table)
    assert [one["notes"] for one in table] == [
        "",
        "cost = 70000, read as 5000; ward = Nord, read as (other)",
        "",
    ]
    assert "1 row has values" in done.err
    place = tmp_path / "answers.csv"
    assert ask(model, rows, monkeypatch, capsys, "--keep", "who", "-o", place).code == 0
    assert place.read_bytes().startswith(b"\xef\xbb\xbfwho;prediction;notes\nM\xc3\xbcller;")
    done = ask(model, rows, monkeypatch, capsys, "--strict")
    assert done.code == 2
    assert "1 of 3 rows" in done.err
    assert "line 3" in done.err


@excel
def test_answers_for_excel(model, tmp_path, monkeypatch, capsys):
    import openpyxl

    rows = [
        ["who", "cost", "ward"],
        ["A", 12.5, "Süd"],
        ["B", "#DIV/0!", "Ost"],
        ["C", "much", "?"],
    ]
    path = write_workbook(tmp_path / "new.xlsx", rows, others=["more"])
    place = tmp_path / "answers.xlsx"
    done = ask(model, path, monkeypatch, capsys, "--keep", "who", "-o", place)
    assert done.code == 0
    assert "the sheet 'Table' is read" in done.err
    sheet = openpyxl.load_workbook(place).active
    told = [(row[0], row[2]) for row in sheet.iter_rows(values_only=True)]
    assert told == [
        ("who", "notes"),
        ("A", None),
        ("B", "cost = '#DIV/0!' unreadable, read as missing"),
        ("C", "cost = 'much' unreadable, read as missing"),
    ]
    for verb in (["explain", model, path], ["report", model, "--rows", path, "-o", "r.html"]):
        monkeypatch.chdir(tmp_path)
        done = run_voile(verb, monkeypatch, capsys)
        assert done.code == 0
        assert "In row 3: cost = '#DIV/0!' unreadable, read as missing." in done.err
        assert run_voile([*verb, "--strict"], monkeypatch, capsys).code == 2


OWN = {
    "an extra field": ("who,cost,ward\n1,2,Ost\n2,3,Ost,x\n", [], "line 3 has 4 fields"),
    "two ways": ("who;cost;ward\n1;1.889;Ost\n", [], "column 'cost'"),
    "mixed signs": ("who;cost;ward\n1;3.5;Ost\n2;3,5;Ost\n", [], "decimal points in some rows"),
    "two encodings": (b"who,cost,ward\n1,2,S\xc3\xbcd\n2,3,S\xfcd\n", [], "line 3 is not UTF-8"),
    "a column to keep that is not there": (
        "cost,ward\n1,Ost\n",
        ["--keep", "who"],
        "no column 'who'",
    ),
    "a column to keep that answers have": (
        "cost,ward,notes\n1,Ost,x\n",
        ["--keep", "notes"],
        "keep another",
    ),
    "separators alone": ("cost;ward\n1;Ost\n;\n2;Ost\n", [], "line 3 is empty"),
    "a number beyond all numbers": (
        "cost,ward\n1e400,Ost\n",
        ["--strict"],
        "line 2: cost = '1e400' unreadable, read as missing",
    ),
    "a date for a number": (
        "cost,ward\n2024-05-01,Ost\n",
        ["--strict"],
        "line 2: cost = '2024-05-01' (a date) unreadable, read as missing",
    ),
    "no rows": ("cost,ward\n", [], "no rows"),
    "no file": (None, [], "no file"),
}


@pytest.mark.parametrize("name", OWN)
def test_own_rows_that_do_not_fit_are_refused(name, model, tmp_path, monkeypatch, capsys):
    text, said, words = OWN[name]
    path = tmp_path / "new.csv"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = ask(model, path, monkeypatch, capsys, *said)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1


def test_amounts_with_a_sign_are_refused_before_a_training_pays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + i % 60};{i % 97},50 €;{'ja' if i % 2 else 'nein'}\n" for i in range(300))
    (tmp_path / "t.csv").write_text("age;cost;ill\n" + rows, encoding="utf-8")
    said = ["train", "t.csv", "--target", "ill", "--ledger", "l.db", "--budget", "3"]
    done = run_voile(said, monkeypatch, capsys)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "'cost' in 't.csv' look like amounts with '€'" in done.err
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
    done = run_voile(["schema", "t.csv", "--target", "ill", "--no-ask"], monkeypatch, capsys)
    assert done.code == 0
    assert "'cost' look like amounts with '€'" in done.err


def test_a_proposed_schema_is_printed_as_utf8_whatever_the_system_writes(
    tmp_path, monkeypatch, capfdbinary
):
    (tmp_path / "t.csv").write_text("Größe,\U0001f600\n1,2\n", encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), "cp1252")
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.argv", ["voile", "schema", str(tmp_path / "t.csv"), "--no-ask"])
    with contextlib.suppress(SystemExit):
        app.main()
    out.flush()
    assert list(Schema.from_yaml(out.buffer.getvalue().decode())) == ["Größe", "\U0001f600"]


def test_python_reads_the_same_files(model, tmp_path):
    loaded, path = load(model), tmp_path / "new.csv"
    path.write_text("cost;ward\n1.889,50;Süd\n3;Ost\n")
    frame = {"cost": [1889.5, 3], "ward": ["Süd", "Ost"]}
    assert loaded.predict_proba(path).tolist() == loaded.predict_proba(frame).tolist()
    assert str(loaded.explain_local(str(path))) != ""
    path.write_text("cost;ward\n1.889,50;Süd\nmuch;Ost\n")
    with pytest.raises(DataError, match=r"In line 3 of .*cost = 'much' cannot be read"):
        loaded.predict(path)
