"""Public data sets, each with a public schema that comes from its documentation, not its rows.

>>> from voile import datasets
>>> iris = datasets.load("iris")
>>> iris.schema["petal length (cm)"]
Number(1, 6.9)
>>> datasets.describe("adult").rows
48842
"""

from voile.datasets.catalogue import can_fetch, describe, fetch, load, names, where
from voile.datasets.data_set import DataSet, DataSetFacts
from voile.datasets.places import folder

__all__ = [
    "DataSet",
    "DataSetFacts",
    "can_fetch",
    "describe",
    "fetch",
    "folder",
    "load",
    "names",
    "where",
]
