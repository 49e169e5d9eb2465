"""One family name on every floor, and no class name for two different things."""

import ast
from collections import defaultdict
from collections.abc import Iterable

import pytest
from source_tree import ROOT, Module, read_modules

FLOORS = {
    "voile.models": {"ebm", "lvq", "locally_linear", "networks"},
    "voile.explain": {"ebm", "lvq", "locally_linear", "networks", "blackbox"},
    "voile.report": {"ebm", "lvq", "locally_linear", "networks", "blackbox"},
    "voile.planning": {"ebm", "lvq", "locally_linear"},
    "voile.audit.trials": {"ebm", "lvq", "locally_linear", "networks", "blackbox"},
}
"""Which families live on which floor; each has a folder or a module of its name there."""

OTHER_NAMES = {"additive", "prototype", "prototypes", "filter_bank", "filters", "influence"} | {
    *("influences", "heat_map", "heat_maps", "of_blackbox", "maps", "decisions")
}
"""Words by which a family was, or could be, called on one floor alone."""

FAMILIES = set().union(*FLOORS.values()) | {"fedavg"}


def find_unlike_floors(names: Iterable[str]) -> list[str]:
    """Families that a floor lacks, and modules on a floor that are named otherwise."""
    modules = set(names)
    wrong = []
    for floor, families in FLOORS.items():
        here = {
            name.removeprefix(f"{floor}.").split(".")[0]
            for name in modules
            if name.startswith(f"{floor}.")
        }
        wrong += [f"{floor} has no {family!r}" for family in sorted(families - here)]
        for name in sorted(here):
            words = {name, *name.split("_")}
            if words & OTHER_NAMES:
                wrong.append(f"{floor}.{name}: name it by its family, one of {sorted(families)}")
    return wrong


def find_shared_names(modules: Iterable[Module]) -> list[str]:
    """Class names that stand for two different things.

    The same role in each family, in files of the same name, may share one.
    """
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].append(module.name)
    wrong = []
    for name, found in sorted(homes.items()):
        # The role of a file in a family's folder is its name.
        roles = {
            home.rsplit(".", 1)[1] if set(home.split(".")[:-1]) & FAMILIES else home
            for home in found
        }
        if len(found) > 1 and (len(roles) > 1 or len(set(found)) < len(found)):
            wrong.append(f"{name} is defined in {', '.join(found)}: one name for one thing")
    return wrong


def test_families_have_one_name_on_every_floor():
    assert find_unlike_floors(module.name for module in read_modules()) == []


def test_a_class_name_stands_for_one_thing():
    assert find_shared_names(read_modules()) == []


def test_unit_tests_mirror_the_source():
    packages = {module.name for module in read_modules() if module.is_package}
    wrong = []
    for path in sorted((ROOT / "tests/unit").rglob("test_*.py")):
        folder = path.parent.relative_to(ROOT / "tests/unit").parts
        if folder[:1] != ("benchmarks",) and ".".join(("voile", *folder)) not in packages:
            wrong.append(f"{path.relative_to(ROOT)}: src/voile has no such folder")
    assert wrong == []


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        ("voile.report.prototype_page", None),
        ("voile.explain.influences", None),
        ("voile.models.additive.train", None),
        (None, "voile.explain.lvq"),
    ],
)
def test_a_planted_other_family_name_is_found(added, removed):
    names = {module.name for module in read_modules()} | ({added} if added else set())
    if removed:
        names = {name for name in names if not f"{name}.".startswith(f"{removed}.")}
    assert find_unlike_floors(names) != []


@pytest.mark.parametrize(
    ("homes", "wrong"),
    [
        (("voile.models.ebm.settings", "voile.models.lvq.settings"), False),
        (("voile.models.ebm.settings", "voile.models.lvq.fit"), True),
        (("voile.models.ebm.settings", "voile.privacy.settings"), True),
        (("voile.models.ebm.settings", "voile.explain.blackbox.settings"), False),
    ],
)
def test_a_planted_shared_class_name_is_found(homes, wrong):
    modules = [Module(name, "class Settings: ...\n") for name in homes]
    assert bool(find_shared_names(modules)) is wrong
    private = [Module(homes[0], "class _Settings: ...\n"), modules[1]]
    assert bool(find_shared_names(private)) is wrong
