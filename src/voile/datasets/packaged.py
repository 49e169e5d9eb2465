"""Sets that come with scikit-learn and statsmodels.

Where the package's documentation prints the lowest and highest value of each column, the schema
takes them from there, as far as they are printed (values beyond are clamped). They are published,
so they are public here; a table of one's own that nobody has published has no such bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from voile.datasets.entry import Content, Entry, Packaged
from voile.datasets.facts import Facts
from voile.datasets.pictures import pixel_schema
from voile.errors import MissingExtra
from voile.schema import Category, Column, Number, Schema

_PRINTED = "table of lowest and highest values printed in scikit-learn's documentation"
_UCI_LICENCE = "CC BY 4.0 (UCI)"

# Mean, standard error, and worst of ten traits of the nuclei in a picture.
_BREAST: Mapping[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "radius": ((6.981, 28.11), (0.112, 2.873), (7.93, 36.04)),
    "texture": ((9.71, 39.28), (0.36, 4.885), (12.02, 49.54)),
    "perimeter": ((43.79, 188.5), (0.757, 21.98), (50.41, 251.2)),
    "area": ((143.5, 2501.0), (6.802, 542.2), (185.2, 4254.0)),
    "smoothness": ((0.053, 0.163), (0.002, 0.031), (0.071, 0.223)),
    "compactness": ((0.019, 0.345), (0.002, 0.135), (0.027, 1.058)),
    "concavity": ((0.0, 0.427), (0.0, 0.396), (0.0, 1.252)),
    "concave points": ((0.0, 0.201), (0.0, 0.053), (0.0, 0.291)),
    "symmetry": ((0.106, 0.304), (0.008, 0.079), (0.156, 0.664)),
    "fractal dimension": ((0.05, 0.097), (0.001, 0.03), (0.055, 0.208)),
}
_WINE: Mapping[str, tuple[float, float]] = {
    "alcohol": (11.0, 14.8),
    "malic_acid": (0.74, 5.80),
    "ash": (1.36, 3.23),
    "alcalinity_of_ash": (10.6, 30.0),
    "magnesium": (70.0, 162.0),
    "total_phenols": (0.98, 3.88),
    "flavanoids": (0.34, 5.08),
    "nonflavanoid_phenols": (0.13, 0.66),
    "proanthocyanins": (0.41, 3.58),
    "color_intensity": (1.3, 13.0),
    "hue": (0.48, 1.71),
    "od280/od315_of_diluted_wines": (1.27, 4.00),
    "proline": (278, 1680),
}
_IRIS: Mapping[str, tuple[float, float]] = {
    "sepal length (cm)": (4.3, 7.9),
    "sepal width (cm)": (2.0, 4.4),
    "petal length (cm)": (1.0, 6.9),
    "petal width (cm)": (0.1, 2.5),
}
_DIABETES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")

# By the definitions in the documentation: ln(coinsurance + 1) with 0 <= coinsurance <= 100, and
# indicators. It bounds neither payments nor counts. A limitation that is not known is between 0
# and 1 in the file, so that it is a number.
_RANDHIE: Mapping[str, Column] = {
    "lncoins": Number(0, math.log(101)),
    "idp": Category([0, 1]),
    "lpi": Number(),
    "fmde": Number(),
    "physlm": Number(0, 1),
    "disea": Number(),
    "hlthg": Category([0, 1]),
    "hlthf": Category([0, 1]),
    "hlthp": Category([0, 1]),
}


def breast_cancer_bounds() -> dict[str, Column]:
    """Return the thirty columns, in the order of the file."""
    forms = ("mean {}", "{} error", "worst {}")
    return {
        form.format(trait): Number(*bounds[k])
        for k, form in enumerate(forms)
        for trait, bounds in _BREAST.items()
    }


def read_randhie() -> Content:
    """Read the table of the RAND experiment; the target is the number of visits to a doctor."""
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        raise MissingExtra("statsmodels", "demo") from None
    import pyarrow as pa

    frame = randhie.load_pandas().data
    y = frame["mdvis"].to_numpy(dtype=np.float64)
    return Content(pa.table({name: frame[name].to_numpy() for name in _RANDHIE}), y)


def read_bundled(loader: str, names: tuple[str, ...] | None) -> Callable[[], Content]:
    """Return a reader of one of scikit-learn's tables, or pictures if `names` is None."""

    def read() -> Content:
        import pyarrow as pa
        from sklearn import datasets

        bunch: Any = getattr(datasets, loader)()
        if names is None:
            return Content(np.asarray(bunch.data), bunch.target.astype(np.int64))
        X = pa.table(dict(zip(names, bunch.data.T.copy(), strict=True)))
        if "target_names" in bunch:
            return Content(X, bunch.target_names.astype(object)[bunch.target])
        return Content(X, bunch.target.astype(np.float64))

    return read


