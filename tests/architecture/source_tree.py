"""The source text of Voile as data: modules, what they import, and the dotted names they use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Import:
    """One imported thing: ``from module import name``, or ``import module`` (name is empty)."""

    module: str
    name: str
    line: int

    @property
    def path(self) -> str:
        """Everything that was named, with dots."""
        return f"{self.module}.{self.name}" if self.name else self.module


@dataclass(frozen=True)
class Module:
    """A module: its dotted name, its text, and whether it is a package's ``__init__``."""

    name: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @property
    def layer(self) -> str:
        """The part of Voile it belongs to: "privacy" for voile.privacy.noise, "" for the root."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports, wherever they stand, also those made by ``import_module("...")``."""
        return tuple(self._find_imports())

    def _find_imports(self) -> Iterator[Import]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(alias.name, "", node.lineno)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                for alias in node.names:
                    yield Import(module, alias.name, node.lineno)
            elif isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func).rsplit(".", 1)[-1]
                target = node.args[0]
                if (
                    called in {"import_module", "__import__"}
                    and isinstance(target, ast.Constant)
                    and isinstance(target.value, str)
                ):
                    yield Import(target.value, "", node.lineno)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        parts = self.name.split(".")
        keep = len(parts) - node.level + (1 if self.is_package else 0)
        return ".".join([*parts[:keep], *([node.module] if node.module else [])])

    @cached_property
    def dotted_names(self) -> tuple[tuple[str, int], ...]:
        """Every use of an imported name, written out in full: ``np.random`` as numpy.random."""
        meaning = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    first = alias.name.split(".")[0]
                    meaning[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                for alias in node.names:
                    meaning[alias.asname or alias.name] = f"{module}.{alias.name}"
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute | ast.Name):
                parts = ast.unparse(node).split(".")
                if parts[0] in meaning and all(part.isidentifier() for part in parts):
                    found.append((".".join([meaning[parts[0]], *parts[1:]]), node.lineno))
        return tuple(found)


@cache
def read_modules(source: Path = SOURCE) -> tuple[Module, ...]:
    """Every Python module under ``source``."""
    modules = []
    for path in sorted(source.rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules.append(Module(name, path.read_text(encoding="utf-8"), is_package))
    return tuple(modules)


def find_violations(rule: Callable[[Module], list[str]]) -> list[str]:
    """What a rule finds in all modules of Voile; at least one module must have been looked at."""
    modules = read_modules()
    assert modules
    return [one for module in modules for one in rule(module)]


def is_within(path: str, package: str) -> bool:
    """Whether a dotted path is ``package`` or lies inside it."""
    return path == package or path.startswith(f"{package}.")
