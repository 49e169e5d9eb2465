"""The map for people names files that are there, and its walks are short."""

import re

import pytest
from source_tree import ROOT, SOURCE

MAP = ROOT / "docs/explanation/architecture.md"
MOST_HOPS = 15


def find_faults(text: str) -> list[str]:
    """Walks that are too long, and files that are not there."""
    wrong = []
    for walk in re.findall(r"```text\n( *1 .*?)```", text, re.DOTALL):
        hops = [line.split()[1] for line in walk.splitlines()]
        if len(hops) > MOST_HOPS:
            wrong.append(f"a walk of {len(hops)} hops, and {MOST_HOPS} are the most")
        for family in ("ebm", "lvq", "locally_linear"):
            files = [hop.replace("<family>", family) for hop in hops]
            wrong += [
                f"there is no {one}" for one in files if not (SOURCE / "voile" / one).is_file()
            ]
    return wrong


def test_the_map_names_files_that_are_there():
    text = MAP.read_text(encoding="utf-8")
    assert text.count("```text\n 1 ") == 3
    assert find_faults(text) == []


@pytest.mark.parametrize(
    "walk",
    [
        " 1 privacy/moved_away.py  gone\n",
        " 1 models/<family>/nothing.py  gone\n",
        "".join(f"{n:2} privacy/vault.py  again\n" for n in range(1, 17)),
    ],
)
def test_a_planted_fault_of_the_map_is_found(walk):
    assert find_faults(f"```text\n{walk}```") != []
