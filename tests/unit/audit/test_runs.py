"""Runs of an audit: the same over any processes, and none lost when one is stopped."""

import json
import subprocess
import sys

import numpy as np
import pytest

from voile.audit import lower_bound
from voile.audit.runs import collect_runs
from voile.errors import DataError, SettingError
from voile.privacy import noise


def square(number):
    return [number, number**2]


class Stopped:
    """Stops once in run 57, and counts what was done."""

    def __init__(self, error):
        self.error, self.done = error, []

    def __call__(self, number):
        if number == 57 and self.error is not None:
            error, self.error = self.error, None
            raise error
        self.done.append(number)
        return square(number)


def all_squares(runs):
    return [[i, i**2] for i in range(runs)]


def as_lists(found):
    return [one.tolist() for one in found]


# -- plain runs ------------------------------------------------------------------------------------


def test_runs_come_in_their_order():
    assert as_lists(collect_runs(square, 5, processes=1)) == all_squares(5)
    assert as_lists(collect_runs(square, 5)) == all_squares(5)
    assert all(one.dtype == np.float64 for one in collect_runs(lambda i: True, 3))


@pytest.mark.parametrize("settings", [{"runs": 0}, {"runs": True}, {"runs": 1.0}, {"processes": 0}])
def test_bad_numbers_are_refused(settings):
    with pytest.raises(SettingError):
        collect_runs(square, **{"runs": 3, **settings})


@pytest.mark.slow
def test_processes_change_nothing(monkeypatch):
    """Nor do closures and lambdas stop them; each run has its own fixed noise."""
    monkeypatch.setattr("voile.audit.runs._BATCH", 0.01)
    offset = 3.0

    def fit(rows):
        return sum(rows) + offset + noise.gaussian(2, 1e6) / 1e6

    found = [
        lower_bound(
            fit,
            [1.0],
            1.0,
            score=lambda released: released * 2,
            runs=600,
            random_state=0,
            noise_seed=4,
            processes=processes,
        )
        for processes in (1, 2)
    ]
    assert found[0] == found[1]
    assert found[0].epsilon > 1.0


@pytest.mark.slow
def test_errors_come_out_of_processes(monkeypatch):
    monkeypatch.setattr("voile.audit.runs._BATCH", 0.0)
    with pytest.raises(ZeroDivisionError):
        collect_runs(lambda i: 1 / (30 - i), 40, processes=2)
    with pytest.raises(DataError, match="Run 30 gave no numbers"):
        collect_runs(lambda i: None if i == 30 else i, 40, processes=2)


# -- stopped and resumed ---------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), MemoryError()])
def test_a_stopped_audit_goes_on(tmp_path, error):
    path, run = tmp_path / "runs.jsonl", Stopped(error)
    with pytest.raises(type(error)):
        collect_runs(run, 100, processes=1, resume=path)
    assert run.done == list(range(57))
    assert as_lists(collect_runs(run, 100, processes=1, resume=path)) == all_squares(100)
    assert run.done == list(range(100))
    # And a third time, nothing is left to do.
    assert as_lists(collect_runs(None, 100, processes=1, resume=path)) == all_squares(100)


def test_values_survive_the_file(tmp_path):
    values = [np.nan, np.inf, -np.inf, 5e-324, -0.0, 0.1, 1.7976931348623157e308]
    first = collect_runs(lambda i: values, 1, resume=tmp_path / "runs")
    second = collect_runs(None, 1, resume=tmp_path / "runs")
    assert first[0].tobytes() == second[0].tobytes()
    assert collect_runs(lambda i: [], 1, resume=tmp_path / "empty")[0].shape == (0,)
    assert collect_runs(None, 1, resume=tmp_path / "empty")[0].shape == (0,)


def test_an_audit_is_the_same_when_resumed(tmp_path):
    def fit(rows):
        return sum(rows) + noise.gaussian(1, 1e6)[0] / 1e6

    settings = {"runs": 100, "random_state": 0, "noise_seed": 0, "processes": 1}
    whole = lower_bound(fit, [0.0], 1.0, **settings)
    left = {"runs": 40}

    def stops(rows):
        left["runs"] -= 1
        if left["runs"] < 0:
            raise KeyboardInterrupt
        return fit(rows)

    with pytest.raises(KeyboardInterrupt):
        lower_bound(stops, [0.0], 1.0, **settings, name="fit", resume=tmp_path / "runs")
    assert lower_bound(fit, [0.0], 1.0, **settings, resume=tmp_path / "runs") == whole
    assert left["runs"] == -1


@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_a_last_line_that_was_cut_off_is_done_again(tmp_path, cut):
    path, run = tmp_path / "runs", Stopped(None)
    collect_runs(run, 10, processes=1, resume=path)
    path.write_bytes(path.read_bytes()[:-cut])
    run.done.clear()
    assert as_lists(collect_runs(run, 10, processes=1, resume=path)) == all_squares(10)
    assert run.done == [9]
    assert len(path.read_text().splitlines()) == 11
    assert as_lists(collect_runs(None, 10, resume=path)) == all_squares(10)


@pytest.mark.parametrize("begun", [b"", b'{"wha', b'{"what": "audit"}'])
def test_a_file_that_was_only_begun_is_used(tmp_path, begun):
    path = tmp_path / "runs"
    path.write_bytes(begun)
    assert as_lists(collect_runs(square, 3, resume=path)) == all_squares(3)
    assert as_lists(collect_runs(None, 3, resume=path)) == all_squares(3)


