"""Pairwise masks: each client's message looks random, and only the sum of all makes sense.

Bonawitz et al. (CCS 2017) without the recovery of missing masks: a round in which somebody is
missing is thrown away and asked again, which a few hospitals can afford and needs no secret shares.
Why own code: Flower's SecAgg+ belongs to its older API, quantises floats with a clipping range of
its own, and weighs clients; sums here are exact integers mod 2^64 (docs/proofs/federated.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.privacy.wire import sendable


@sendable
@dataclass(frozen=True)
class Roster:
    """The clients of one attempt at a sum, with the public keys of this job.

    Attributes
    ----------
    attempt : int
        From 0.
    keys : mapping of str to bytes
        X25519 public keys by the clients' names.
    """

    attempt: int
    keys: Mapping[str, bytes]

    @property
    def digest(self) -> bytes:
        """Binds masks to exactly these clients and keys."""
        text = hashlib.sha256(self.attempt.to_bytes(4, "big"))
        for name in sorted(self.keys):
            own = name.encode()
            text.update(len(own).to_bytes(4, "big") + own + self.keys[name])
        return text.digest()


def check_key(key: object) -> None:
    """Refuse what is no public key, and the few keys whose secret is no secret."""
    try:
        if type(key) is not bytes:
            raise ValueError
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError as error:
        raise DataError("the client's key is no X25519 key") from error


class Masker:
    """One client's side: its key of a job, and what it shares with each of the others.

    Parameters
    ----------
    name : str
    key : X25519PrivateKey, optional
        A lasting key that others know beforehand; by default a new one for each job.
    """

    def __init__(self, name: str, key: X25519PrivateKey | None = None) -> None:
        self._name = name
        self._key = X25519PrivateKey.generate() if key is None else key
        self._shared: dict[bytes, bytes] = {}

    @property
    def public_key(self) -> bytes:
        """What others need to know."""
        return self._key.public_key().public_bytes_raw()

    def hide(self, values: NDArray[np.int64], roster: Roster, context: bytes) -> NDArray[np.int64]:
        """The values plus this client's masks, mod 2^64.

        Parameters
        ----------
        values : ndarray of shape (size,)
        roster : Roster
            With this client in it.
        context : bytes
            Names the job and the look: no mask is ever used twice.
        """
        result = values.astype(np.int64).view(np.uint64).copy()
        for other, key in roster.keys.items():
            if other == self._name:
                continue
            mask = self._mask(other, key, roster.digest + context, len(values))
            if self._name < other:
                result += mask
            else:
                result -= mask
        return result.view(np.int64)

    def _mask(self, other: str, key: bytes, context: bytes, size: int) -> NDArray[np.uint64]:
        if key not in self._shared:
            try:
                self._shared[key] = self._key.exchange(X25519PublicKey.from_public_bytes(key))
            except ValueError as error:
                raise SettingError(f"The key of client {other!r} is no X25519 key.") from error
        pair = "\0".join(sorted([self._name, other])).encode()
        derived = HKDF(hashes.SHA256(), 32, salt=context, info=b"voile mask\0" + pair).derive(
            self._shared[key]
        )
        # The derived key is used once, so a constant nonce will do.
        cipher = Cipher(ChaCha20(derived, bytes(16)), mode=None).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)
