"""Additive models made by hand, for tests of explanations and pages: nothing is trained."""

import math

import numpy as np

from voile.models.ebm.model import EBMModel, Term
from voile.models.history import Edit
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Unprotected
from voile.privacy.noise import NoiseSource
from voile.privacy.receipt import Receipt, ReceiptLine
from voile.schema import Category, Number, Schema

COUNTRIES = [
    "United-States",
    "Mexico",
    "Philippines",
    "Germany",
    "Canada",
    "Puerto-Rico",
    "El-Salvador",
    "India",
    "Cuba",
    "England",
    "Jamaica",
    "South",
    "China",
    "Italy",
    "Dominican-Republic",
    "Vietnam",
    "Guatemala",
    "Japan",
    "Poland",
    "Columbia",
    "Taiwan",
    "Haiti",
    "Iran",
    "Portugal",
    "Nicaragua",
    "Peru",
    "Greece",
    "France",
    "Ecuador",
    "Ireland",
    "Hong",
    "Cambodia",
    "Trinadad&Tobago",
    "Laos",
    "Thailand",
    "Yugoslavia",
    "Outlying-US(Guam-USVI-etc)",
    "Hungary",
    "Honduras",
    "Scotland",
    "Bulgaria",
    "Holand-Netherlands",
]


def make_receipt(epsilon=1.0, unit="row", labels=("row count", "bins", "scores")):
    private = math.isfinite(epsilon)
    event = Gaussian(1, 3.0) if private else Unprotected(1)
    shares = [0.05, 0.25] + [0.7 / (len(labels) - 2)] * (len(labels) - 2)
    return Receipt(
        what="an additive model",
        epsilon=epsilon,
        delta=1e-6,
        relation=NeighbouringRelation.ADD_REMOVE,
        unit=unit,
        lines=tuple(
            ReceiptLine(label, event, 1, share if private else math.nan)
            for label, share in zip(labels, shares, strict=True)
        ),
        noise=str(NoiseSource.SYSTEM),
        entry="0123456789abcdef",
        dataset="census",
        at="2026-01-31T08:30:00.000+00:00",
        who="ada@lab",
    )


def number_term(name, cuts, lower, upper, curve, *, rows=None, outputs=1, error=0.04, missing=0.0):
    """A term whose score in a bin is ``curve(middle)``, one per output."""
    edges = np.array([lower, *cuts, upper], dtype=float)
    middles = (edges[:-1] + edges[1:]) / 2
    scores = np.array([np.broadcast_to(curve(middle), (outputs,)) for middle in middles])
    bins = len(middles)
    counts = np.full(bins, 1000.0) if rows is None else np.asarray(rows, dtype=float)
    scores = np.vstack([scores, np.full((1, outputs), missing)])
    counts = np.append(counts, 0.0 if missing == 0 else 350.0)
    errors = error * np.sqrt(2000 / (counts + 200))
    return Term(
        name,
        Number(lower, upper),
        np.array(cuts, dtype=float),
        scores,
        np.repeat(errors[:, None], outputs, axis=1),
        counts,
        np.full(bins + 1, 18.0),
    )


def category_term(name, levels, scores, rows, *, error=0.04, missing=0.0):
    scores = np.asarray(scores, dtype=float)
    scores = scores if scores.ndim == 2 else scores[:, None]
    outputs = scores.shape[1]
    scores = np.vstack([scores, np.zeros((1, outputs)), np.full((1, outputs), missing)])
    counts = np.array([*rows, 0.0, 0.0 if missing == 0 else 900.0])
    errors = error * np.sqrt(2000 / (counts + 100))
    return Term(
        name,
        Category(levels),
        np.empty(0),
        scores,
        np.repeat(errors[:, None], outputs, axis=1),
        counts,
        np.full(len(counts), 18.0),
    )


def make_model(terms, target, link, *, intercept=None, epsilon=1.0, unit="row", **more):
    outputs = terms[0].scores.shape[1]
    intercept = np.zeros(outputs) if intercept is None else np.asarray(intercept, dtype=float)
    return EBMModel(
        terms=tuple(terms),
        intercept=intercept,
        intercept_errors=np.full(outputs, 0.0 if math.isinf(epsilon) else 0.02),
        link=link,
        schema=Schema({term.name: term.column for term in terms}, target=target),
        receipt=make_receipt(epsilon, unit),
        **more,
    )


