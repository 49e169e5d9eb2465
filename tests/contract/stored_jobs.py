"""Make the stored results again: what models, receipts, explanations, pages and errors were.

    python tests/contract/stored_jobs.py --write [JOB ...]    store what is made now, on purpose
    python tests/contract/stored_jobs.py --bits [JOB ...]     say where a bit differs
    python tests/contract/stored_jobs.py --list               names of jobs, and what they take

JOB is a name or the beginning of one. Write only after a change of behaviour that is meant, and
read the difference (git diff tests/contract/stored). Files of models are written anew only if more
than times and ids differ. `test_stored_results.py` compares.
"""

import sys
import tempfile
import time
from pathlib import Path

import stored_errors
import stored_fits
import stored_records
from stored_insides import torch
from stored_results import MODEL
from stored_text import settle

STORED = Path(__file__).parent / "stored"
MODELS = STORED / "models"
JOBS = {job.name: job for job in [*stored_fits.JOBS, *stored_records.JOBS, *stored_errors.JOBS]}


def place_of(job, name):
    """Where a result of a job is stored."""
    return MODELS / f"{job}.voile" if name == MODEL else STORED / job / name


def stored(job):
    """What is stored of a job, by name."""
    places = (STORED / job).iterdir() if (STORED / job).is_dir() else ()
    found = {place.name: place.read_text(encoding="utf-8") for place in sorted(places)}
    model = place_of(job, MODEL)
    return found | ({MODEL: model.read_text(encoding="utf-8")} if model.exists() else {})


def write(job, made):
    """Store the results of a job; returns the names of files that changed."""
    before = stored(job)
    changed = []
    for name in before.keys() - made.keys():
        place_of(job, name).unlink()
        changed.append(name)
    for name, text in made.items():
        if name in before and settle(before[name]) == settle(text):
            continue
        place = place_of(job, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="\n")
        changed.append(name)
    return changed


def main(arguments):
    action, asked = arguments[0] if arguments else "", tuple(arguments[1:])
    if action not in ("--write", "--bits", "--list"):
        sys.exit(__doc__)
    same = True
    for job in JOBS.values():
        if asked and not job.name.startswith(asked):
            continue
        if job.needs_torch and torch is None:
            print(f"{job.name}: left out, torch is not installed")
            continue
        start = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            made = job.results(Path(folder))
        took = f"{time.process_time() - start:.1f} s"
        if action == "--list":
            print(f"{job.name}: {len(made)} files, {took}")
        elif action == "--write":
            print(
                f"{job.name}: {took}, {', '.join(write(job.name, made)) or 'as before'}", flush=True
            )
        else:
            before = stored(job.name)
            names = sorted(before.keys() | made.keys())
            other = [n for n in names if settle(before.get(n, "")) != settle(made.get(n, ""))]
            print(f"{job.name}: {', '.join(other) or 'the same bits'}", flush=True)
            same &= not other
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
