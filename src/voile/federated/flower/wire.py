"""How bytes travel in Flower's messages: a kind and a body, never a pickle.

The body is an `Array` of raw bytes, because Flower sends arrays in pieces and refuses very large
values of other kinds. What comes from another machine is checked before it is used.
"""

from __future__ import annotations

from typing import Literal

from voile.errors import FederationError, MissingExtra

try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
except ImportError:
    raise MissingExtra("flwr", "federated") from None

Kind = Literal["hello", "ask", "answer", "refusal"]

_KINDS: tuple[Kind, ...] = ("hello", "ask", "answer", "refusal")
_ABOUT, _PARTS, _BODY = "voile", "voile-parts", "body"
_FORMAT = 1
_SERIALISATION = "voile.bytes"


class WireError(FederationError):
    """What came over Flower is no message of Voile."""


def pack(kind: Kind, body: bytes) -> RecordDict:
    """A message's content that carries the body."""
    return RecordDict(
        {
            _ABOUT: ConfigRecord({"format": _FORMAT, "kind": kind}),
            _PARTS: ArrayRecord({_BODY: Array("uint8", (len(body),), _SERIALISATION, body)}),
        }
    )


def unpack(content: RecordDict) -> tuple[Kind, bytes]:
    """The kind and the body, or a `WireError` that says what is wrong."""
    about = content.get(_ABOUT)
    if not isinstance(about, ConfigRecord) or about.get("format") != _FORMAT:
        raise WireError(
            f"the message is not of Voile's format {_FORMAT}: use one version on all machines"
        )
    kind = about.get("kind")
    for known in _KINDS:
        if kind == known:
            return known, _body(content)
    raise WireError("the message is of an unknown kind: use one version on all machines")


def _body(content: RecordDict) -> bytes:
    parts = content.get(_PARTS)
    array = parts.get(_BODY) if isinstance(parts, ArrayRecord) else None
    if not isinstance(array, Array) or array.stype != _SERIALISATION:
        raise WireError("the message has no body of raw bytes")
    body = array.data
    if not isinstance(body, bytes) or tuple(array.shape) != (len(body),):
        raise WireError("the message's body is not as long as it says")
    return body
