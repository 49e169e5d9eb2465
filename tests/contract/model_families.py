"""Every family of models that has files: examples made by hand, and what its reader refuses."""

import base64
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import ebm_models
import linear_map_models
import numpy as np
import prototype_models
from ebm_models import COLUMNS, PAIRS, make_model

from voile import (
    Category,
    EBMClassifier,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.models.ebm.edit import Editor
from voile.models.history import Edit
from voile.models.locally_linear.pictures import SmoothBasis

TINY = (5e-324, -0.0, 1 / 3, -1e-300)
"""Numbers that a careless writer rounds."""


@dataclass(frozen=True)
class Family:
    """A family, its examples, and the damage that only its reader can know.

    Attributes
    ----------
    module : str
        Of its files.
    saved : str
        The class in it: with kind, `data_of`, `model_of` and `write`.
    models : mapping
        Examples that come back to the bit.
    small : callable
        Makes the model every place of whose file is damaged.
    refused : tuple
        Place in the file of the example ``damaged``, the value put there, and a word of the
        refusal.
    damaged : str
        The example that the refused values are put into.
    contradictions : callable
        Makes models that contradict themselves.
    fitting : mapping
        Fields whose type wrong values may have by chance: field -> its type; None is right for
        those in ``nullable``.
    ask : callable
        Uses a model that was read; returns scores, a row each.
    trained : mapping
        Estimators that fit `ROWS` within a second or so.
    needed : tuple of str
        Libraries without which there is no such model.
    """

    module: str
    saved: str
    models: Mapping[str, Callable[[], Any]]
    small: Callable[[], Any]
    refused: tuple[tuple[list[Any], Any, str], ...]
    damaged: str
    contradictions: Callable[[], Iterator[Any]]
    fitting: Mapping[str, type] = field(default_factory=dict)
    nullable: tuple[str, ...] = ()
    ask: Callable[[Any], Any] | None = None
    trained: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    needed: tuple[str, ...] = ()

    @property
    def files(self) -> Any:
        return getattr(import_module(self.module), self.saved)


# -- rows that are trained on -------------------------------------------------------------------

COUNT = 1999
_chance = np.random.default_rng(4)
LABELS = np.where(_chance.uniform(size=COUNT) < 0.3, "ill", "well")
ROWS = {
    "a": _chance.normal(np.where(LABELS == "ill", 1.0, -1.0), 1.0),
    "b": _chance.choice(["u", "v"], COUNT),
}
SCHEMA = Schema({"a": Number(-4, 4), "b": Category(["u", "v"])}, target=Category(["well", "ill"]))


# -- additive models ----------------------------------------------------------------------------


def edited(link="logit"):
    editor = Editor(make_model(link), who="Zoë")
    editor.set("age", 0.1 + 0.2, between=(20.5, 31.1), why="ünsicher").drop("flag")
    editor.set("rank", -1, levels=[3, 2.5]).set("job", 1e-300, levels="(other)")
    return editor.model


def small_ebm():
    editor = Editor(
        make_model("softmax", columns={name: COLUMNS[name] for name in ("pay", "flag")})
    )
    editor.set("pay", 1.0, between=(0.0, 1.0), output="mid").set("flag", 2.0, levels=[True])
    return editor.model


def extreme_ebm():
    """Also errors that are infinite, which JSON has no number for."""
    model = make_model("softmax")
    term = model["age"]
    scores, errors, counts = (
        one.copy() for one in (term.scores, term.standard_errors, term.count_errors)
    )
    scores[0], scores[1, 0] = [5e-324, -1e30, -0.0], 1 / 3
    errors[2, 1], counts[3] = math.inf, math.inf
    term = replace(term, scores=scores, standard_errors=errors, count_errors=counts)
    return replace(model.with_term(term), intercept_errors=np.array([0.0, math.inf, 1.0]))


def paired_small_ebm():
    """Two columns and their pair, without evidence of the columns."""
    columns = {name: COLUMNS[name] for name in ("pay", "flag")}
    model = make_model("softmax", columns=columns, pairs=[("pay", "flag")])
    editor = Editor(model).set("flag", 2.0, levels=[True])
    return editor.set(("pay", "flag"), 1.0, where={"pay": (0.5, 1), "flag": [True, None]}).model


def paired_ebm(link="logit"):
    """Also an error that is infinite, and a pair of which less is known."""
    model = make_model(link, pairs=PAIRS)
    pair = model.pairs[0]
    errors, counts = pair.standard_errors.copy(), pair.count_errors.copy()
    errors[1, 2], counts[0, 1] = math.inf, math.inf
    scores = pair.scores.copy()
    scores[0, :4, 0] = TINY
    pair = replace(pair, scores=scores, standard_errors=errors, count_errors=counts)
    bare = replace(model.pairs[2], whole_errors=None, evidence=None)
    return model.with_pair(pair).with_pair(bare)


def edited_pairs(link="logit"):
    editor = Editor(paired_ebm(link), who="Zoë").drop("flag").undo()
    editor.set(("pay", "age"), 0.1 + 0.2, where={"age": (20.5, 31.1), "pay": None})
    return editor.smooth("age & pay").scale(("flag", "rank"), 1 / 3).model


def broken_pairs():
    model = paired_ebm()
    pair, _, last = model.pairs
    age, job = pair.first, pair.second
    yield model.with_pair(replace(pair, scores=pair.scores * math.nan))
    yield model.with_pair(replace(pair, scores=pair.scores * 1e40))
    yield model.with_pair(replace(pair, scores=pair.scores[:-1]))
    yield model.with_pair(replace(pair, scores=pair.scores[..., 0]))
    yield model.with_pair(replace(pair, counts=-pair.counts))
    yield model.with_pair(replace(pair, counts=pair.counts.T))
    yield model.with_pair(replace(pair, first=replace(age, cuts=age.cuts[::-1])))
    yield model.with_pair(replace(pair, first=replace(age, column=Number(17, 91))))
    yield model.with_pair(replace(pair, second=replace(job, groups=job.groups + 1)))
    yield model.with_pair(replace(pair, second=replace(job, groups=job.groups[:-1])))
    yield model.with_pair(replace(pair, evidence=make_model(pairs=PAIRS).pairs[2].evidence))
    yield replace(model, pairs=(pair, pair))
    yield replace(model, pairs=(pair, replace(pair, first=age, second=age)))
    turned = {
        name: None if table is None else np.swapaxes(table, 0, 1)
        for name, table in vars(last).items()
        if name not in ("first", "second", "evidence")
    }
    yield replace(
        model, pairs=(last, replace(last, first=last.second, second=last.first, **turned))
    )
    changed = edited_pairs()
    yield replace(changed, pairs=changed.pairs[1:])
    yield replace(changed, pairs=changed.pairs[::-1])
    coarse = replace(changed.pairs[0], first=replace(age, cuts=age.cuts + 0.5))
    yield changed.with_pair(coarse)


def broken_ebm():
    model = make_model()
    age = model["age"]
    nan = age.scores * math.nan
    yield replace(model, terms=model.terms[:-1])
    yield replace(model, terms=model.terms[::-1])
    yield replace(model, link="softmax")
    yield replace(model, link="identity")
    yield make_model("logit", target=Category(["a", "b", "c"]))
    yield model.with_term(replace(age, scores=nan))
    yield model.with_term(replace(age, standard_errors=nan))
    yield model.with_term(replace(age, cuts=age.cuts[::-1]))
    yield model.with_term(replace(age, cuts=age.cuts[1:]))
    yield model.with_term(replace(age, column=Number(17, 91)))
    yield model.with_term(replace(model["job"], column=Category(["a", "b", "c", "d"])))
    yield replace(model, original=model)
    yield replace(model, edits=(Edit("set", "age", {}, "", "", ""),))
    yield replace(edited(), original=replace(model, schema=model.schema.with_rows(3)))
    yield replace(edited(), original=edited())
    yield replace(edited(), edits=(Edit("set", "age", {"value": object()}, "", "", ""),))


EBM = Family(
    module="voile.models.ebm.files",
    saved="SavedEBM",
    models={
        **{link: partial(make_model, link) for link in ("identity", "logit", "softmax")},
        **{f"{link}, edited": partial(edited, link) for link in ("identity", "logit", "softmax")},
        "extreme": extreme_ebm,
    },
    small=small_ebm,
    damaged="logit, edited",
    refused=(
        (["link"], "probit", "link"),
        (["link"], "identity", "does not fit"),
        (["link"], ["logit"], "link"),
        (["classes"], ["yes", "no"], "classes"),
        (["terms", 0, "edges", 2], 20.5, "increase strictly"),
        (["terms", 0, "edges", 2], 17.5, "increase strictly"),
        (["terms", 0, "edges", 0], 16.0, "begin and end"),
        (["terms", 0, "edges", -1], 91.0, "begin and end"),
        (["terms", 0, "edges"], [17.0], "scores"),
        (["terms", 0, "edges"], [17.0, 30.0, 90.0], "scores"),
        (["terms", 0, "scores", 0], [0.0, 0.0], "one length"),
        (["terms", 0, "scores", 0, 0], None, "finite"),
        (["terms", 0, "scores", 0, 0], 10**400, "finite"),
        (["terms", 0, "scores", 0, 0], math.inf, "finite"),
        (["terms", 0, "scores", 0, 0], True, "finite"),
        (["terms", 0, "counts", 0], -1.0, ">= 0"),
        (["terms", 0, "counts", 0], None, "finite"),
        (["terms", 0, "standard_errors", 1, 0], -0.1, ">= 0"),
        (["terms", 0, "kind"], "category", "kind"),
        (["terms", 0, "name"], "job", "in order"),
        (["terms", 3, "levels"], [0, 1], "levels"),
        (["terms", 3, "levels"], [True, False], "levels"),
        (["terms", 1, "extra"], 1, "unknown field"),
        (["intercept"], [], "intercept"),
        (["schema", "columns", "age"], {"kind": "number"}, "no bounds"),
        (["edits"], [], "if and only if"),
        (["edits", 0, "term"], "nobody", "no term"),
        (["edits", 0, "settings"], [], "mapping"),
        (["edits", 0, "settings", "value"], {"a": 1}, "value"),
        (["edits", 0, "why"], None, "why"),
        (["edits", 0, "why"], "\ud800", "why"),
        (["original"], None, "original"),
        (["original", "terms", 1, "scores", 2, 0], "0", "finite"),
    ),
    contradictions=broken_ebm,
    fitting={"voile": str},
    trained={"": partial(EBMClassifier, rounds=2)},
)

PAIRED = Family(
    module="voile.models.ebm.files",
    saved="SavedEBM",
    models={
        **{link: partial(paired_ebm, link) for link in ("identity", "logit", "softmax")},
        **{f"{link}, edited": partial(edited_pairs, link) for link in ("logit", "softmax")},
        "extreme": partial(edited_pairs, "identity"),
    },
    small=paired_small_ebm,
    damaged="logit, edited",
    refused=(
        (["pairs"], [], "pairs"),
        (["pairs"], None, "list"),
        (["pairs", 0, "extra"], 1, "unknown field"),
        (["pairs", 0, "first", "extra"], 1, "unknown field"),
        (["pairs", 0, "first", "name"], "nobody", "no column"),
        (["pairs", 0, "first", "name"], "job", "kind"),
        (["pairs", 0, "first", "name"], "pay", "begin and end"),
        (["pairs", 1, "second", "name"], "age", "begin and end"),
        (["pairs", 2, "second", "name"], "flag", "groups"),
        (["pairs", 0, "first", "kind"], "category", "kind"),
        (["pairs", 0, "first", "kind"], "date", "kind"),
        (["pairs", 0, "first", "groups"], [0, 1, 2, 3, 4, 5], "kind"),
        (["pairs", 0, "first", "edges"], None, "shape"),
        (["pairs", 0, "first", "edges"], [], "shape"),
        (["pairs", 0, "first", "edges"], [17.0, 31.1, 45.0, 60.0, 80.0, 90.0], "shape"),
        (["pairs", 0, "first", "edges", 0], 16.0, "begin and end"),
        (["pairs", 0, "first", "edges", -1], 91.0, "begin and end"),
        (["pairs", 0, "first", "edges", 2], 31.1, "increase strictly"),
        (["pairs", 0, "first", "edges", 2], 20.0, "increase strictly"),
        (["pairs", 0, "first", "edges", 2], 46.0, "parts of its original"),
        (["pairs", 0, "first", "edges", 2], math.inf, "finite"),
        (["pairs", 0, "second", "groups"], [0, 1, 1, 2, 3], "groups"),
        (["pairs", 0, "second", "groups"], [0, 1, 1, 2, 3, 3, 3], "groups"),
        (["pairs", 0, "second", "groups", 0], 2, "without gaps"),
        (["pairs", 0, "second", "groups", 0], 1, "without gaps"),
        (["pairs", 0, "second", "groups", 0], -1, ">= 0"),
        (["pairs", 0, "second", "groups", 0], 0.0, "whole"),
        (["pairs", 0, "second", "groups", 0], True, "whole"),
        (["pairs", 0, "second", "groups", 0], 4, "shape"),
        (["pairs", 0, "second", "groups", 0], 2**31, "shape"),
        (["pairs", 0, "second", "groups", 0], 2**62, "groups"),
        (["pairs", 0, "second", "groups"], [3, 1, 1, 2, 0, 3], "parts of its original"),
        (["pairs", 0, "second", "edges"], [0.0, 1.0], "shape"),
        (["pairs", 0, "scores"], [], "shape"),
        (["pairs", 0, "scores", 0], [], "one length"),
        (["pairs", 0, "scores", 0, 0], [0.0, 0.0], "one length"),
        (["pairs", 0, "scores", 0, 0, 0], None, "finite"),
        (["pairs", 0, "scores", 0, 0, 0], 10**400, "finite"),
        (["pairs", 0, "scores", 0, 0, 0], math.nan, "finite"),
        (["pairs", 0, "scores", 0, 0, 0], 1e31, "up to"),
        (["pairs", 0, "standard_errors", 0, 0, 0], -0.1, ">= 0"),
        (["pairs", 0, "standard_errors", 0, 0, 0], 1e31, "up to"),
        (["pairs", 0, "whole_errors", 0, 0, 0], -0.1, ">= 0"),
        (["pairs", 0, "whole_errors"], [[[0.1]]], "shape"),
        (["pairs", 0, "counts", 0, 0], -1.0, ">= 0"),
        (["pairs", 0, "counts", 0, 0], None, "finite"),
        (["pairs", 0, "counts"], [[1.0]], "shape"),
        (["pairs", 0, "count_errors", 0, 0], -1.0, ">= 0"),
        (["pairs", 0, "evidence"], {}, "evidence"),
        (["pairs", 0, "evidence", "estimates"], [[[0.0]]], "shape"),
        (["pairs", 0, "evidence", "noise_lengths"], [0.1], "length 2"),
        (["pairs", 0, "evidence", "noise_lengths", 0], -0.1, "evidence"),
        (["pairs", 0, "evidence", "noise_plains", 0], 1.5, "evidence"),
        (["pairs", 0, "evidence", "aparts", 0], 0, "aparts"),
        (["pairs", 0, "evidence", "aparts", 1], 9, "aparts"),
        (["pairs", 0, "evidence", "candidates"], 0, "candidates"),
        (["pairs", 0, "evidence", "candidates"], 1.5, "whole"),
        (["pairs", 0, "evidence", "prior"], -1.0, "prior"),
        (["edits", 0, "term"], "age & flag", "no term"),
        (["edits", 0, "settings", "where"], {"age": 1}, "where"),
        (["edits", 0, "settings", "where", "pay"], [[1]], "where"),
        (["edits", 0, "settings", "where", "pay"], {}, "where"),
        (["original", "pairs"], [], "other 'pairs'"),
        (["original", "pairs", 0, "scores", 0, 0, 0], "0", "finite"),
        (["original", "pairs", 0, "first", "edges", 1], 18.5, "parts of its original"),
    ),
    contradictions=broken_pairs,
    fitting={"voile": str},
)


# -- prototypes ---------------------------------------------------------------------------------


def extreme_lvq():
    model = prototype_models.tumour_model()
    return replace(model, prototypes=np.array([TINY, model.prototypes[1]]))


def broken_lvq():
    for changes in (
        {"labels": np.array([0, 5])},
        {"labels": np.array([0])},
        {"prototypes": np.full((2, 4), math.nan)},
        {"prototype_errors": np.full((2, 4), -1.0)},
        {"omega": np.zeros((4, 3))},
        {"counts": np.array([-1.0, 2.0])},
        {"image_shape": (3, 3)},
        {"kind": "lvq9"},
        {"mechanism": "magic"},
        {"schema": Schema({"radius": Number(0, 1)}, target=Category(["a", "b"]))},
    ):
        yield replace(prototype_models.tumour_model(), **changes)


def ask_lvq(model):
    points = model.points({name: np.zeros(2) for name in model.schema})
    return model.class_distances(points)


LVQ = Family(
    module="voile.models.lvq.files",
    saved="SavedLVQ",
    models={
        "numbers": prototype_models.tumour_model,
        "categories": prototype_models.mixed_model,
        "pictures": prototype_models.picture_model,
        "extreme": extreme_lvq,
    },
    small=prototype_models.mixed_model,
    damaged="numbers",
    refused=(
        (["rule"], "lvq3", "rule"),
        (["rule"], ["glvq"], "rule"),
        (["mechanism"], None, "mechanism"),
        (["mechanism"], {}, "mechanism"),
        (["classes"], ["malignant", "benign"], "classes"),
        (["classes"], ["benign"], "means"),
        (["classes"], "benign", "classes"),
        (["features"], ["radius"], "prototypes"),
        (["features"], None, "features"),
        (["image_shape"], [2, 3], "image_shape"),
        (["image_shape"], [4, True], "image_shape"),
        (["image_shape"], [-2, -2], "image_shape"),
        (["image_shape"], [2.0, 2], "image_shape"),
        (["image_shape"], [4], "image_shape"),
        (["image_shape"], "4x1", "image_shape"),
        (["labels"], [], "prototypes"),
        (["labels"], [0, 2], "labels"),
        (["labels"], [0, -1], "labels"),
        (["labels"], [0, True], "labels"),
        (["labels"], [0, 1.0], "labels"),
        (["labels"], [0, 10**400], "labels"),
        (["labels"], [0], "prototypes"),
        (["labels"], [0, 1, 1], "prototypes"),
        (["prototypes"], [], "prototypes"),
        (["prototypes", 0], [0.0], "prototypes"),
        (["prototypes", 0, 0], "0", "prototypes"),
        (["prototypes", 0, 0], None, "prototypes"),
        (["prototypes", 0, 0], True, "prototypes"),
        (["prototypes", 0, 0], 10**400, "prototypes"),
        (["prototypes", 0, 0], math.inf, "prototypes"),
        (["prototype_errors", 0, 0], -1e-9, "prototype_errors"),
        (["prototype_errors", 0, 0], math.inf, "prototype_errors"),
        (["means"], [[0.0] * 4], "means"),
        (["means", 1, 1], [0.0], "means"),
        (["counts"], [1.0], "counts"),
        (["counts"], [1.0, -1.0], "counts"),
        (["counts"], [1.0, math.inf], "counts"),
        (["counts"], {}, "counts"),
        (["omega"], [], "omega|labels"),
        (["omega", 0], [], "omega"),
        (["omega"], None, "omega"),
        (["centre"], [0.0] * 3, "centre"),
        (["centre"], 0.0, "centre"),
        (["schema", "columns", "radius"], {"kind": "number"}, "bounds"),
    ),
    contradictions=broken_lvq,
    fitting={"voile": str},
    nullable=("image_shape",),
    ask=ask_lvq,
    trained={
        "glvq": partial(GLVQClassifier, mechanism="gaussian"),
        "glvq, sgd": partial(GLVQClassifier, mechanism="sgd", epochs=1, rate=0.5),
        "gmlvq": partial(GMLVQClassifier, mechanism="gaussian"),
        "lvq1": partial(LVQ1Classifier, mechanism="gaussian"),
    },
)


# -- locally linear maps ------------------------------------------------------------------------


def table_maps():
    columns = {"age": Number(18, 95), "ward": Category(["A", "B"]), "smoker": Category([False])}
    return linear_map_models.linear_map_model(columns, ["home", 1, 2.5], maps=2, normalise=True)


def number_maps(**more):
    columns = {"radius": Number(6, 29), "texture": Number(9, 40)}
    return linear_map_models.linear_map_model(columns, ["benign", "malignant"], maps=2, **more)


def picture_maps():
    basis = SmoothBasis((5, 4, 1), 3, 6.0, True)
    return linear_map_models.picture_linear_maps((5, 4), maps=2, basis=basis, root=True)


def colour_maps():
    return linear_map_models.picture_linear_maps(
        (2, 2, 3), classes=2, smooth=False, root=True, taught_by="Teacher"
    )


def extreme_maps():
    model = number_maps()
    return replace(model, weights=np.array([np.reshape(TINY, (2, 2)), model.weights[1]]))


def broken_maps():
    for changes in (
        {"weights": np.full((2, 2, 2), math.nan)},
        {"offsets": np.full((2, 2), math.inf)},
        {"offsets": np.zeros((2, 3))},
        {"weight_errors": np.full((2, 2, 2), -1.0)},
        {"image_shape": (3, 3)},
        {"beta": -1.0},
        {"beta": math.nan},
        {"taught_by": 7},
    ):
        yield replace(number_maps(), **changes)


MAPS = Family(
    module="voile.models.locally_linear.files",
    saved="SavedLocallyLinear",
    models={
        "numbers": number_maps,
        "categories": table_maps,
        "pictures": picture_maps,
        "colours": colour_maps,
        "extreme": extreme_maps,
    },
    small=table_maps,
    damaged="pictures",
    refused=(
        (["classes"], [0, 1], "offsets"),
        (["classes"], [0, 2, 1], "classes"),
        (["classes"], [0, True, 2], "classes"),
        (["classes"], [0, 1.0, 2], "classes"),
        (["classes"], "012", "classes"),
        (["features"], ["pixel 1"], "filling"),
        (["features"], None, "features"),
        (["image_shape"], None, "basis"),
        (["image_shape"], [4, 6], "image_shape"),
        (["image_shape"], [20], "image_shape"),
        (["image_shape"], [20.0, 1], "image_shape"),
        (["image_shape"], [-5, -4], "image_shape"),
        (["image_shape"], [True, 20], "image_shape"),
        (["image_shape"], [1, 1, 1, 20], "image_shape"),
        (["image_shape"], "5x4", "image_shape"),
        (["basis"], [], "basis"),
        (["basis"], {}, "basis"),
        (["basis", "cut"], 0, "basis"),
        (["basis", "cut"], 2, "length"),
        (["basis", "cut"], 3.0, "basis"),
        (["basis", "cut"], True, "basis"),
        (["basis", "cut"], 10**9, "basis"),
        (["basis", "width"], 0.0, "basis"),
        (["basis", "width"], -1.0, "basis"),
        (["basis", "width"], math.inf, "basis"),
        (["basis", "window"], 1, "basis"),
        (["basis", "more"], 1, "basis"),
        (["normalise"], 1, "normalise"),
        (["normalise"], None, "normalise"),
        (["root"], "yes", "root"),
        (["centre"], [0.0], "centre"),
        (["centre"], 0.0, "centre"),
        (["centre", 0], None, "centre"),
        (["radius"], [], "centre"),
        (["radius", 0], 0.0, "radius"),
        (["radius", 0], -1.0, "radius"),
        (["radius", 0], 5e-324, "radius"),
        (["filling"], [0.0] * 8, "filling"),
        (["beta"], -0.1, "beta"),
        (["beta"], math.inf, "beta"),
        (["beta"], True, "beta"),
        (["beta"], "0.1", "beta"),
        (["weights"], [], "weight errors"),
        (["weights"], [[0.0]] * 5, "weights"),
        (["weights"], [[0.0]] * 6, "weights"),
        (["weights", 0, 0], "0", "weights"),
        (["weights", 0, 0], None, "weights"),
        (["weights", 0, 0], True, "weights"),
        (["weights", 0, 0], 10**400, "weights"),
        (["weights", 0, 0], math.inf, "weights"),
        (["weight_errors"], [], "weight errors"),
        (["weight_errors", 0, 0], -1e-9, "weight_errors"),
        (["weight_errors", 0, 0], math.inf, "weight_errors"),
        (["offsets"], [], "offsets"),
        (["offsets"], [[0.0, 0.0]] * 2, "offsets"),
        (["offsets", 0], [0.0], "offsets"),
        (["taught_by"], 1, "taught_by"),
        (["taught_by"], "\ud800", "taught_by"),
        (["schema", "columns", "pixel 1"], {"kind": "number"}, "bounds"),
        (["schema", "target"], {"kind": "number", "lower": 0.0, "upper": 1.0}, "classes"),
    ),
    contradictions=broken_maps,
    fitting={"voile": str, "taught_by": str, "normalise": bool, "root": bool, "beta": float},
    nullable=("image_shape", "basis", "taught_by"),
    ask=lambda model: model.decide({name: np.zeros(2) for name in model.schema}),
    trained={
        "": partial(LocallyLinearClassifier, steps=5, sampling_rate=1.0),
        "projected": partial(LocallyLinearClassifier, steps=5, sampling_rate=1.0, projection=2),
    },
)


# -- networks -----------------------------------------------------------------------------------

_PIXELS = {f"p{i}": Number(0, 255) for i in range(16)}


def network(channels=1, **more):
    """Made by chance, and not trained: weights as its seed made them."""
    import network_modules  # noqa: F401

    from voile.models.networks.architectures import Description, initial_weights
    from voile.models.networks.images import Standard
    from voile.models.networks.model import NetworkModel

    shape = (4, 4) if channels == 1 else (4, 4 // channels, channels)
    description = Description("test small", (channels, *shape[:2]), 2, seed=3)
    standard = Standard((0.4,) * channels, (0.3,) * channels, 8)
    schema = Schema(_PIXELS, target=Category(["a", "b"]))
    parts = (schema, description, initial_weights(description), standard, shape, "uniform")
    return replace(NetworkModel(*parts, ebm_models.make_receipt()), **more)


def averaged(**more):
    receipt = replace(ebm_models.make_receipt(), unit="client")
    return network(**{"placement": "client", "receipt": receipt, **more})


def extreme_network(make):
    model = make()
    return replace(model, weights=np.array([*TINY, *model.weights[4:]]))


def broken_network(make):
    model = make()
    for changes in (
        {"weights": model.weights * math.nan},
        {"weights": model.weights[1:]},
        {"image_shape": (4, 5)},
        {"placement": "gradcam"},
        {"standard": replace(model.standard, bits=16)},
    ):
        yield replace(model, **changes)


def _not_finite():
    weights = np.array(network().weights)
    weights[3] = np.nan
    return base64.b64encode(weights.tobytes()).decode()


_NETWORK_REFUSED: tuple[tuple[list[Any], Any, str], ...] = (
    (["architecture"], "nothing", "cannot be built"),
    (["architecture"], "cnn", "numbers do not fit"),
    (["architecture"], 3, "architecture"),
    (["classes"], ["a", "c"], "classes"),
    (["image_shape"], [4, 5], "image_shape"),
    (["image_shape"], [16], "image_shape"),
    (["image_shape"], [4, 4, 1.0], "image_shape"),
    (["image_shape"], [4, 4, 2], "image_shape"),
    (["seed"], -1, "cannot be built"),
    (["seed"], "0", "whole number"),
    (["means"], [0.1, 0.1], "cannot be built"),
    (["means"], ["a"], "means"),
    (["spreads"], [0.0], "cannot be built"),
    (["spreads"], 3, "spreads"),
    (["bits"], 16, "bits"),
    (["bits"], None, "bits"),
    (["parameters"], 3, "numbers do not fit"),
    (["weights"], "AAAA", "weights"),
    (["weights"], "not base64!", "weights"),
    (["weights"], "####", "weights"),
    (["weights"], [1.0], "weights"),
    (["weights"], None, "weights"),
    (["weights"], _not_finite, "finite"),
    (["schema", "columns", "p0"], {"kind": "category", "levels": [0, 1]}, "pixels"),
    (["schema", "target"], {"kind": "number", "lower": 0.0, "upper": 1.0}, "classes"),
)


def _networks(module: str, saved: str, make: Callable[[], Any], **more: Any) -> Family:
    return Family(
        module=module,
        saved=saved,
        models={
            "grey": make,
            "colours": partial(make, channels=2),
            "extreme": partial(extreme_network, make),
        },
        small=make,
        damaged="grey",
        contradictions=partial(broken_network, make),
        needed=("torch",),
        **more,
    )


NETWORK = _networks(
    "voile.models.networks.files",
    "SavedNetwork",
    network,
    refused=(
        *_NETWORK_REFUSED,
        (["placement"], "gradcam", "placement"),
        (["noise"], "client", "unknown field"),
    ),
    fitting={"voile": str},
)
AVERAGED = _networks(
    "voile.federated.fedavg.files",
    "SavedAverage",
    averaged,
    refused=(
        *_NETWORK_REFUSED,
        (["noise"], "selective", "its mode cannot"),
        (["noise"], None, "noise"),
        (["noise"], "dp_faithful", "guarantees"),
        (["placement"], "uniform", "placement"),
    ),
    fitting={"voile": str},
)

FAMILIES = {
    "ebm": EBM,
    "ebm with pairs": PAIRED,
    "lvq": LVQ,
    "locally linear": MAPS,
    "network": NETWORK,
    "averaged network": AVERAGED,
}
