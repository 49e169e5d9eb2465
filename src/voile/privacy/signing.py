"""Ed25519 keys: who vouches for a receipt, a model file or a line of a ledger.

A signature shows that whoever holds the key vouches for these very bytes; it says nothing about
what is true of the rows. What to sign and where to keep a key: docs/how-to/prove-it-later.md.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from voile.errors import ReceiptError, SettingError

VARIABLE = "VOILE_KEY"
"""Environment variable with the path of the key to sign with."""

_PREFIX = "ed25519:"
_ENTRY, _RECORD = b"voile ledger entry\0", b"voile record\0"
SIGNATURE = "signature"
"""Field of a JSON record that holds its signature."""


class SigningKey:
    """A private Ed25519 key that vouches for ledgers, receipts and models.

    Made by `create`, read by `read`. It cannot be pickled or printed.
    """

    def __init__(self, private: Ed25519PrivateKey, path: Path | None = None) -> None:
        self._private, self.path = private, path

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make a key and write it to a new file that only its owner can read (and ``.pub``)."""
        where = Path(path).expanduser()
        private = Ed25519PrivateKey.generate()
        text = private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            # Never over an existing key: what it has signed could not be checked any more.
            handle = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            key = cls(private, where.resolve())
            where.with_name(where.name + ".pub").write_text(key.public + "\n")
        except OSError as error:
            raise SettingError(
                f"The key cannot be written to {str(where)!r} ({error.strerror}): give a new file "
                "in a folder that you may write to."
            ) from error
        return key

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a key that `create` has written."""
        where = Path(path).expanduser()
        try:
            text = where.read_bytes()
            mode = where.stat().st_mode
        except (OSError, ValueError) as error:
            raise SettingError(
                f"The key {str(where)!r} cannot be read: check the path, or make one with voile "
                "key create."
            ) from error
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SettingError(
                f"The key {str(where)!r} can be read by others than its owner, and so proves "
                "nothing: chmod 600, and make a new one if somebody may have copied it."
            )
        try:
            private = serialization.load_pem_private_key(text, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise SettingError(
                f"The file {str(where)!r} is no key of voile: make one with voile key create."
            )
        return cls(private, where.resolve())

    @property
    def public(self) -> str:
        """The public half, which checks signatures: ``ed25519:`` and 64 hexadecimal digits."""
        raw = self._private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        return _PREFIX + raw.hex()

    def sign_digest(self, digest: str) -> str:
        """Sign a line of a ledger by its digest."""
        return self._sign(_ENTRY + digest.encode())

    def sign_record(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A JSON record with a signature over everything else in it."""
        plain = {name: value for name, value in data.items() if name != SIGNATURE}
        signed = self._sign(_RECORD + _bytes_of(plain))
        return {**plain, SIGNATURE: {"key": self.public, "value": signed}}

    def _sign(self, message: bytes) -> str:
        return base64.b64encode(self._private.sign(message)).decode()

    def __repr__(self) -> str:
        return f"<SigningKey {self.public}>"

    def __reduce__(self) -> NoReturn:
        raise SettingError("A private key is not sent to another process: give its path there.")


@dataclass(frozen=True, slots=True)
class Signed:
    """By which key a record is signed; ``None``: by none."""

    key: str | None


def find_key(key: SigningKey | str | Path | None) -> SigningKey | None:
    """The key to sign with: the given one, else the one that ``VOILE_KEY`` names, if any."""
    if isinstance(key, SigningKey):
        return key
    where = key if key is not None else os.environ.get(VARIABLE)
    return None if where is None or str(where) == "" else SigningKey.read(where)


def read_public(given: str | Path) -> str:
    """A public key from its text or from the file that holds it."""
    text = str(given).strip()
    if not text.startswith(_PREFIX):
        try:
            text = Path(given).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SettingError(
                f"There is no public key {str(given)!r}: give its text (ed25519:...) or the file "
                "that ends in .pub."
            ) from error
    if _public(text) is None:
        raise SettingError("This is no public key: it must be 'ed25519:' and 64 digits 0-9, a-f.")
    return text


def is_signed(public: str, digest: str, signature: str | None) -> bool:
    """Whether a line of a ledger is signed by the key."""
    return _holds(public, _ENTRY + digest.encode(), signature)


def check_record(data: Mapping[str, Any]) -> Signed:
    """By which key a JSON record is signed.

    Raises
    ------
    ReceiptError
        If it carries a signature that is not of this content.
    """
    if SIGNATURE not in data:
        return Signed(None)
    given = data[SIGNATURE]
    plain = {name: value for name, value in data.items() if name != SIGNATURE}
    try:
        public, value = given["key"], given["value"]
        whole = set(given) == {"key", "value"} and isinstance(public, str)
        fits = whole and _holds(public, _RECORD + _bytes_of(plain), value)
    except (KeyError, TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise ReceiptError(
            "The signature is not of this content: the file was changed after it was signed. Ask "
            "for the signed file again."
        )
    return Signed(str(public))


def _bytes_of(data: Mapping[str, Any]) -> bytes:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode()


@lru_cache(maxsize=32)
def _public(text: str) -> Ed25519PublicKey | None:
    try:
        raw = bytes.fromhex(text.removeprefix(_PREFIX))
        # One spelling alone, so that no letter of a signed file can be changed.
        return Ed25519PublicKey.from_public_bytes(raw) if text == _PREFIX + raw.hex() else None
    except (ValueError, UnsupportedAlgorithm):
        return None


def _holds(public: str, message: bytes, signature: object) -> bool:
    key = _public(public) if isinstance(public, str) else None
    if key is None or not isinstance(signature, str):
        return False
    try:
        raw = base64.b64decode(signature, validate=True)
        key.verify(raw, message)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return base64.b64encode(raw).decode() == signature


def without_signature(data: Any) -> Any:
    """The content of a record without its signature, which must be of this content.

    Raises
    ------
    ReceiptError
    """
    if not isinstance(data, Mapping) or SIGNATURE not in data:
        return data
    check_record(data)
    return {name: value for name, value in data.items() if name != SIGNATURE}
