"""Who did something, and how that is known."""

from __future__ import annotations

import getpass
import os
import platform
from dataclasses import dataclass
from enum import StrEnum

from voile.errors import SettingError
from voile.strict import is_text


class KnownBy(StrEnum):
    """How the name of a person is known; what that is worth: docs/how-to/share-a-ledger.md."""

    LOGIN = "login name"
    """Asked of the operating system: whoever rules the machine can be anybody."""
    GIVEN = "given"
    """Said by the caller, checked by nobody."""
    AUTHENTICATED = "authenticated"
    """Vouched for by a service that has checked a password, token or certificate."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who does something.

    Parameters
    ----------
    name : str
    known_by : KnownBy
        How the name is known. A service that has checked who asks says ``"authenticated"``.
    """

    name: str
    known_by: KnownBy = KnownBy.GIVEN

    def __post_init__(self) -> None:
        check_text("name of a person", self.name)
        object.__setattr__(self, "known_by", KnownBy(self.known_by))

    def __str__(self) -> str:
        return f"{self.name} ({self.known_by})"


def person_of(who: str | Person | None) -> Person:
    """A person from what was given; without anything, whoever has logged in."""
    if isinstance(who, Person):
        return who
    if who is not None:
        return Person(who)
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in a container
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    name = f"{user}@{platform.node()}".replace("\0", "?")
    # A name of odd bytes is no reason to refuse a job, and databases store no lone surrogates.
    return Person(name.encode("utf-8", "replace").decode(), KnownBy.LOGIN)


def check_text(what: str, text: object, most: int | None = None) -> None:
    """Refuse what a database or a JSON file cannot keep as it is."""
    if not isinstance(text, str) or not text:
        raise SettingError(f"The {what} must be a text. Got {text!r} instead.")
    if not is_text(text):
        raise SettingError(
            f"The {what} has a NUL or half a character in it, which no database keeps: {text!r}. "
            "Leave it out."
        )
    if most is not None and len(text) > most:
        raise SettingError(
            f"The {what} has {len(text)} letters, and {most} are allowed: shorten it "
            f"({text[:20]!r}...)."
        )
