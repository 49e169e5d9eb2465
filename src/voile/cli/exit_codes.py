"""What the command's exit codes mean, and how any failure becomes one line and one of them.

    0    done
    1    an audit refuted a claim
    2    wrong use: an option, a setting, a schema or a table that cannot be used
    3    the budget does not allow it
    4    the ledger cannot be used: not there, damaged, or of other data
    5    a model, an evaluation or a receipt cannot be read or changed
    6    an optional dependency is not installed
    7    a file cannot be read or written
    8    private accesses found too little to learn from; what they cost is paid
    9    something failed after a payment; what was released is saved, and the message says where
    70   a fault of voile itself
    130  interrupted, or asked to end

With 2 to 7 nothing was paid: what would have one of these codes has 9 if something was.
What an unforeseen error says may contain private values, so it is not printed: set VOILE_DEBUG=1 on
a machine that may see them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from voile.cli.account import Account, open_account

REFUTED, USAGE, BUDGET, LEDGER, MODEL, EXTRA, FILES, NOTHING, PAID = range(1, 10)
FAULT, INTERRUPTED = 70, 130


def code_of(error: BaseException) -> int:
    """The exit code of an error that Voile raises on purpose, before anything is paid."""
    from voile import errors

    for kind, code in (
        (errors.BudgetExceeded, BUDGET),
        (errors.LedgerError, LEDGER),
        (errors.ModelError, MODEL),
        (errors.ReceiptError, MODEL),
        (errors.MissingExtra, EXTRA),
        (errors.NothingFound, NOTHING),
    ):
        if isinstance(error, kind):
            return code
    return USAGE


def run(command: Callable[[], int | None]) -> int:
    """Run a command; every failure is one line on the error stream, and a documented code."""
    _open_streams()
    account = open_account()
    with _listening():
        code = _run(command, account)
    return code or _run(_flush, account)


def _flush() -> None:
    """Write what is left: what Python cannot write at its end would be a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        leave_output()
        raise


def _run(command: Callable[[], int | None], account: Account) -> int:
    import click

    from voile.errors import VoileError

    try:
        code = command() or 0
        # Typer turns Ctrl-C into this code by itself.
        return _interrupted(account) if code == INTERRUPTED else code
    except VoileError as error:
        return _tell(str(error), code_of(error), account)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _interrupted(account)
    except click.exceptions.NoArgsIsHelpError:
        return USAGE  # the help is printed already
    except click.ClickException as error:
        return _tell(_usage(error), USAGE, account)
    except SystemExit as ended:
        if ended.code != 1:
            return _tell("The command was ended from within.", FAULT, account)
        # Click ends with 1 when whoever read has seen enough; nothing else here ends that way.
        leave_output()
        return 0
    except BrokenPipeError:
        leave_output()
        return 0
    except OSError as error:
        return _tell(tell_file_error(error), FILES, account)
    except Exception as error:
        if os.environ.get("VOILE_DEBUG"):
            traceback.print_exc()
        return _tell(
            f"An unforeseen {type(error).__name__}; what it says may contain private values and is "
            "not shown. Set VOILE_DEBUG=1 to see it, and please report it.",
            FAULT,
            account,
        )


def leave_output() -> None:
    """Write no more to an output that nobody reads; Python would complain when it closes it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Open what the caller has closed: a file of ours must not get the place of a stream."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def tell_file_error(error: OSError) -> str:
    """What is wrong with a file, in one line."""
    place = f" {error.filename!r}" if error.filename else ""
    return (
        f"The file{place} cannot be used: {error.strerror or type(error).__name__}. Check the "
        "path, the rights and the free space."
    )


def _usage(error: object) -> str:
    """A usage error in one line, with the help to look at."""
    import click

    assert isinstance(error, click.ClickException)
    text = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "voile"
    end = "" if text.endswith((".", "?", ")")) else "."
    return f"{text}{end} See {where} --help."


def _interrupted(account: Account) -> int:
    return _tell(
        f"Interrupted.{'' if account.paid else ' Nothing was paid.'}", INTERRUPTED, account
    )


def _tell(message: str, code: int, account: Account) -> int:
    """Print one line, with what was paid and saved; the code that is true after that."""
    if account.paid and USAGE <= code <= FILES:
        code = PAID
    line = " ".join(f"voile: {message} {account.tell(message)}".split())
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
    return code


# -- Ctrl-C and polite requests to end: obeyed at once, unless a paid result is not saved yet -----

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _Interrupts:
    """Whether an interrupt must wait, and whether one does."""

    must_wait: Callable[[], bool] | None = None
    waits = False

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.must_wait is not None and self.must_wait():
            self.waits = True
        else:
            raise KeyboardInterrupt


_interrupts = _Interrupts()


@contextmanager
def _listening() -> Iterator[None]:
    """Take every signal that asks to end as Ctrl-C; one that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupts.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def saving_first(done: Callable[[], bool]) -> Iterator[None]:
    """From the moment that ``done()`` an interrupt waits until the block has ended.

    Parameters
    ----------
    done : callable
        Whether the result, which is paid, is there and only has to be saved. Asked at the moment of
        the interrupt: no instant is left between the end of the work and the saving.
    """
    _interrupts.must_wait, _interrupts.waits = done, False
    try:
        yield
    finally:
        _interrupts.must_wait = None
    if _interrupts.waits:
        raise KeyboardInterrupt