def _bundled(facts: Facts) -> Entry:
    names = None if facts.image_shape is not None else tuple(facts.schema)
    return Entry(facts, Packaged("scikit-learn", read_bundled(f"load_{facts.name}", names)))


def entries() -> tuple[Entry, ...]:
    """Return the sets that come with packages."""
    rand = Facts(
        name="randhie",
        title="RAND health insurance experiment",
        task="regression",
        rows=20_190,
        schema=Schema(_RANDHIE, target=Number()),
        source="RAND Corporation; Cameron and Trivedi (2005), shipped by statsmodels",
        bounds="definitions in statsmodels' documentation; payments and counts are left open",
        licence="public domain",
        citation="Cameron, A. C. and Trivedi, P. K. (2005). Microeconometrics. Cambridge.",
        note="The target is mdvis, visits to a doctor in a year. A person may have several rows.",
    )
    breast = Facts(
        name="breast_cancer",
        title="Breast Cancer Wisconsin (Diagnostic)",
        task="classification",
        rows=569,
        schema=Schema(breast_cancer_bounds(), target=Category(["malignant", "benign"])),
        source="University of Wisconsin (1995), UCI set 17",
        bounds=_PRINTED,
        licence=_UCI_LICENCE,
        citation="Wolberg, W. et al. (1995). Breast Cancer Wisconsin (Diagnostic). UCI.",
    )
    diabetes = Facts(
        name="diabetes",
        title="Diabetes progression",
        task="regression",
        rows=442,
        schema=Schema({name: Number(-0.2, 0.2) for name in _DIABETES}, target=Number(25, 346)),
        source="Efron et al. (2004)",
        bounds="scikit-learn's documentation: -.2 < x < .2, targets 25 to 346",
        licence="not stated",
        citation="Efron, B. et al. (2004). Least angle regression. Annals of Statistics 32.",
        note="Columns are centred and scaled with all rows, which a private table must not be.",
    )
    wine = Facts(
        name="wine",
        title="Wine recognition",
        task="classification",
        rows=178,
        schema=Schema(
            {name: Number(*bounds) for name, bounds in _WINE.items()},
            target=Category(["class_0", "class_1", "class_2"]),
        ),
        source="Forina et al., Genoa; UCI set 109",
        bounds=_PRINTED,
        licence=_UCI_LICENCE,
        citation="Aeberhard, S. and Forina, M. (1991). Wine. UCI Machine Learning Repository.",
    )
    iris = Facts(
        name="iris",
        title="Iris plants",
        task="classification",
        rows=150,
        schema=Schema(
            {name: Number(*bounds) for name, bounds in _IRIS.items()},
            target=Category(["setosa", "versicolor", "virginica"]),
        ),
        source="Fisher (1936), UCI set 53",
        bounds=_PRINTED,
        licence=_UCI_LICENCE,
        citation="Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems.",
    )
    digits = Facts(
        name="digits",
        title="Optical recognition of handwritten digits (test set)",
        task="classification",
        rows=1_797,
        schema=pixel_schema((8, 8), list(range(10)), brightest=16),
        source="Alpaydin and Kaynak (1998), UCI set 80",
        bounds="scikit-learn's documentation: pixels are whole numbers from 0 to 16",
        licence=_UCI_LICENCE,
        citation="Alpaydin, E. and Kaynak, C. (1998). Optical recognition of digits. UCI.",
        image_shape=(8, 8),
    )
    return (
        Entry(rand, Packaged("statsmodels", read_randhie)),
        *(_bundled(facts) for facts in (breast, diabetes, wine, iris, digits)),
    )
