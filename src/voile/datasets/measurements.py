"""Tables of measurements: houses, wines, an aircraft and patches of pictures."""

from __future__ import annotations

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.facts import Facts
from voile.schema import Category, Column, Number, Schema

HOUSING: dict[str, Column] = {
    # California lies between 124.5 and 114 degrees west, and 32.5 and 42.1 degrees north.
    "longitude": Number(-124.5, -114.0),
    "latitude": Number(32.5, 42.1),
    # Sums and medians of a block group: the documentation bounds none of them.
    "housingMedianAge": Number(),
    "totalRooms": Number(),
    "totalBedrooms": Number(),
    "population": Number(),
    "households": Number(),
    # In 10,000 dollars. The census gives medians below 5,000 as 4,999, above 150,000 as 150,001.
    "medianIncome": Number(0.4999, 15.0001),
}

WINE: dict[str, Column] = {
    # Grams in a litre, milligrams for sulphur dioxide, grams in a millilitre for density:
    # winequality.names gives units, and no bounds.
    "fixed acidity": Number(),
    "volatile acidity": Number(),
    "citric acid": Number(),
    "residual sugar": Number(),
    "chlorides": Number(),
    "free sulfur dioxide": Number(),
    "total sulfur dioxide": Number(),
    "density": Number(),
    # What the scales themselves allow.
    "pH": Number(0, 14),
    "sulphates": Number(),
    "alcohol": Number(0, 100),
    "color": Category(["red", "white"]),
}

ELEVATORS = (
    "climbRate",
    "Sgz",
    "p",
    "q",
    "curRoll",
    "absRoll",
    "diffClb",
    "diffRollRate",
    "diffDiffClb",
    "SaTime1",
    "SaTime2",
    "SaTime3",
    "SaTime4",
    "diffSaTime1",
    "diffSaTime2",
    "diffSaTime3",
    "diffSaTime4",
    "Sa",
)

_BYTE = Number(0, 255)
_EXCESS = Number(-510, 510)

# By the definitions of segment.names: channels R, G and B are bytes, and their means too; excess
# is 2 R - (G + B). What it does not define to that extent is left open.
SEGMENT: dict[str, Column] = {
    "region-centroid-col": Number(),
    "region-centroid-row": Number(),
    "short-line-density-5": Number(),
    "short-line-density-2": Number(),
    # Contrast of neighbouring pixels; its spread is not defined clearly enough to be bounded.
    "vedge-mean": _BYTE,
    "vegde-sd": Number(),
    "hedge-mean": _BYTE,
    "hedge-sd": Number(),
    "intensity-mean": _BYTE,
    "rawred-mean": _BYTE,
    "rawblue-mean": _BYTE,
    "rawgreen-mean": _BYTE,
    "exred-mean": _EXCESS,
    "exblue-mean": _EXCESS,
    "exgreen-mean": _EXCESS,
    # Value, saturation and hue of Foley and van Dam: the largest channel, a share, an angle whose
    # unit the documentation does not tell.
    "value-mean": _BYTE,
    "saturation-mean": Number(0, 1),
    "hue-mean": Number(),
}


def entries() -> tuple[Entry, ...]:
    """Return the tables of measurements."""
    housing = Facts(
        name="cal_housing",
        title="California housing",
        task="regression",
        rows=20_640,
        # The census gives medians below 15,000 dollars as 14,999, above 500,000 as 500,001.
        schema=Schema(HOUSING, target=Number(14_999, 500_001)),
        source="Block groups of the US census of 1990; Pace and Barry (1997), StatLib",
        bounds=(
            "borders of California; end codes of medians in the census of 1990 (income, value); "
            "the rest is left open"
        ),
        licence="not stated",
        citation=(
            "Pace, R. K. and Barry, R. (1997). Sparse spatial autoregressions. Statistics and "
            "Probability Letters 33, 291-297."
        ),
        note=(
            "The target is medianHouseValue in dollars. Columns are the raw ones; scikit-learn "
            "divides rooms, bedrooms and population by households."
        ),
    )
    wine = Facts(
        name="wine_quality",
        title="Wine quality (red and white vinho verde)",
        task="regression",
        rows=6_497,
        # "score between 0 and 10"
        schema=Schema(WINE, target=Number(0, 10)),
        source="CVRVV, Portugal; Cortez et al. (2009), UCI set 186",
        bounds="winequality.names: scores from 0 to 10; the scales of pH and percent by volume",
        licence="CC BY 4.0 (UCI)",
        citation=(
            "Cortez, P. et al. (2009). Modeling wine preferences by data mining from "
            "physicochemical properties. Decision Support Systems 47, 547-553."
        ),
        note="The copy on OpenML lacks color.",
    )
    elevators = Facts(
        name="elevators",
        title="Elevators of an F16 aircraft",
        task="regression",
        rows=16_599,
        schema=Schema({name: Number() for name in ELEVATORS}, target=Number()),
        source="A flight simulator; Rui Camacho, in Luis Torgo's collection of regressions",
        bounds="its documentation has none: all are found privately",
        licence="not stated",
        citation="Torgo, L. Regression data sets. University of Porto.",
        note="The target is Goal, the action on the elevators.",
    )
    segment = Facts(
        name="segment",
        title="Image segmentation",
        task="classification",
        rows=2_310,
        schema=Schema(
            SEGMENT,
            target=Category(["brickface", "sky", "foliage", "cement", "window", "path", "grass"]),
        ),
        source="Vision Group, University of Massachusetts (1990), UCI set 50",
        bounds="definitions in segment.names, with channels of one byte; the rest is left open",
        licence="CC BY 4.0 (UCI)",
        citation="Image segmentation (1990). UCI Machine Learning Repository.",
        note="region-pixel-count, which is always 9 by the documentation, is left out.",
    )
    return (
        Entry(housing, StoredTable("medianHouseValue")),
        Entry(wine, StoredTable("quality", optional=("color",))),
        Entry(elevators, StoredTable("Goal")),
        Entry(segment, StoredTable("class")),
    )
