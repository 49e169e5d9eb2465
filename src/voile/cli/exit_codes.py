"""What the command's exit codes mean, and how any failure becomes one line and one of them.

    0    done
    1    an audit refuted a claim
    2    wrong use: an option, a setting, a schema or a table that cannot be used
    3    the budget does not allow it; nothing was spent
    4    the ledger cannot be used: not there, damaged, or of other data
    5    a model, an evaluation or a receipt cannot be read or changed
    6    an optional dependency is not installed
    7    a file cannot be read or written
    8    private looks found too little to learn from; what they cost is paid
    70   a fault of voile itself
    130  interrupted

What an unforeseen error says may contain private values, so it is not printed: set VOILE_DEBUG=1 on
a machine that may see them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

REFUTED, USAGE, BUDGET, LEDGER, MODEL, EXTRA, FILES, NOTHING = range(1, 9)
FAULT, INTERRUPTED = 70, 130


def code_of(error: BaseException) -> int:
    """The exit code of an error that Voile raises on purpose."""
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
    import click

    from voile.errors import VoileError

    try:
        code = command() or 0
        # Typer turns Ctrl-C into this code by itself.
        return _tell(_INTERRUPTED, INTERRUPTED) if code == INTERRUPTED else code
    except VoileError as error:
        return _tell(str(error), code_of(error))
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _tell(_INTERRUPTED, INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError:
        return USAGE  # the help is printed already
    except click.ClickException as error:
        return _tell(_usage(error), USAGE)
    except SystemExit as ended:
        # Click ends with 1 when whoever read has seen enough; nothing else here ends that way.
        return 0 if ended.code == 1 else _tell("The command was ended from within.", FAULT)
    except BrokenPipeError:
        # Whoever read has seen enough; Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f" {error.filename!r}" if error.filename else ""
        return _tell(
            f"The file{place} cannot be used: {error.strerror or type(error).__name__}. Check the "
            "path, the rights and the free space.",
            FILES,
        )
    except Exception as error:
        if os.environ.get("VOILE_DEBUG"):
            raise
        return _tell(
            f"An unforeseen {type(error).__name__}; what it says may contain private values and is "
            "not shown. Set VOILE_DEBUG=1 to see it, and please report it.",
            FAULT,
        )


_INTERRUPTED = (
    "Interrupted. Nothing was written; what was paid before stays paid: see voile ledger history."
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


def _tell(message: str, code: int) -> int:
    print(f"voile: {' '.join(message.split())}", file=sys.stderr)
    return code