@pytest.mark.parametrize(
    "damage", ["", "{", "[1, 2]", "null", '{"a": [1]}', '{"3": ["x"]}', '{"3": null, "4"', "\0\0"]
)
def test_a_damaged_line_is_said_and_not_skipped(tmp_path, damage):
    path = tmp_path / "runs"
    collect_runs(square, 10, processes=1, resume=path)
    lines = path.read_text().splitlines()
    lines[4] = damage
    path.write_text("\n".join(lines) + "\n")
    before = path.read_bytes()
    with pytest.raises(SettingError, match=r"Line 5 of .* cannot be read: remove that line"):
        collect_runs(square, 10, resume=path)
    assert path.read_bytes() == before
    # The remedy works.
    path.write_text("\n".join(lines[:4] + lines[5:]) + "\n")
    run = Stopped(None)
    assert as_lists(collect_runs(run, 10, processes=1, resume=path)) == all_squares(10)
    assert run.done == [3]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "runs"
    path.write_bytes(b"\xff\xfe\x00\n\xff\n")
    with pytest.raises(SettingError, match="not of this audit"):
        collect_runs(square, 3, resume=path)
    assert path.read_bytes() == b"\xff\xfe\x00\n\xff\n"


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 1},
        {"runs": 31},
        {"noise_seed": 1},
        {"name": "other"},
        {"canary": 2.0},
        {"dataset": [0.0, 0.0]},
    ],
)
def test_the_file_of_another_audit_is_refused(tmp_path, change):
    path = tmp_path / "runs"
    settings = {
        "dataset": [0.0],
        "canary": 1.0,
        "name": "sum",
        "runs": 30,
        "random_state": 0,
        "noise_seed": 0,
        "processes": 1,
    }
    lower_bound(sum, **settings, resume=path)
    before = path.read_bytes()
    with pytest.raises(SettingError, match="not of this audit"):
        lower_bound(sum, **{**settings, **change}, resume=path)
    assert path.read_bytes() == before


def test_the_same_data_is_known_again_in_another_process(tmp_path):
    """Marks of data do not depend on where in memory it lies, nor on a process's hash seed."""
    script = (
        "import pandas as pd\n"
        "from voile.audit import lower_bound\n"
        "levels = pd.Categorical(['u', 'v'])\n"
        "frame = pd.DataFrame({'a': [1.0, 2.0], 'b': ['x', 'y'], 'c': levels})\n"
        "data, canary = (frame, ['no', 'yes']), ({'a': 3, 'b': 'z', 'c': 'u'}, 'no')\n"
        "done = []\n"
        "def fit(rows):\n"
        "    done.append(0)\n"
        "    return len(rows[0])\n"
        "lower_bound(fit, data, canary, runs=20, random_state=0, resume=path, processes=1)\n"
    )
    path = str(tmp_path / "runs")
    subprocess.run(
        [sys.executable, "-c", f"path = {path!r}\n{script}assert len(done) == 20"],
        check=True,
        timeout=600,
    )
    names = {"path": path}
    exec(script, names)
    assert names["done"] == []


def test_data_that_has_no_mark_can_be_audited_too(tmp_path):
    dataset = [lambda: 1.0]
    settings = {"runs": 20, "random_state": 0, "processes": 1, "resume": tmp_path / "runs"}
    assert lower_bound(len, dataset, 1.0, **settings).epsilon > 0.5
    assert lower_bound(len, dataset, 1.0, **settings).epsilon > 0.5


# -- files that cannot be had ----------------------------------------------------------------------


def test_files_that_cannot_be_written_are_said_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "runs", tmp_path, tmp_path / "file" / "runs"):
        with pytest.raises(SettingError, match=r"cannot be written: .*Name another file"):
            collect_runs(None, 3, resume=path)
    assert not (tmp_path / "no").exists()


def test_a_folder_without_leave_to_write(tmp_path, monkeypatch):
    """As seen by any user but root."""

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(SettingError, match="cannot be written: Permission denied"):
        collect_runs(None, 3, resume=tmp_path / "runs")


class FullDisk:
    """A file on a disk that is full after so many bytes."""

    def __init__(self, file, room):
        self._file, self._room = file, room

    def write(self, data):
        if self._room <= 0:
            raise OSError(28, "No space left on device")
        written = self._file.write(data[: self._room])
        self._room -= written
        return written

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.mark.parametrize("room", [0, 5, 60, 61, 100, 150])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, room):
    from pathlib import Path

    path, run, really = tmp_path / "runs", Stopped(None), Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda self, *a, **k: FullDisk(really(self, *a, **k), room))
        with pytest.raises(SettingError, match=r"No space left on device.*make room"):
            collect_runs(run, 30, processes=1, resume=path)
    done, run.done = len(run.done), []
    assert path.stat().st_size == room
    assert as_lists(collect_runs(run, 30, processes=1, resume=path)) == all_squares(30)
    # All but the run whose line did not fit.
    assert len(run.done) == 30 - max(done - 1, 0)


def test_two_audits_cannot_have_one_file(tmp_path):
    path = tmp_path / "runs"
    inner = []

    def run(number):
        if number == 2:
            with pytest.raises(SettingError, match="Another audit is writing"):
                collect_runs(square, 5, resume=path)
            inner.append(number)
        return square(number)

    assert as_lists(collect_runs(run, 5, processes=1, resume=path)) == all_squares(5)
    assert inner == [2]
    lines = path.read_text().splitlines()
    assert json.loads(lines[0]) == {"what": "audit"}
    assert len(lines) == 6
