"""The voile command inside the test's own process: quick, and it sees what a person would."""

import sys
from dataclasses import dataclass

from voile.cli import app


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def run_voile(arguments, monkeypatch, capsys) -> Done:
    """Run the command line in the current folder."""
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["voile", *map(str, arguments)])
    try:
        app.main()
    except SystemExit as ended:
        code = ended.code
    captured = capsys.readouterr()
    return Done(int(code or 0), captured.out, captured.err)


def write_patients(folder, rows=1500):
    """A made-up table, the same each time, and rows to ask about."""
    lines = ["patient_id,age,ward,dose,ill"]
    for i in range(rows):
        age = 18 + (i * 37) % 78
        ill = "yes" if (i * 7919) % 120 < age else "no"
        lines.append(f"{i},{age},{'ABC'[i % 3]},{(i * 13 % 1000) / 100},{ill}")
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    (folder / "new.csv").write_text("age,ward,dose\n71,B,3.5\n20,A,\n50,Z,9\n")
    (folder / "patients.yaml").write_text(
        "voile_schema: 1\n"
        "columns:\n"
        "  age: {kind: number, lower: 0, upper: 120}\n"
        "  ward: {kind: category, levels: [A, B, C]}\n"
        "  dose: {kind: number, lower: 0, upper: 10}\n"
        "target: {kind: category, levels: ['no', 'yes']}\n"
        "unit: row\n"
    )
