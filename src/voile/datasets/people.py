"""Tables about people, a census and hospital stays, with what their codebooks say."""

from __future__ import annotations

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.facts import Facts
from voile.schema import Category, Column, Number, Schema, Unit

# Levels in the order of adult.names, the documentation of the set; "?" is how it writes unknown.
ADULT: dict[str, Column] = {
    # Extracted with AAGE > 16; the survey codes 90 and older as 90.
    "age": Number(17, 90),
    "workclass": Category(
        [
            "Private",
            "Self-emp-not-inc",
            "Self-emp-inc",
            "Federal-gov",
            "Local-gov",
            "State-gov",
            "Without-pay",
            "Never-worked",
            "?",
        ]
    ),
    # How many people a row stands for: no documented upper bound.
    "fnlwgt": Number(),
    "education": Category(
        [
            "Bachelors",
            "Some-college",
            "11th",
            "HS-grad",
            "Prof-school",
            "Assoc-acdm",
            "Assoc-voc",
            "9th",
            "7th-8th",
            "12th",
            "Masters",
            "1st-4th",
            "10th",
            "Doctorate",
            "5th-6th",
            "Preschool",
        ]
    ),
    # Numbers of the 16 levels of education.
    "education-num": Number(1, 16),
    "marital-status": Category(
        [
            "Married-civ-spouse",
            "Divorced",
            "Never-married",
            "Separated",
            "Widowed",
            "Married-spouse-absent",
            "Married-AF-spouse",
        ]
    ),
    "occupation": Category(
        [
            "Tech-support",
            "Craft-repair",
            "Other-service",
            "Sales",
            "Exec-managerial",
            "Prof-specialty",
            "Handlers-cleaners",
            "Machine-op-inspct",
            "Adm-clerical",
            "Farming-fishing",
            "Transport-moving",
            "Priv-house-serv",
            "Protective-serv",
            "Armed-Forces",
            "?",
        ]
    ),
    "relationship": Category(
        ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]
    ),
    "race": Category(["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]),
    "sex": Category(["Female", "Male"]),
    # The survey codes gains of 99,999 and more as 99,999, and keeps five digits.
    "capital-gain": Number(0, 99_999),
    # No documented upper bound.
    "capital-loss": Number(),
    # Extracted with HRSWK > 0; the survey keeps two digits.
    "hours-per-week": Number(1, 99),
    "native-country": Category(
        [
            "United-States",
            "Cambodia",
            "England",
            "Puerto-Rico",
            "Canada",
            "Germany",
            "Outlying-US(Guam-USVI-etc)",
            "India",
            "Japan",
            "Greece",
            "South",
            "China",
            "Cuba",
            "Iran",
            "Honduras",
            "Philippines",
            "Italy",
            "Poland",
            "Jamaica",
            "Vietnam",
            "Mexico",
            "Portugal",
            "Ireland",
            "France",
            "Dominican-Republic",
            "Laos",
            "Ecuador",
            "Taiwan",
            "Haiti",
            "Columbia",
            "Hungary",
            "Guatemala",
            "Nicaragua",
            "Scotland",
            "Thailand",
            "Yugoslavia",
            "El-Salvador",
            "Trinadad&Tobago",
            "Peru",
            "Hong",
            "Holand-Netherlands",
            "?",
        ]
    ),
}

DRUGS = (
    "metformin",
    "repaglinide",
    "nateglinide",
    "chlorpropamide",
    "glimepiride",
    "acetohexamide",
    "glipizide",
    "glyburide",
    "tolbutamide",
    "pioglitazone",
    "rosiglitazone",
    "acarbose",
    "miglitol",
    "troglitazone",
    "tolazamide",
    "examide",
    "citoglipton",
    "insulin",
    "glyburide-metformin",
    "glipizide-metformin",
    "glimepiride-pioglitazone",
    "metformin-rosiglitazone",
    "metformin-pioglitazone",
)

# Table 1 of Strack et al. (2014) lists the values, the files of the set how they are spelled.
DIABETES130: dict[str, Column] = {
    "race": Category(["Caucasian", "Asian", "AfricanAmerican", "Hispanic", "Other", "?"]),
    "gender": Category(["Male", "Female", "Unknown/Invalid"]),
    "age": Category([f"[{start}-{start + 10})" for start in range(0, 100, 10)]),
    # Documented as a number of pounds, stored as intervals that are not listed anywhere.
    "weight": Category(),
    # The codes of IDs_mapping.csv, which comes with the set; it has no source 16.
    "admission_type_id": Category(list(range(1, 9))),
    "discharge_disposition_id": Category(list(range(1, 31))),
    "admission_source_id": Category([code for code in range(1, 27) if code != 16]),
    # Stays of 1 to 14 days: an inclusion criterion of the study.
    "time_in_hospital": Number(1, 14),
    # Only counted by the documentation (23 values, 84 values), not listed.
    "payer_code": Category(),
    "medical_specialty": Category(),
    # Counts without a documented upper bound.
    "num_lab_procedures": Number(),
    "num_procedures": Number(),
    "num_medications": Number(),
    "number_outpatient": Number(),
    "number_emergency": Number(),
    "number_inpatient": Number(),
    # ICD-9 codes, hundreds of them, not listed.
    "diag_1": Category(),
    "diag_2": Category(),
    "diag_3": Category(),
    "number_diagnoses": Number(),
    "max_glu_serum": Category(["None", "Norm", ">200", ">300"]),
    "A1Cresult": Category(["None", "Norm", ">7", ">8"]),
    **{drug: Category(["No", "Steady", "Up", "Down"]) for drug in DRUGS},
    "change": Category(["No", "Ch"]),
    "diabetesMed": Category(["No", "Yes"]),
}


def entries() -> tuple[Entry, ...]:
    """Return the tables about people."""
    adult = Facts(
        name="adult",
        title="Adult (census income)",
        task="classification",
        rows=48_842,
        schema=Schema(ADULT, target=Category(["<=50K", ">50K"])),
        source="US Current Population Survey of 1994; Becker and Kohavi (1996), UCI set 2",
        bounds=(
            "adult.names (levels, extraction conditions); top codes of the survey; no documented "
            "bound of fnlwgt and capital-loss"
        ),
        licence="CC BY 4.0 (UCI)",
        citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository.",
        note="Unknown values are the level '?'. fnlwgt is a survey weight, not a trait.",
        splits=("train", "test"),
    )
    diabetes = Facts(
        name="diabetes130",
        title="Diabetes 130-US hospitals 1999-2008",
        task="classification",
        rows=101_766,
        # One stay of each patient, as in the study itself.
        schema=Schema(
            DIABETES130,
            target=Category(["NO", ">30", "<30"]),
            unit=Unit("patient_nbr", rows=1),
        ),
        source="Health Facts database of Cerner; Strack et al. (2014), UCI set 296",
        bounds=(
            "Table 1 and the inclusion criteria of Strack et al. (2014); codes of IDs_mapping.csv; "
            "counts and lists that they do not bound are left open"
        ),
        licence="CC BY 4.0 (UCI)",
        citation=(
            "Strack, B. et al. (2014). Impact of HbA1c measurement on hospital readmission rates. "
            "BioMed Research International, 781670."
        ),
        note=(
            "71,518 patients: the unit of the schema protects a patient, and uses one stay of "
            "each, as the study does; with_unit(None) protects a stay. The usual binary target is "
            "y == '<30'. Unknown values are the level '?'."
        ),
    )
    return (
        Entry(adult, StoredTable("income")),
        Entry(diabetes, StoredTable("readmitted", carried=("patient_nbr",))),
    )
