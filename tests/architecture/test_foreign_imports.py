"""Only public modules and names of other libraries are used."""

import sys

import pytest
from source_tree import Module, find_violations


def is_private(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def find_private_imports(module: Module) -> list[str]:
    found = set()
    for one in module.imports:
        if one.path.split(".")[0] != "voile" and any(map(is_private, one.path.split("."))):
            found.add(f"{module.name}:{one.line} imports {one.path}")
    for path, line in module.dotted_names:
        first, *rest = path.split(".")
        foreign = first != "voile" and first not in sys.stdlib_module_names
        if foreign and any(map(is_private, rest)):
            found.add(f"{module.name}:{line} uses {path}")
    return sorted(found)


def test_only_public_modules_of_other_libraries():
    assert find_violations(find_private_imports) == []


@pytest.mark.parametrize(
    "text",
    [
        "from sklearn.utils._param_validation import Interval",
        "from sklearn.ensemble import _forest",
        "import scipy._lib",
        "import _thread",
        "import sklearn.utils\nsklearn.utils._tags.get_tags",
        "import numpy as np\nnp._core.multiarray",
        "def f():\n    from numba.core import _hidden",
    ],
)
def test_a_planted_private_import_is_found(text):
    assert find_private_imports(Module("voile.models.ebm.estimator", text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations",
        "from sklearn.base import BaseEstimator\nclass A(BaseEstimator):\n    _x = 1",
        "from numpy import __version__",
        "from voile.privacy._page import Page",
        "import os\nos._exit(1)",
    ],
)
def test_public_imports_pass(text):
    assert find_private_imports(Module("voile.models.ebm.estimator", text)) == []
