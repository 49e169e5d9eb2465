"""Small made-up tables, about nobody, of which stored results are made; always the same."""

import numpy as np

from voile import Category, Number, Schema, Unit

FEATURES = {
    "age": Number(0, 100),
    "ward": Category(["A", "B", "C"]),
    "dose": Number(0, 10, whole=True),
}
TWO, THREE = Category(["well", "ill"]), Category(["well", "ill", "grave"])
TWO_CLASSES = Schema(FEATURES, target=TWO)
THREE_CLASSES = Schema(FEATURES, target=THREE)
A_NUMBER = Schema(FEATURES, target=Number(-50, 150))
PEOPLE = Schema(FEATURES, target=TWO, unit=Unit("who", rows=2))
SIDE = 8
PIXELS = Schema(
    {f"p{i}": Number(0, 255) for i in range(SIDE * SIDE)},
    target=Category(["lying", "standing"]),
    rows=240,
)


def patients(rows=400, seed=0):
    """Ages, wards and doses, some of them missing, and how ill people are, as a number."""
    draw = np.random.default_rng(seed)
    age = np.floor(draw.uniform(0, 100, rows) * 8) / 8
    ward = draw.choice(np.array(["A", "B", "C"], dtype=object), rows)
    dose = draw.integers(0, 11, rows).astype(float)
    ill = np.floor((age + 20 * (ward == "B") + draw.normal(0, 15, rows)) * 8) / 8
    dose[::17] = np.nan
    ward[5::29] = None
    return {"age": age, "ward": ward, "dose": dose}, ill


def two_classes(rows=400, seed=0):
    X, ill = patients(rows, seed)
    return X, np.where(ill > 55, "ill", "well")


def three_classes(rows=400, seed=0):
    X, ill = patients(rows, seed)
    return X, np.array(["well", "ill", "grave"])[(ill > 40).astype(int) + (ill > 80)]


def people(rows=400, seed=0):
    X, y = two_classes(rows, seed)
    return {**X, "who": np.array([f"person {i // 2}" for i in range(rows)])}, y


def asked():
    """Rows that somebody holds and asks about."""
    return {
        "age": np.array([20.0, 71.5, np.nan]),
        "ward": np.array(["A", "B", "Z"], dtype=object),
        "dose": np.array([3.0, 9.0, 0.0]),
    }


def pictures(rows=240, seed=0):
    """A bright bar, lying or standing, among grey noise."""
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 120, (rows, SIDE, SIDE))
    places = draw.integers(1, SIDE - 1, rows)
    for i in range(rows):
        images[(i, places[i]) if i % 2 else (i, slice(None), places[i])] = 230
    return images.astype(np.uint8), np.array(["standing", "lying"])[np.arange(rows) % 2]


def box(X):
    """A black box: a score from -1 to 1 of rows of ages, wards and doses."""
    table = np.asarray(X, dtype=object)
    age = np.array([50.0 if one is None else float(one) for one in table[:, 0]])
    ward = np.array([float(one == "B") for one in table[:, 1]])
    return np.tanh((np.nan_to_num(age, nan=50.0) - 50.0) / 25.0 + ward - 0.5)