def census_model(epsilon=1.0):
    """Two classes and 14 terms, in the likeness of the census table "adult"; one is edited."""
    generator = np.random.default_rng(4)
    ages = np.arange(18, 90, 2)
    bump = np.exp(-(((ages[:-1] - 38) / 17) ** 2))
    share = np.array([27000, *generator.integers(20, 400, 15)])
    zipf = np.maximum(30000 / np.arange(1, 43) ** 2.2, 12).round()
    terms = [
        number_term(
            "age",
            ages[1:-1],
            17,
            90,
            lambda a: 1.6 * math.exp(-(((a - 50) / 18) ** 2)) - 0.9,
            rows=2500 * bump,
        ),
        category_term(
            "workclass",
            [
                "Private",
                "Self-emp-not-inc",
                "Local-gov",
                "State-gov",
                "Self-emp-inc",
                "Federal-gov",
                "Without-pay",
                "Never-worked",
            ],
            [0.02, -0.35, -0.05, -0.12, 0.25, 0.48, -1.1, -0.6],
            [22696, 2541, 2093, 1298, 1116, 960, 14, 7],
            missing=-0.3,
        ),
        number_term(
            "fnlwgt", np.arange(50_000, 500_000, 30_000), 12285, 1484705, lambda w: 1e-7 * w - 0.02
        ),
        category_term(
            "education",
            [
                "HS-grad",
                "Some-college",
                "Bachelors",
                "Masters",
                "Assoc-voc",
                "11th",
                "Assoc-acdm",
                "10th",
                "7th-8th",
                "Prof-school",
                "9th",
                "12th",
                "Doctorate",
                "5th-6th",
                "1st-4th",
                "Preschool",
            ],
            np.linspace(-0.4, 0.4, 16)[generator.permutation(16)],
            [10501, 7291, 5355, 1723, 1382, 1175, 1067, 933, 646, 576, 514, 433, 413, 333, 168, 51],
        ),
        number_term(
            "education-num", np.arange(2, 16) + 0.5, 1, 16, lambda n: 0.28 * (n - 10), rows=None
        ),
        category_term(
            "marital-status",
            [
                "Married-civ-spouse",
                "Never-married",
                "Divorced",
                "Separated",
                "Widowed",
                "Married-spouse-absent",
                "Married-AF-spouse",
            ],
            [0.9, -0.7, -0.4, -0.5, -0.45, -0.38, 0.8],
            [14976, 10683, 4443, 1025, 993, 418, 23],
        ),
        category_term(
            "occupation",
            [f"occupation {i}" for i in range(14)],
            generator.normal(0, 0.4, 14),
            generator.integers(100, 4000, 14),
            missing=-0.2,
        ),
        category_term(
            "relationship",
            ["Husband", "Not-in-family", "Own-child", "Unmarried", "Wife", "Other-relative"],
            [0.35, -0.1, -0.9, -0.25, 0.95, -0.5],
            [13193, 8305, 5068, 3446, 1568, 981],
        ),
        category_term(
            "race",
            ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
            [0.02, -0.1, 0.05, -0.3, -0.2],
            [27816, 3124, 1039, 311, 271],
        ),
        category_term("sex", ["Male", "Female"], [0.12, -0.24], [21790, 10771]),
        number_term(
            "capital-gain",
            [
                1,
                600,
                2000,
                3000,
                3500,
                4200,
                5000,
                5200,
                6000,
                7000,
                7500,
                8000,
                10000,
                15000,
                25000,
            ],
            0,
            99_999,
            lambda g: -0.12 if g < 1 else (4.2 if g > 7000 else (-1.4 if g < 3000 else 0.8)),
            rows=share,
        ),
        number_term(
            "capital-loss",
            [1, 1500, 1700, 1850, 1920, 2000, 2200, 2500],
            0,
            4356,
            lambda g: -0.05 if g < 1 else (1.9 if 1700 < g < 2000 else -0.3),
            rows=[30000, 150, 300, 300, 250, 150, 100, 80, 60],
        ),
        number_term(
            "hours-per-week",
            np.arange(8, 96, 8),
            1,
            99,
            lambda h: math.tanh((h - 42) / 12) * 0.7,
            rows=[400, 800, 1500, 2500, 3500, 15000, 4000, 2500, 900, 300, 120, 60],
        ),
        category_term(
            "native-country", COUNTRIES, generator.normal(0, 0.35, 42), zipf, missing=0.15
        ),
    ]
    trained = make_model(
        terms, Category(["<=50K", ">50K"]), "logit", intercept=[-1.32], epsilon=epsilon
    )
    if math.isinf(epsilon):
        return trained
    capital = trained["capital-gain"]
    flat = capital.scores.copy()
    flat[1:4] = -0.12
    country = trained["native-country"]
    level = country.scores.copy()
    level[[1, 13]] = 0.0
    edits = (
        Edit(
            "set",
            "capital-gain",
            {"lower": 1.0, "upper": 3000.0, "value": -0.12},
            "small gains cannot lower an income",
            "grace@bank",
            "2026-02-01T09:00:00+00:00",
        ),
        Edit(
            "set",
            "native-country",
            {"levels": ["Mexico", "Italy"], "value": 0.0},
            "not a lawful ground",
            "grace@bank",
            "2026-02-01T09:05:00+00:00",
        ),
    )
    changed = trained.with_term(_with_scores(capital, flat))
    changed = changed.with_term(_with_scores(country, level))
    return EBMModel(
        **{**changed.__dict__, "edits": edits, "original": trained},
    )


