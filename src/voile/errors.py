"""Every error Voile raises, as one small tree.

    VoileError
    ├── SchemaError            the public description is wrong or incomplete      (ValueError)
    ├── DataError              the table cannot be used; never depends on values  (ValueError)
    ├── SettingError           a parameter is out of its range                    (ValueError)
    ├── VaultError             someone tried to look at private rows              (TypeError)
    ├── PlanError              an access to the rows that the plan did not announce  (RuntimeError)
    ├── LedgerError            the book of spending cannot be used                (RuntimeError)
    │   ├── BudgetExceeded     the spend was refused; nothing was spent
    │   ├── LedgerUnavailable  the file or database does not answer
    │   └── LedgerMismatch     the book belongs to other data or another budget
    ├── NothingFound           paid private accesses found too little to learn from  (ValueError)
    ├── FederationError        clients did not answer as a job needs              (RuntimeError)
    ├── ReceiptError           a receipt cannot be read                           (ValueError)
    ├── ModelError             a model cannot be read, stored or changed as asked (ValueError)
    └── MissingExtra           an optional dependency is not installed            (ImportError)

and two warnings (UserWarning): NoLedgerWarning, several jobs on the same rows have no ledger;
GuessedTargetWarning, a table was too small to find the classes or bounds of its target.

A message says what is wrong, where, and the remedy. It never contains a private value, and
whether it is raised never depends on one, but for what was released with noise and paid.
"""


class VoileError(Exception):
    """Root of the tree: catch this to catch everything Voile raises on purpose."""


class SchemaError(VoileError, ValueError):
    """The public description of a table is wrong or incomplete."""


class DataError(VoileError, ValueError):
    """A table has the wrong shape, kind or names (never: the wrong values)."""


class SettingError(VoileError, ValueError):
    """A parameter is outside its range."""


class VaultError(VoileError, TypeError):
    """Private rows were asked for outside a mechanism."""


class PlanError(VoileError, RuntimeError):
    """The vault was to be opened for something that no reserved plan announced."""


class LedgerError(VoileError, RuntimeError):
    """The ledger cannot be used as asked."""


class BudgetExceeded(LedgerError):
    """The spend would exceed the budget; it was refused and nothing was spent."""


class LedgerUnavailable(LedgerError):
    """The ledger's file or database does not answer; nothing was released."""


class LedgerMismatch(LedgerError):
    """The ledger belongs to another data set, budget, relation or version."""


class NothingFound(VoileError, ValueError):
    """Private accesses, which were paid, found too little in the rows to learn from."""


class FederationError(VoileError, RuntimeError):
    """The clients of a federation refused, or too few of them answered."""


class ReceiptError(VoileError, ValueError):
    """A receipt cannot be read."""


class ModelError(VoileError, ValueError):
    """A model cannot be read, stored or changed as asked."""


class MissingExtra(VoileError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package!r} is not installed: install it with pip install 'voile[{extra}]'"
        )


class NoLedgerWarning(UserWarning):
    """A second job on the same rows was given no ledger, so nothing adds up what both cost."""


class GuessedTargetWarning(UserWarning):
    """Classes or bounds of a target did not stand clear of the noise, and were guessed."""
