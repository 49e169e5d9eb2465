"""Verifying a file without the rows: a receipt, a model, a record with a receipt, a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from voile.codec import Writable
from voile.errors import LedgerMismatch, ReceiptError
from voile.models.load import load
from voile.privacy.ledger import Ledger
from voile.privacy.receipt import Receipt
from voile.privacy.receipt_check import check_entry, check_receipt
from voile.privacy.signing import check_record, read_public
from voile.strict import Strict

_SQLITE = b"SQLite format 3\0"
_STRICT = Strict(ReceiptError, "a receipt or a model")


@dataclass(frozen=True, slots=True)
class Verification(Writable):
    """What was checked of a file, and what was not.

    Attributes
    ----------
    kind : str
        "ledger", "receipt", "model" or "record" (another file that holds a receipt).
    guarantee : str or None
        The guarantee in a sentence, computed again; None for a ledger.
    signer : str or None
        Public key of the signature.
    checked, unchecked : tuple of str
        What holds; what could not be told, with what would be needed.
    """

    kind: str
    guarantee: str | None
    signer: str | None
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

    def __str__(self) -> str:
        head = f"Nothing contradicts what the {self.kind} says."
        said = [] if self.guarantee is None else [f"It says: {self.guarantee}."]
        return "\n".join(
            [
                head,
                *said,
                *(f"  checked      {one}" for one in self.checked),
                *(f"  not checked  {one}" for one in self.unchecked),
            ]
        )


def verify(
    path: str | Path,
    *,
    key: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    head: str | None = None,
    dataset: str | None = None,
) -> Verification:
    """Check a receipt, a model, another record with a receipt, or a ledger; no rows are needed.

    Parameters
    ----------
    path : str or path
        A file of JSON, a SQLite ledger, or the ``postgresql://`` url of one.
    key : str or path, optional
        Public key (text or ``.pub`` file) that must have signed it.
    ledger : Ledger, str or path, optional
        Where the receipt says that it was paid.
    head : str, optional
        An earlier head of the ledger, kept elsewhere.
    dataset : str, optional
        Name of the data set, where a database has ledgers of several.

    Returns
    -------
    Verification

    Raises
    ------
    ReceiptError, ModelError, LedgerError
        If something does not hold.

    Examples
    --------
    >>> from voile import Budget, Ledger
    >>> from voile.audit import verify
    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "ledger.db"
    >>> ledger = Ledger(place, Budget(1, 1e-6))
    >>> verify(place, head=str(ledger.head())).kind
    'ledger'
    """
    public = None if key is None else read_public(key)
    if "://" in str(path) or _is_sqlite(Path(path)):
        return _verify_ledger(Ledger(path, dataset=dataset), public, head)
    data = _STRICT.parse(_STRICT.load_text(path))
    if not isinstance(data, Mapping):
        raise ReceiptError("This is no receipt, model or ledger: it holds no JSON object.")
    signer = check_record(data).key
    checked, unchecked = list[str](), list[str]()
    model = "kind" in data and "receipt" in data
    inside = data.get("receipt") if "receipt" in data else data
    receipt = Receipt.from_dict(inside if isinstance(inside, Mapping) else {})
    check_receipt(receipt, None if not isinstance(inside, Mapping) else inside.get("guarantee"))
    checked.append("the guarantee follows from the accesses that are listed")
    if model:
        load(path)
        checked.append("the model can be read, and is of the form that its receipt belongs to")
    signer = signer or (receipt.signature or {}).get("key")
    _check_signer(signer, public, checked, unchecked)
    if ledger is None:
        unchecked.append("that it was paid: give the ledger (--ledger)")
    else:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger, dataset=dataset)
        book.verify(head)
        entry = check_entry(receipt, book)
        checked.append(f"entry {entry.seq} of the ledger of '{book.dataset}' has paid for it")
    unchecked.append(
        "that the noise was drawn and the rows were read as described, and as often: "
        "see voile audit"
    )
    kind = "model" if model else "receipt" if inside is data else "record"
    return Verification(kind, receipt.guarantee, signer, tuple(checked), tuple(unchecked))


def _verify_ledger(ledger: Ledger, public: str | None, head: str | None) -> Verification:
    verified = ledger.verify(head)
    checked = [
        f"{verified.entries} entries, each bound to the one before; totals and prices agree",
        f"{verified.refusals} refused attempts, bound in the same way",
    ]
    unchecked = list[str]()
    _check_signer(verified.signer, public, checked, unchecked)
    if verified.since is None:
        unchecked.append("that it is not an older copy: give an earlier head (--head)")
    else:
        checked.append(f"it holds all {verified.since.entries} entries of the head, unchanged")
    return Verification("ledger", None, verified.signer, tuple(checked), tuple(unchecked))


def _check_signer(
    signer: str | None, public: str | None, checked: list[str], unchecked: list[str]
) -> None:
    if public is not None and signer != public:
        raise ReceiptError(
            "This is not signed by the key that was given"
            + (": it has no signature." if signer is None else f", but by {signer}.")
        )
    if signer is None:
        unchecked.append("who vouches for it: it is not signed")
    elif public is None:
        checked.append(f"the content is as it was signed by {signer}")
        unchecked.append("whose key that is: give the public key that you were told (--key)")
    else:
        checked.append("the content is as it was signed by the key that was given")


def _is_sqlite(path: Path) -> bool:
    try:
        with path.expanduser().open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError) as error:
        raise LedgerMismatch(
            f"There is no file {str(path)!r} to verify: check the path."
        ) from error
