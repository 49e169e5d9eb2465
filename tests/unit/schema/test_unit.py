"""Who is protected: what names suggest, what a schema says, and how it is written."""

import pytest

from voile import Category, Number, Schema, Unit
from voile.errors import SchemaError
from voile.schema.names import name_person, rank_suggestive, suggests_identifier, suggests_people
from voile.schema.unit import suggestive_columns, suspicion, unit_of

PEOPLE = [
    "patient",
    "patient_id",
    "PatientID",
    "patient_nbr",
    "customer",
    "customerID",
    "user_id",
    "USERID",
    "member",
    "member_no",
    "subject",
    "SUBJID",
    "person_key",
    "client_no",
    "account_id",
    "household_id",
    "employee_id",
    "MRN",
    "ssn",
    "e-mail",
    "IBAN",
    "Kunde",
    "Kundennummer",
    "kunden_nr",
    "PatientenID",
    "Patientennummer",
    "versichertennummer",
    "Mitgliedsnummer",
    "Fallnummer",
    "teilnehmer_id",
    "Probandin",
    "Personalnummer",
    "nachname",
    "hospital_patient_id",
]
PERHAPS = ["id", "ID", "stay_id", "encounter_id", "record_uuid", "bene_id"]
NOBODY = [
    "age",
    "paid",
    "covid",
    "grid",
    "valid",
    "amid",
    "new_customer",
    "customer_type",
    "patient_age",
    "num_patients",
    "number_of_members",
    "SeniorCitizen",
    "job_code",
    "zip_code",
    "diagnosis_code",
    "no",
    "number",
    "code",
    "key",
    "case",
    "fall",
    "account",
    "balance",
    "children",
    "family_size",
    "subjective",
    "hours-per-week",
    "idp",
    "month_no",
    "member_since",
]


@pytest.mark.parametrize("name", PEOPLE)
def test_names_of_people_are_asked_about(name):
    assert suggests_people(name)


def test_other_identifiers_come_after_people():
    assert all(suggests_identifier(name) and not suggests_people(name) for name in PERHAPS)
    assert rank_suggestive(["stay_id", "age", "patient"]) == ("patient", "stay_id")


@pytest.mark.parametrize("name", NOBODY)
def test_other_names_are_not_asked_about(name):
    assert not suggests_people(name)
    assert not suggests_identifier(name)


def test_a_truth_value_tells_nobody_apart_and_an_id_with_listed_levels_is_a_code():
    columns = {
        "member": Category([False, True]),
        "type_id": Category([1, 2, 3]),
        "stay_id": Number(),
        "client": Category(["A", "B", "C"]),
        "age": Number(0, 120),
    }
    assert suggestive_columns(columns) == ("client", "stay_id")


def test_people_are_called_what_they_are():
    assert name_person("patient_id") == "patient"
    assert name_person("Kundennummer") == "person"
    assert suspicion("stay_id") == "Column 'stay_id' suggests that one person may have several rows"
    assert "that one customer may" in suspicion("customerID")


@pytest.mark.parametrize(
    "unit",
    [Unit(), Unit(rows=5), Unit("patient"), Unit("patient_id", 4), Unit("row"), Unit("a (at most")],
)
def test_a_unit_is_read_back_from_a_receipt_and_from_files(unit):
    assert unit_of(str(unit)) == unit
    schema = Schema({"a": Number(0, 1)}, unit=unit)
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_json(schema.to_json()) == schema


def test_what_is_no_unit_of_a_schema_is_not_read_as_one():
    assert unit_of("client") is None
    assert unit_of("patient") is None


def test_each_row_can_be_said_to_be_another_person():
    said = Schema({"a": Number(0, 1)}, unit="row")
    assert said.unit == Unit() == Unit(rows=1)
    assert said.to_dict()["unit"] == "row"
    assert said != Schema({"a": Number(0, 1)})
    assert said.privacy_unit == Schema({"a": Number(0, 1)}).privacy_unit
    assert str(Unit()) == Unit().name == "row"


def test_ledgers_tell_units_apart():
    assert Unit("patient", 2).name == Unit("patient", 9).name == "patient"
    assert Unit(rows=5).name != Unit(rows=4).name
    assert len({Unit("row").name, Unit().name, Unit("person").name, Unit(rows=5).name}) == 4


def test_the_column_of_a_unit_is_no_feature():
    frame = {"patient_id": [1, 1], "age": [3, 4]}
    assert list(Schema.from_frame(frame, unit=Unit("patient_id", 2))) == ["age"]
    assert list(Schema.from_frame(frame).with_unit(Unit("patient_id"))) == ["age"]
    with pytest.raises(SchemaError, match="cannot be a feature too"):
        Schema({"patient_id": Number()}, unit=Unit("patient_id"))


@pytest.mark.parametrize("given", ["patient", {}, {"column": None}, {"rows": 0}, {"row": 1}, 3])
def test_a_file_that_does_not_say_who_is_refused(given):
    with pytest.raises(SchemaError):
        Schema.from_dict({"voile_schema": 1, "columns": {}, "unit": given})


@pytest.mark.parametrize("given", ["patient", 1, Unit, ["row"]])
def test_what_is_no_unit_is_refused(given):
    with pytest.raises(SchemaError, match="'unit' of a Schema"):
        Schema({}, unit=given)
