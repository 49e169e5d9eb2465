"""Tables about customers: who leaves a telephone company, and whose card was stolen."""

from __future__ import annotations

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.facts import Facts
from voile.schema import Category, Column, Number, Schema

_INTERNET = ["Yes", "No", "No internet service"]

# Levels of the data dictionary on the set's Kaggle page. It bounds no number.
TELCO: dict[str, Column] = {
    "gender": Category(["Female", "Male"]),
    "SeniorCitizen": Category(["0", "1"]),
    "Partner": Category(["Yes", "No"]),
    "Dependents": Category(["Yes", "No"]),
    "tenure": Number(),
    "PhoneService": Category(["Yes", "No"]),
    "MultipleLines": Category(["Yes", "No", "No phone service"]),
    "InternetService": Category(["DSL", "Fiber optic", "No"]),
    "OnlineSecurity": Category(_INTERNET),
    "OnlineBackup": Category(_INTERNET),
    "DeviceProtection": Category(_INTERNET),
    "TechSupport": Category(_INTERNET),
    "StreamingTV": Category(_INTERNET),
    "StreamingMovies": Category(_INTERNET),
    "Contract": Category(["Month-to-month", "One year", "Two year"]),
    "PaperlessBilling": Category(["Yes", "No"]),
    "PaymentMethod": Category(
        [
            "Electronic check",
            "Mailed check",
            "Bank transfer (automatic)",
            "Credit card (automatic)",
        ]
    ),
    "MonthlyCharges": Number(),
    "TotalCharges": Number(),
}

FRAUD: dict[str, Column] = {
    # Seconds since the first transaction, over two days.
    "Time": Number(0, 2 * 24 * 60 * 60),
    # Principal components: no documented bounds.
    **{f"V{k}": Number() for k in range(1, 29)},
    "Amount": Number(),
}


def entries() -> tuple[Entry, ...]:
    """Return the tables about customers."""
    telco = Facts(
        name="telco_churn",
        title="Telco customer churn",
        task="classification",
        rows=7_043,
        schema=Schema(TELCO, target=Category(["No", "Yes"])),
        source="Sample data of IBM about an invented company",
        bounds="levels of the data dictionary of its Kaggle page, which bounds no number",
        licence="Apache-2.0 (IBM)",
        citation="IBM. Telco customer churn, IBM sample data sets.",
        note=(
            "The licence is that of IBM's repository; the table has none of its own. TotalCharges "
            "is missing for the 11 customers of the first month."
        ),
    )
    fraud = Facts(
        name="credit_fraud",
        title="Credit card fraud detection",
        task="classification",
        rows=284_807,
        schema=Schema(FRAUD, target=Category([0, 1])),
        source="Worldline and Université Libre de Bruxelles: two days of September 2013",
        bounds="the description on its Kaggle page: two days; it bounds nothing else",
        licence="DbCL 1.0 (Kaggle)",
        citation=(
            "Dal Pozzolo, A. et al. (2015). Calibrating probability with undersampling for "
            "unbalanced classification. IEEE SSCI."
        ),
        note="0.17 % frauds. The copy on OpenML lacks Time.",
    )
    return (
        Entry(telco, StoredTable("Churn")),
        Entry(fraud, StoredTable("Class", optional=("Time",))),
    )
