"""Pairwise masks: each client's message looks random, and only the sum of all makes sense.

Bonawitz et al. (CCS 2017) without the recovery of missing masks: a round in which somebody is
missing is thrown away and asked again, which a few hospitals can afford and needs no secret shares.
Why own code: Flower's SecAgg+ belongs to its older API, quantises floats with a clipping range of
its own, and weighs clients; sums here are exact integers mod 2^64 (docs/proofs/federated.md).
"""

from __future__ import annotations

import hashlib
import os
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

KEY_BYTES, NONCE_BYTES = 32, 16


@sendable
@dataclass(frozen=True)
class Roster:
    """The clients of one attempt at a sum, with the public keys of this job.

    Attributes
    ----------
    attempt : int
        From 0; each later one has fewer clients.
    keys : mapping of str to bytes
        What each client gave when it joined, by its name: its public key and the nonce of its run.
    """

    attempt: int
    keys: Mapping[str, bytes]

    def __post_init__(self) -> None:
        if type(self.attempt) is not int or not 0 <= self.attempt < 2**31:
            raise DataError("The attempt of a roster must be a whole number from 0.")
        known = isinstance(self.keys, Mapping) and all(
            type(key) is bytes and len(key) in (KEY_BYTES, KEY_BYTES + NONCE_BYTES)
            for key in self.keys.values()
        )
        if not known:
            raise DataError("A roster holds a public key for each client.")

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
        if type(key) is not bytes or len(key) != KEY_BYTES + NONCE_BYTES:
            raise ValueError
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(key[:KEY_BYTES]))
    except ValueError as error:
        raise DataError("the client's key is no X25519 key") from error


class Masker:
    """One client's side: its key of a job, and what it shares with each of the others.

    Parameters
    ----------
    name : str
    key : X25519PrivateKey, optional
        A lasting key that others know beforehand; by default a new one for each job.

    Notes
    -----
    Every mask depends on a nonce of this run and job, drawn here and kept nowhere: a client that is
    started again, from whatever copy of its files, never hides two answers behind one mask.
    """

    def __init__(self, name: str, key: X25519PrivateKey | None = None) -> None:
        self._name = name
        self._key = X25519PrivateKey.generate() if key is None else key
        self._nonce = os.urandom(NONCE_BYTES)
        self._shared: dict[bytes, bytes] = {}

    @property
    def public(self) -> bytes:
        """What others need to know: the public key, and the nonce of this run."""
        return self._key.public_key().public_bytes_raw() + self._nonce

    def hide(self, values: NDArray[np.int64], roster: Roster, context: bytes) -> NDArray[np.int64]:
        """The values plus this client's masks, mod 2^64.

        Parameters
        ----------
        values : ndarray of shape (size,)
        roster : Roster
            With this client in it.
        context : bytes
            Names the job and the access: no mask is ever used twice.
        """
        result, digest = values.astype(np.int64).view(np.uint64).copy(), roster.digest
        for other, key in roster.keys.items():
            if other == self._name:
                continue
            mask = self._mask(other, key[:KEY_BYTES], digest + context, len(values))
            if self._name < other:
                result += mask
            else:
                result -= mask
        return result.view(np.int64)

    def meet(self, roster: Roster) -> None:
        """Agree on a secret with each of the others; refuses what is no key (SettingError)."""
        for other, key in roster.keys.items():
            if other != self._name:
                self._secret(other, key[:KEY_BYTES])

    def _secret(self, other: str, key: bytes) -> bytes:
        if key not in self._shared:
            try:
                self._shared[key] = self._key.exchange(X25519PublicKey.from_public_bytes(key))
            except ValueError as error:
                raise SettingError(f"The key of client {other!r} is no X25519 key.") from error
        return self._shared[key]

    def _mask(self, other: str, key: bytes, context: bytes, size: int) -> NDArray[np.uint64]:
        secret = self._secret(other, key)
        pair = "\0".join(sorted([self._name, other])).encode()
        info = b"voile mask\0" + pair
        derived = HKDF(hashes.SHA256(), 32, salt=context, info=info).derive(secret)
        # The derived key is used once, so a constant nonce will do.
        cipher = Cipher(ChaCha20(derived, bytes(16)), mode=None).encryptor()
        return np.frombuffer(cipher.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)