def _with_scores(term, scores):
    return Term(**{**term.__dict__, "scores": scores})


def classes_model(count=3):
    """Several classes: a number, a skewed number, and a category with a long name."""
    names = ["home", "rehabilitation", "nursing home", *(f"ward {i}" for i in range(20))][:count]
    phases = np.linspace(0, 2 * np.pi, count, endpoint=False)
    terms = [
        number_term(
            "age",
            np.arange(20, 100, 5),
            0,
            110,
            lambda a: np.sin(a / 25 + phases),
            outputs=count,
            missing=0.1,
        ),
        number_term(
            "days in hospital",
            [1, 2, 3, 5, 8, 13, 30],
            0,
            2000,
            lambda d: 0.4 * np.cos(math.log1p(d) + phases),
            outputs=count,
        ),
        category_term(
            "reason for admission as the referring physician wrote it",
            ["fracture", "stroke", "a planned operation of the hip or of the knee", "other"],
            0.6 * np.cos(np.arange(4)[:, None] + phases),
            [500, 300, 900, 120],
        ),
    ]
    return make_model(terms, Category(names), "softmax", intercept=np.linspace(0.5, -0.5, count))


def price_model(epsilon=1.0):
    """Regression with large numbers: prices of houses."""
    terms = [
        number_term(
            "area",
            np.linspace(30, 290, 27),
            20,
            300,
            lambda a: 2100 * (a - 120),
            error=4000,
            rows=1500 * np.exp(-(((np.linspace(25, 295, 28) - 110) / 50) ** 2)),
        ),
        number_term(
            "built", np.arange(1910, 2020, 10), 1900, 2025, lambda y: 60 * (y - 1970), error=1500
        ),
        category_term(
            "town",
            [f"Town of Saint {chr(65 + i % 26)}{i} upon the River" for i in range(60)],
            20_000 * np.sin(np.arange(60)),
            np.linspace(900, 3, 60),
            error=2500,
            missing=-3000,
        ),
    ]
    if math.isinf(epsilon):
        terms = [
            Term(
                **{
                    **term.__dict__,
                    "standard_errors": 0 * term.standard_errors,
                    "count_errors": 0 * term.count_errors,
                }
            )
            for term in terms
        ]
    return make_model(
        terms, Number(0, 2_000_000), "identity", intercept=[312_456.789], epsilon=epsilon
    )


CENSUS_ROWS = {
    "age": [39, 52, None, 120],
    "workclass": ["State-gov", "Self-emp-inc", None, "Pirate"],
    "fnlwgt": [77516, 209642, 100000.25, 1e9],
    "education": ["Bachelors", "HS-grad", "Masters", "Preschool"],
    "education-num": [13, 9, 14, 1],
    "marital-status": ["Never-married", "Married-civ-spouse", "Divorced", "Widowed"],
    "occupation": ["occupation 3", "occupation 5", None, "occupation 9"],
    "relationship": ["Not-in-family", "Wife", "Unmarried", "Own-child"],
    "race": ["White", "White", "Black", "Other"],
    "sex": ["Male", "Female", "Female", "Male"],
    "capital-gain": [2174, 15024, 0, 0],
    "capital-loss": [0, 0, 1902, 0],
    "hours-per-week": [40, 45, 60, 10],
    "native-country": ["United-States", "Outlying-US(Guam-USVI-etc)", None, "Atlantis"],
}
