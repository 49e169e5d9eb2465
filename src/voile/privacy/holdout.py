"""Rows held out for a test: each by a secret coin of its own, so that neighbours stay neighbours.

A split by a fixed shuffle lets one row more move all the others between the parts, and no
guarantee of a training follows for the whole table then (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.privacy import noise
from voile.privacy.encode import Identity, encode_values, loosely, pick_rows
from voile.privacy.origins import note_parts
from voile.privacy.tape.listening import keyed
from voile.schema import Schema, Unit

_NOT_SECRET = (
    "The rows were parted by fixed noise (fixed_noise, for tests only), and whoever knows the seed "
    "knows which: no training on them has a guarantee, whatever its receipt says. Call hold_out "
    "outside the fixed_noise block."
)


def hold_out(
    X: Any, y: Any = None, *, share: float = 0.2, unit: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """Put some rows aside for `score_private`, without harm to the guarantee of the training.

    Parameters
    ----------
    X : data frame, pyarrow table or array, shape (rows, columns)
        Private.
    y : array or column of shape (rows,), or str, optional
        The target; a name stays as it is.
    share : float
        Probability of each row to be held out, in (0, 1).
    unit : str, optional
        Column that tells whose row it is: a person's rows stay together. Whose row it is is told as
        in a schema with this `Unit`, whatever its type (12 and "12" are one person); rows without a
        readable value stay together, too.

    Returns
    -------
    X_train, X_held, y_train, y_held
        Of the types that were given, in the order of `sklearn.model_selection.train_test_split`.

    Notes
    -----
    Do not use ``train_test_split(random_state=...)`` on private rows: a fixed shuffle breaks the
    guarantee (docs/proofs/evaluation.md). Which rows are held out is secret chance: it cannot be
    repeated. Inside `voile.privacy.noise.fixed_noise` it can be, and a warning says so: the receipt
    of a later training would not know.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(1000.0).reshape(-1, 1), np.arange(1000)
    >>> X_train, X_held, y_train, y_held = hold_out(X, y)
    >>> len(X_train) + len(X_held)
    1000
    """
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.0 < share < 1.0:
        raise SettingError(f"The 'share' must be in (0, 1). Got {share!r} instead.")
    rows = pick_rows(X, None, Schema({})).row_count
    if noise.current_source() is noise.NoiseSource.FIXED:
        warnings.warn(_NOT_SECRET, UserWarning, stacklevel=2)
    if unit is None:
        keyed(lambda: _row_names(X, y, rows))
        held = noise.bernoulli(rows, share)
    else:
        held = _by_unit(X, unit, share)
    parts = []
    for one in (X, y):
        learned, kept = _choose(one, ~held, rows), _choose(one, held, rows)
        note_parts(one, (learned, kept))
        parts += [learned, kept]
    return parts[0], parts[1], parts[2], parts[3]


def _by_unit(X: Any, unit: str, share: float) -> NDArray[np.bool_]:
    """One coin for all rows of a unit, as the vault tells units apart; no value is an error."""
    try:
        private_values = pick_rows(X, None, Schema({}, unit=Unit(unit))).unit
    except DataError:
        raise DataError(
            f"The table has no column {unit!r} to tell whose rows belong together: give a data "
            "frame that has it."
        ) from None
    assert private_values is not None
    private_ids = encode_values(private_values, Identity()).tolist()
    # Loosely: ids that may be one person's are never parted; who shares a coin loses nothing by it.
    places: dict[str | None, int] = {}
    place_of: dict[str | None, int] = {}
    for one in private_ids:
        if one not in place_of:
            alike = None if one is None else loosely(one)
            place_of[one] = places.setdefault(alike, len(places))
    keyed(lambda: list(places))
    coins = noise.bernoulli(len(places), share)
    chosen: NDArray[np.bool_] = coins[[place_of[one] for one in private_ids]]
    return chosen


def _row_names(X: Any, y: Any, rows: int) -> list[str]:
    """Each row in words, for an audit that replays the same split on another table."""
    single = [_choose(one, np.arange(rows) == i, rows) for i in range(rows) for one in (X, y)]
    return [repr(pair) for pair in zip(single[::2], single[1::2], strict=True)]


def _choose(values: Any, chosen: NDArray[np.bool_], rows: int) -> Any:
    """The chosen rows of a table or column, of the type that was given."""
    if values is None or isinstance(values, str):
        return values
    adopted = nw.from_native(values, pass_through=True, allow_series=True, eager_only=True)
    if isinstance(adopted, (nw.DataFrame, nw.Series)):
        _check_rows(len(adopted), rows)
        return adopted.filter(chosen.tolist()).to_native()
    if isinstance(values, dict):
        return {name: _choose(column, chosen, rows) for name, column in values.items()}
    if isinstance(values, list):
        _check_rows(len(values), rows)
        return [value for value, one in zip(values, chosen, strict=True) if one]
    array = np.asarray(values)
    _check_rows(len(array), rows)
    return array[chosen]


def _check_rows(found: int, rows: int) -> None:
    if found != rows:
        raise DataError("X and y have different numbers of rows: give one target per row.")
