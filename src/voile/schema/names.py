"""What a column's name says: in small words, and whether it suggests whose row it is.

A name is public, so it may decide what is asked before anything is paid; values never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PEOPLE = "patient|person|customer|client|member|subject|user|participant|respondent|individual"
_LEUTE = (
    "patientin|kunde|kundin|klient|klientin|mitglied|proband|probandin|teilnehmer|teilnehmerin|"
    "versicherte|versicherter|nutzer|nutzerin"
)
"""Nouns that tell whose row it is, alone or with the word for an identifier."""

_OTHERS = (
    "people|employee|worker|student|pupil|child|citizen|resident|taxpayer|policyholder|insured|"
    "beneficiary|enrollee|tenant|borrower|debtor|donor|visitor|driver|player|applicant|account|"
    "household|family|case|passenger|voter|owner"
)
_ANDERE = (
    "cust|subj|pat|mitarbeiter|mitarbeiterin|angestellte|personal|schueler|schüler|matrikel|"
    "buerger|bürger|haushalt|familie|konto|fall|spender|mandant|mieter|halter|pseudonym"
)
"""Nouns that do so only with that word: a case or an account alone may be anything."""

_IDENTIFIER = (
    "id|ids|uid|uuid|guid|no|nr|nbr|num|number|nummer|key|code|ref|hash|pseudonym|kennung|"
    "schluessel|schlüssel"
)

_WHOSE = re.compile(
    rf"({_PEOPLE}|{_LEUTE})|"
    rf"(.* )?({_PEOPLE}|{_LEUTE}|{_OTHERS}|{_ANDERE})(e?n|s)? ?({_IDENTIFIER})|"
    r"u?subjid|pid|mrn|ssn|nhs( number| no)?|e ?mail( address)?|iban|steuer ?id|"
    r"full ?name|last ?name|surname|nachname"
)
_PERHAPS = re.compile(r"(.* )?(id|uid|uuid|guid|identifier|kennung)")
_CONTACT = re.compile(r"(.* )?(name|phone|address|ssn|nbr|e ?mail|iban)|account")


def words_of(name: str) -> str:
    """A column's name in small words: "HoursPerWeek" and "hours-per-week" alike.

    Examples
    --------
    >>> words_of("customerID"), words_of("patient_nbr")
    ('customer id', 'patient nbr')
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[a-zäöüß]+|\d+", apart.lower()))


def suggests_people(name: str) -> bool:
    """Whether a name says that the column tells people apart: a patient, a customer number.

    Examples
    --------
    >>> suggests_people("patient_id"), suggests_people("Kundennummer"), suggests_people("age")
    (True, True, False)
    """
    return _WHOSE.fullmatch(words_of(name)) is not None


def suggests_identifier(name: str) -> bool:
    """Whether a name says that the column identifies something, perhaps people: an id.

    Examples
    --------
    >>> suggests_identifier("stay_id"), suggests_identifier("paid")
    (True, False)
    """
    return _PERHAPS.fullmatch(words_of(name)) is not None


def looks_like_identifier(name: str) -> bool:
    """Whether a name says whose row or which thing it is: nothing that a model should learn from.

    Examples
    --------
    >>> looks_like_identifier("stay_id"), looks_like_identifier("phone")
    (True, True)
    """
    known = suggests_people(name) or suggests_identifier(name)
    return known or _CONTACT.fullmatch(words_of(name)) is not None


def name_person(column: str) -> str:
    """Whom a column tells apart, in a word for an English sentence.

    Examples
    --------
    >>> name_person("patient_id"), name_person("Kundennummer"), name_person("stay_id")
    ('patient', 'person', 'stay_id')
    """
    noun = re.fullmatch(rf"(?:.* )?({_PEOPLE}|{_OTHERS})(?: (?:{_IDENTIFIER}))?", words_of(column))
    if noun:
        return noun[1]
    return "person" if suggests_people(column) else column


def rank_suggestive(names: Iterable[str]) -> tuple[str, ...]:
    """Names that suggest whose row it is: those of people first, then other identifiers."""
    listed = tuple(names)
    people = tuple(name for name in listed if suggests_people(name))
    return (*people, *(name for name in listed if name not in people and suggests_identifier(name)))
