"""Noise that knows where it goes: the tape hears to what exact total it is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.tape.records import Added

Use = Callable[[Added, NDArray[Any]], NDArray[Any]]


class Drawn(np.ndarray[Any, Any]):
    """Noise as an array. Adding it to a total, once and as it is, is all that a mechanism may do.

    Whatever else is made of it (a half, a part, a second sum) is no noise to the tape, which then
    misses it where it should be.
    """

    _added: Added | None = None
    _use: Use | None = None

    @classmethod
    def of(cls, added: Added, use: Use) -> Drawn:
        """The noise of a draw; ``use`` is told the total and gives what is released."""
        result = added.noise.copy().view(cls)
        result._added, result._use = added, use
        return result

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **how: Any
    ) -> Any:
        """Addition to one total is heard; all else is done with plain numbers."""
        mine = [one for one in inputs if isinstance(one, Drawn)]
        plain = [one.view(np.ndarray) if isinstance(one, Drawn) else one for one in inputs]
        places = tuple(one.view(np.ndarray) if isinstance(one, Drawn) else one for one in out or ())
        heard = mine[0] if len(mine) == 1 else None
        adds = ufunc is np.add and method == "__call__" and not how
        if adds and heard is not None and heard._added is not None and heard._use is not None:
            other = plain[1] if inputs[0] is heard else plain[0]
            result = heard._use(heard._added, np.asarray(other))
            if places:
                places[0][...] = result
                return places[0]
            return result
        return getattr(ufunc, method)(*plain, **({"out": places} if places else {}), **how)
