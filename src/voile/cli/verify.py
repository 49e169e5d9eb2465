"""The verbs that prove something later: make a key, sign a file, verify a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voile.cli.options import AmongSeveral, AsJson, KeyFile
from voile.cli.results import print_json

keys = typer.Typer(
    name="key",
    help="Keys that vouch for ledgers, receipts and models.",
    no_args_is_help=True,
)


@keys.command("create")
def create_key(
    path: Annotated[Path, typer.Argument(help="New file for the private key; PATH.pub beside it.")],
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key: the private half for you alone, the public half for everybody.

    Example: voile key create hospital.key
    """
    from voile.privacy.signing import SigningKey

    key = SigningKey.create(path)
    if as_json:
        print_json({"private": str(key.path), "public": key.public})
    else:
        print(f"Private key: {key.path} (keep it away from those whose work it is to check)")
        print(f"Public key:  {key.public} (also in {path}.pub)")


def sign(
    file: Annotated[Path, typer.Argument(help="A model or receipt; it is signed in place.")],
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign a model or a receipt: any later change shows.

    Example: voile sign income.voile --key hospital.key
    """
    from voile.errors import SettingError
    from voile.models.json_files import sign_file
    from voile.privacy.signing import find_key

    found = find_key(key)
    if found is None:
        raise SettingError("There is no key to sign with: give --key FILE, or set VOILE_KEY.")
    sign_file(file, found)
    if as_json:
        print_json({"file": str(file.resolve()), "signer": found.public})
    else:
        print(f"Signed by {found.public}: {file.resolve()}")


def verify(
    file: Annotated[str, typer.Argument(help="A receipt, model, evaluation or ledger.")],
    key: Annotated[
        str | None, typer.Option("--key", help="Public key (text or .pub file) of the signer.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Ledger that has paid: a file or a url.")
    ] = None,
    head: Annotated[
        str | None, typer.Option("--head", help="Earlier head of the ledger, kept elsewhere.")
    ] = None,
    dataset: AmongSeveral = None,
    as_json: AsJson = False,
) -> None:
    """Check a receipt, a model or a ledger, without the rows.

    Its guarantee is computed again from the accesses it lists; signatures, the ledger's chain and
    an earlier head are compared. What cannot be told is said.

    Examples:
        voile verify income.voile --key hospital.key.pub --ledger hospital.db

        voile verify hospital.db --head 12:ab...
    """
    from voile.audit.verification import verify as check

    found = check(file, key=key, ledger=ledger, head=head, dataset=dataset)
    print(found.to_json() if as_json else found)
