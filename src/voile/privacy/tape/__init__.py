"""The tape: what an audit hears of every opening of the vault and every draw, and can replay."""

from voile.privacy.tape.listening import at_client, current, keyed, listen, overheard, sampled
from voile.privacy.tape.records import Access, Added, Choice, Coins
from voile.privacy.tape.tape import Tape

__all__ = [
    "Access",
    "Added",
    "Choice",
    "Coins",
    "Tape",
    "at_client",
    "current",
    "keyed",
    "listen",
    "overheard",
    "sampled",
]
