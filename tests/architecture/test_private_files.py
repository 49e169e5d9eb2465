"""Nothing outside voile.privacy opens a private file: whoever opens any file is listed, and why."""

import ast

import pytest
from source_tree import Module, is_within, read_modules

ATTRIBUTES = {"open", "read_bytes", "read_text"}
"""Methods of a path; whatever has one of these names counts as one."""

LIBRARIES = (
    *(f"pyarrow.{part}" for part in ("csv", "dataset", "feather", "fs", "ipc", "json", "orc")),
    *("pyarrow.parquet", "bz2", "gzip", "lzma", "mmap", "tarfile", "zipfile"),
    *("fastexcel", "h5py", "openpyxl", "python_calamine", "xlrd"),
)
"""Modules that are there to read files, or the bytes of one."""

FUNCTIONS = {
    "codecs": ("open",),
    "csv": ("reader", "DictReader"),
    "io": ("open", "open_code", "FileIO"),
    "joblib": ("load",),
    "narwhals": ("read_", "scan_"),
    "numpy": ("fromfile", "genfromtxt", "load", "loadtxt", "memmap"),
    "os": ("fdopen", "open"),
    "pandas": ("read_", "ExcelFile", "HDFStore"),
    "pickle": ("load",),
    "polars": ("read_", "scan_"),
    "pyarrow": ("OSFile", "input_stream", "memory_map"),
    "sqlite3": ("connect",),
    "torch": ("load",),
}
"""Functions of other modules that read files; a name that ends in an underscore is a beginning."""

NO_FILES = {"webbrowser.open"}
"""What has such a name and opens no file of ours."""

PUBLIC = {
    "voile.audit.runs": "what it wrote itself: the runs of an audit on made-up rows",
    "voile.audit.verification": "the first bytes, which tell a ledger from a receipt or a model",
    "voile.cli.bench": "the docstrings of benchmarks",
    "voile.cli.edit": "scripts of edits, and the quality of a released model",
    "voile.cli.exit_codes": "the null device, in the place of a closed stream",
    "voile.cli.explain": "a black box, which somebody else has released",
    "voile.datasets": "public data sets",
    "voile.explain.blackbox.answers.answering": "seals of answers: no file",
    "voile.explain.blackbox.answers.identity": "seals of answers: no file",
    "voile.federated.flower.place": "a lock without content",
    "voile.federated.flower.resident": "what the system says of a process",
    "voile.files": "places to write to",
    "voile.models.ebm.export": "a place to write to",
    "voile.report.kit.assets": "styles and scripts of this package",
    "voile.schema.frames": "names and types that a Parquet file declares, and no row",
    "voile.strict": "schemas, models, receipts and explanations",
}
"""Modules and packages that open files which are not private, or none, and what they open."""


def find_opened_files(module: Module) -> list[str]:
    if is_within(module.name, "voile.privacy"):
        return []
    found = {
        f"{module.name}:{line} uses {path}" for path, line in module.dotted_names if _reads(path)
    }
    found |= {
        f"{module.name}:{one.line} imports {one.path}"
        for one in module.imports
        if _reads(one.path) or _is_starred(one.module, one.name)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            if ast.unparse(node) not in NO_FILES:
                found.add(f"{module.name}:{node.lineno} uses .{node.attr}")
        elif isinstance(node, ast.Name) and node.id == "open":
            found.add(f"{module.name}:{node.lineno} uses open")
        elif isinstance(node, ast.Constant) and node.value in ATTRIBUTES:
            found.add(f"{module.name}:{node.lineno} names {node.value!r}")
    return sorted(found)


def _reads(path: str) -> bool:
    if any(is_within(path, library) for library in LIBRARIES):
        return True
    first, _, rest = path.partition(".")
    return any(
        rest.startswith(name) if name.endswith("_") else is_within(rest, name)
        for name in FUNCTIONS.get(first, ())
    )


def _is_starred(module: str, name: str) -> bool:
    return name == "*" and module.split(".", maxsplit=1)[0] in FUNCTIONS


def is_public(module: Module) -> bool:
    return any(is_within(module.name, name) for name in PUBLIC)


def test_nothing_outside_the_privacy_package_opens_a_private_file():
    found = [one for m in read_modules() if not is_public(m) for one in find_opened_files(m)]
    assert found == [], "read private files in voile.privacy.files; list what is public here"


def test_whoever_is_listed_opens_a_file():
    opening = {module.name for module in read_modules() if find_opened_files(module)}
    idle = [name for name in PUBLIC if not any(is_within(one, name) for one in opening)]
    assert idle == []


@pytest.mark.parametrize(
    "text",
    [
        "with open(path) as file:\n    pass",
        "from pathlib import Path\nPath(path).read_text()",
        "texts = map(Path.read_bytes, paths)",
        "with path.open('rb') as file:\n    pass",
        "getattr(path, 'read_text')()",
        "import os\nos.fdopen(os.open(path, os.O_RDONLY))",
        "from os import open as look\nlook(path, 0)",
        "import csv\nrows = csv.reader(lines)",
        "from csv import DictReader",
        "import pandas as pd\ntable = pd.read_csv(path)",
        "from pandas import read_parquet",
        "import polars as pl\ntable = pl.scan_parquet(path)",
        "from polars import *",
        "import pyarrow.parquet as pq\ntable = pq.read_table(path)",
        "from pyarrow import csv",
        "import pyarrow as pa\nstream = pa.memory_map(path)",
        "def f():\n    import pyarrow.dataset\n    pyarrow.dataset.dataset(path)",
        "import importlib\nimportlib.import_module('openpyxl')",
        "import numpy as np\nnp.load(path)",
        "import gzip\ngzip.decompress(raw)",
        "import joblib\njoblib.load(path)",
    ],
)
def test_a_planted_opening_is_found(text):
    module = Module("voile.cli.train", text)
    assert find_opened_files(module) != []
    assert not is_public(module)
    assert find_opened_files(Module("voile.privacy.files.csv_files", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "from voile.privacy.files.table_files import read_table\nrows = read_table(path, schema)",
        "from voile.models.fields import read_table\nread_table(data, shape, 'weights')",
        "import csv\nwriter = csv.writer(out)",
        "import webbrowser\nwebbrowser.open(page.as_uri())",
        "import pandas as pd\npd.DataFrame(columns)",
        "import pickle\npickle.dumps(thing)",
        "import pyarrow as pa\npa.table(columns)",
        "from voile.files import write_text\nwrite_text(path, text)",
    ],
)
def test_what_opens_no_file_passes(text):
    assert find_opened_files(Module("voile.cli.train", text)) == []
