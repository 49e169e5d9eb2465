"""Motion of people by the sensors of a phone: 561 features with the names of their documentation.

The documentation writes three groups of names three times each (energies of bands, for the axes x,
y and z) and a few names with "BodyBody"; here the axis is appended, and one "Body" is left out.
"""

from __future__ import annotations

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.facts import Facts
from voile.schema import Category, Number, Schema

ACTIVITIES = (
    "WALKING",
    "WALKING_UPSTAIRS",
    "WALKING_DOWNSTAIRS",
    "SITTING",
    "STANDING",
    "LAYING",
)
"""In the order of their numbers, from 1."""

_AXES = ("X", "Y", "Z")
_SPREAD = ("mean()", "std()", "mad()", "max()", "min()")
_BANDS = (
    "1,8",
    "9,16",
    "17,24",
    "25,32",
    "33,40",
    "41,48",
    "49,56",
    "57,64",
    "1,16",
    "17,32",
    "33,48",
    "49,64",
    "1,24",
    "25,48",
)


def feature_names() -> tuple[str, ...]:
    """Return the 561 names, in the documentation's order."""
    names: list[str] = []
    for signal in ("BodyAcc", "GravityAcc", "BodyAccJerk", "BodyGyro", "BodyGyroJerk"):
        names += _along_axes(f"t{signal}")
        names += [f"t{signal}-arCoeff()-{axis},{k}" for axis in _AXES for k in range(1, 5)]
        names += [f"t{signal}-correlation()-{pair}" for pair in ("X,Y", "X,Z", "Y,Z")]
    for signal in ("BodyAcc", "GravityAcc", "BodyAccJerk", "BodyGyro", "BodyGyroJerk"):
        names += _of_magnitude(f"t{signal}Mag")
        names += [f"t{signal}Mag-arCoeff(){k}" for k in range(1, 5)]
    shape = ("maxInds", "meanFreq()", "skewness()", "kurtosis()")
    for signal in ("BodyAcc", "BodyAccJerk", "BodyGyro"):
        names += _along_axes(f"f{signal}")
        names += [f"f{signal}-{what}-{axis}" for what in shape for axis in _AXES]
        names += [f"f{signal}-bandsEnergy()-{band}-{axis}" for axis in _AXES for band in _BANDS]
    for signal in ("BodyAcc", "BodyAccJerk", "BodyGyro", "BodyGyroJerk"):
        names += _of_magnitude(f"f{signal}Mag")
        names += [f"f{signal}Mag-{what}" for what in shape]
    angles = ("tBodyAccMean", "tBodyAccJerkMean", "tBodyGyroMean", "tBodyGyroJerkMean", *_AXES)
    return (*names, *(f"angle({one},gravityMean)" for one in angles))


def _along_axes(signal: str) -> list[str]:
    names = [f"{signal}-{what}-{axis}" for what in _SPREAD for axis in _AXES]
    names.append(f"{signal}-sma()")
    last = ("energy()", "iqr()", "entropy()")
    return names + [f"{signal}-{what}-{axis}" for what in last for axis in _AXES]


def _of_magnitude(signal: str) -> list[str]:
    return [f"{signal}-{what}" for what in (*_SPREAD, "sma()", "energy()", "iqr()", "entropy()")]


def entries() -> tuple[Entry, ...]:
    """Return the published features, and those computed anew from the recordings."""
    schema = Schema(
        {name: Number(-1, 1) for name in feature_names()}, target=Category(list(ACTIVITIES))
    )
    bounds = "features_info.txt: features are normalised and bounded within [-1, 1]"
    published = Facts(
        name="uci_har",
        title="Human activity recognition using smartphones",
        task="classification",
        rows=10_299,
        schema=schema,
        source="30 persons with a phone at the waist; Anguita et al. (2013), UCI set 240",
        bounds=bounds,
        licence="CC BY 4.0 (UCI)",
        citation=(
            "Anguita, D. et al. (2013). A public domain dataset for human activity recognition "
            "using smartphones. ESANN."
        ),
        note=(
            "One window of 2.56 seconds is a row, so a promise for a row is none for a person. "
            "The copy on OpenML does not tell persons and splits."
        ),
    )
    computed = Facts(
        name="hapt_har561",
        title="Human activities and postural transitions, features computed anew",
        task="classification",
        rows=10_411,
        schema=schema,
        source="Raw recordings of the experiment of uci_har; Reyes-Ortiz et al., UCI set 341",
        bounds=bounds,
        licence="CC BY 4.0 (UCI)",
        citation=(
            "Reyes-Ortiz, J.-L. et al. (2016). Transition-aware human activity recognition using "
            "smartphones. Neurocomputing 171, 754-767."
        ),
        note=(
            "Features follow the definitions of uci_har but are not bit-equal to them. One window "
            "is a row; the column 'subject' tells whose, for schema.with_unit."
        ),
        splits=("train", "test"),
    )
    return (
        Entry(published, StoredTable("activity")),
        Entry(computed, StoredTable("activity", carried=("subject",))),
    )
