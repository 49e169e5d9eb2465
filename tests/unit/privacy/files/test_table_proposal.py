"""What is proposed of a file: by names and kinds alone, and nothing where they mislead."""

import pytest

from voile import Category, Number, Schema, protect, read_table
from voile.errors import DataError
from voile.privacy.files.table_files import TableFile
from voile.privacy.files.table_proposal import propose_columns, propose_schema


def test_proposals_come_from_names_and_kinds(tmp_path):
    names = "age,HoursPerWeek,patient_id,ph,fat_percent,income,city,phone"
    (tmp_path / "t.csv").write_text(names + "\n" + "1,2.5,3,4.5,5.5,6,x,8\n" * 30)
    found = {one.name: one for one in propose_columns(TableFile(tmp_path / "t.csv"))}
    assert found["age"].column == Number(0, 120, whole=True)
    assert found["HoursPerWeek"].column == Number(0, 168)
    assert found["ph"].column == Number(0, 14)
    assert found["fat_percent"].column == Number(0, 100)
    assert found["income"].column == Number(whole=True)
    assert found["city"].column == Category()
    assert not found["patient_id"].use
    assert not found["phone"].use
    # Other values, the same names and kinds: the same proposal.
    (tmp_path / "t.csv").write_text(names + "\n" + "999,-7.5,0,1e-9,-5.5,0,yy,1\n" * 30)
    assert {one.name: one for one in propose_columns(TableFile(tmp_path / "t.csv"))} == found


def test_a_training_without_a_schema_takes_no_bounds_from_names(tmp_path):
    (tmp_path / "t.csv").write_text("id,age,ill\n" + "1,2,no\n" * 9)
    assert propose_schema(TableFile(tmp_path / "t.csv"), "ill") == Schema(
        {"age": Number()}, target=Category()
    )


@pytest.fixture
def priced(tmp_path):
    rows = "".join(f"{20 + i % 60},€{i % 97}.50,{i % 100}%,{i % 2}\n" for i in range(400))
    path = tmp_path / "t.csv"
    path.write_text("age,cost,rate,ill\n" + rows, encoding="utf-8")
    return path


def test_amounts_with_a_sign_are_refused_where_kinds_are_guessed(priced):
    told = "'cost' in .* look like amounts with '€', and are no numbers: remove the sign"
    for ask in (lambda: read_table(priced), lambda: protect(priced, "ill", target=Category())):
        with pytest.raises(DataError, match=told):
            ask()
    file = TableFile(priced)
    with pytest.raises(DataError, match=told):
        propose_schema(file, "ill")
    assert [one.split(":")[0] for one in file.doubts] == [
        "The values of column 'cost' look like amounts with '€', and are no numbers",
        "The values of column 'rate' look like amounts with '%', and are no numbers",
    ]


def test_a_schema_may_say_that_amounts_are_categories(priced):
    schema = Schema({"age": Number(0, 120), "rate": Category()})
    assert read_table(priced, schema)["rate"][:2].to_pylist() == ["0%", "1%"]
    with pytest.raises(DataError, match="Most of the first rows of column 'cost'"):
        read_table(priced, Schema({"cost": Number(0, 100)}))
