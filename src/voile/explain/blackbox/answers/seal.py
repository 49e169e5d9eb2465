"""How what was asked and answered is kept: under keyed digests, and sealed.

A stored answer has a name, the keyed digest of its point (HMAC-SHA256), so that the same question
finds it again; and a seal (Fernet: AES and HMAC), of the same length whatever it holds. Unless
questions are shared, the sealing key is made of the point, too: only who knows the row can open
the answer, and not even the explainer can tell what was asked. What that protects, and what not:
docs/proofs/explainer.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field

import numpy as np
from cryptography.fernet import Fernet, InvalidToken
from numpy.typing import NDArray

from voile.errors import LedgerMismatch

Point = NDArray[np.int32]


@dataclass(frozen=True)
class Seals:
    """Names and seals of one explainer's answers.

    Attributes
    ----------
    secret : bytes
        Of this explainer alone, made of the ledger's key; never shown.
    shared : bool
        Whether all who ask under the explainer's name may know what was asked.
    """

    secret: bytes = field(repr=False)
    shared: bool

    @classmethod
    def of(cls, key: bytes, dataset: str, name: str, *, shared: bool) -> Seals:
        """The seals of an explainer, by its data set and name."""
        return cls(_digest(key, json.dumps(["explainer", dataset, name]).encode()), shared)

    @property
    def mark(self) -> str:
        """By which another key is noticed; tells nothing of this one."""
        return _digest(self.secret, b"mark").hex()

    def name(self, point: Point) -> str:
        """The name of a question: the same for the same point."""
        return _digest(self.secret, b"name" + _bytes(point)).hex()

    def close(self, data: bytes, point: Point | None = None) -> str:
        """Seal what belongs to a point, or to the explainer as a whole."""
        # The ledger's entries have the time; a second clock would only be one more to compare.
        return self._fernet(point).encrypt_at_time(data, 0).decode("ascii")

    def open(self, sealed: object, point: Point | None = None) -> bytes:
        """Open what was sealed.

        Raises
        ------
        LedgerMismatch
            If it is not what was sealed.
        """
        try:
            return self._fernet(point).decrypt(str(sealed).encode())
        except InvalidToken:
            raise LedgerMismatch(
                "An answer of this explainer cannot be opened: the ledger's tables were changed. "
                "Put a good copy back."
            ) from None

    def check(self, mark: object) -> None:
        """Refuse a key that is not the one under which answers were kept (LedgerMismatch)."""
        if mark != self.mark:
            raise LedgerMismatch(
                "This explainer's answers were kept under another key: put the key back that was "
                "beside the ledger, or give the explainer another name (which pays anew)."
            )

    def _fernet(self, point: Point | None) -> Fernet:
        of_point = b"" if point is None or self.shared else _bytes(point)
        return Fernet(base64.urlsafe_b64encode(_digest(self.secret, b"seal" + of_point)))


def _bytes(point: Point) -> bytes:
    return np.ascontiguousarray(point, dtype="<i4").tobytes()


def _digest(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()
