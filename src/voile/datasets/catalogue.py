"""The catalogue of public data sets: list, describe, find, load and fetch them."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from voile.datasets import places
from voile.datasets.data_set import DataSet, DataSetFacts
from voile.datasets.packaged import read_packaged
from voile.datasets.stored_files import read_pictures, read_table
from voile.datasets.stored_set import StoredSet, read_set
from voile.errors import DataError, SettingError

_NAMES = (
    *("adult", "diabetes130", "telco_churn", "credit_fraud"),
    *("cal_housing", "wine_quality", "elevators", "segment", "uci_har", "hapt_har561"),
    *("mnist", "fashion_mnist", "fer", "blood_cells", "imdb"),
    *("randhie", "breast_cancer", "diabetes", "wine", "iris", "digits"),
)
"""Tables, pictures, texts, then what packages ship; each is described in ``sets/NAME.yaml``."""


def names() -> tuple[str, ...]:
    """Return the names of all data sets."""
    return _NAMES


def find(name: str) -> StoredSet:
    """Return one set of the catalogue.

    Raises
    ------
    SettingError
        If there is no such data set.
    """
    if name in _NAMES:
        return read_set(name)
    near = difflib.get_close_matches(str(name), _NAMES, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise SettingError(f"There is no data set {name!r}.{guess} There are: {', '.join(_NAMES)}.")


def describe(name: str) -> DataSetFacts:
    """Return what is known of a data set, without reading its rows.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    DataSetFacts

    Raises
    ------
    SettingError
        If there is no such data set.
    """
    return find(name).facts


def can_fetch(name: str) -> bool:
    """Whether `fetch` can download a data set.

    Raises
    ------
    SettingError
        If there is no such data set.
    """
    return find(name).download is not None


def where(name: str, *, folder: str | os.PathLike[str] | None = None) -> str | None:
    """Say where `load` would find a data set: a file, a package, or None for nowhere.

    Raises
    ------
    SettingError
        If there is no such data set.
    DataError
        If a folder that is named does not exist.
    """
    return places.place_of(find(name), folder)


def load(
    name: str, *, folder: str | os.PathLike[str] | None = None, split: str | None = None
) -> DataSet:
    """Load a public data set with its public schema.

    It is looked for in `folder`, in the folder that the environment variable VOILE_DATA names, in
    the cache folder that `fetch` writes to, and in the package that ships it; ``place`` of the
    result says where it was found.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path or None
        A folder to look in first.
    split : str or None
        An official split, such as "train" or "test"; None for all rows.

    Returns
    -------
    DataSet

    Raises
    ------
    SettingError
        If there is no such data set, or it has no such split.
    DataError
        If it is nowhere to be found, or its file cannot be read.
    MissingExtra
        If the package that ships it is not installed.

    Examples
    --------
    >>> print(load("breast_cancer"))
    Breast Cancer Wisconsin (Diagnostic): 569 rows, classification
    """
    entry = find(name)
    _check_split(entry.facts, split)
    if entry.package is not None:
        return read_packaged(entry, entry.package)
    path = places.find_file(entry, folder)
    if path is None:
        raise DataError(
            f"The data set {name!r} ({entry.file}) is in none of the folders that were searched: "
            f"{_remedy(entry)}."
        )
    read = read_table if entry.facts.image_shape is None else read_pictures
    return read(entry, path, split)


def fetch(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Download a data set and store it; needs a network connection, and pandas.

    It is read through scikit-learn from OpenML (California housing: from scikit-learn's own
    source) and stored in the form of `voile.datasets.stored_files`, so that `load` reads it as any
    other copy. A file that is there already is kept. Copies on OpenML lack some columns that others
    have (``customerID``, ``color``, perhaps ``Time``): the schema of the loaded set then lacks
    them too.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path or None
        Where to store it; by default `folder`, the cache folder.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    SettingError
        If there is no such data set.
    DataError
        If it cannot be downloaded or stored, or is not the published table. No half file is left.
    MissingExtra
        If pandas is not installed.
    """
    from voile.datasets.downloads import download

    entry = find(name)
    if entry.package is not None:
        raise DataError(
            f"The data set {name!r} comes with {entry.package}, so there is nothing to fetch: "
            f"voile.datasets.load({name!r}) has it at once."
        )
    if entry.download is None:
        raise DataError(f"The data set {name!r} cannot be fetched: {_remedy(entry)}.")
    place = places.folder() if folder is None else Path(folder)
    path = place / str(entry.file)
    if path.is_file():
        return path
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The folder {str(place)!r} cannot be made ({error.strerror}): give another one."
        ) from error
    download(entry, entry.download, path)
    return path


def _check_split(facts: DataSetFacts, split: str | None) -> None:
    if split is None or split in facts.splits:
        return
    if not facts.splits:
        raise SettingError(
            f"The data set {facts.name!r} has no official split. Got split={split!r}: leave it out "
            f"and split the rows yourself."
        )
    raise SettingError(
        f"The data set {facts.name!r} has no split {split!r}: choose "
        f"{', '.join(map(repr, facts.splits))}, or leave it out for all rows."
    )


def _remedy(entry: StoredSet) -> str:
    """Say how to get a set that is not there."""
    by_hand = f"set {places.VARIABLE} to a folder that has {entry.file}"
    if entry.download is not None:
        return f"run voile datasets fetch {entry.facts.name}, or {by_hand}"
    same = entry.same_experiment
    other = "" if same is None else f", or fetch {same}, the same experiment"
    return f"it is not on OpenML, so {by_hand}{other}"
