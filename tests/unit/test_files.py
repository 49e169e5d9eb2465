"""Files are replaced wholly or not at all, and earlier ones are never away."""

import os
import stat
import sys
import threading

import pytest

from voile.files import keeping_earlier, replace_file, write_text

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and rights of POSIX")


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def test_a_new_file_is_written_and_an_old_one_replaced(tmp_path):
    path = tmp_path / "a.txt"
    for text in ("one\n", "zwei ü\n"):
        assert write_text(path, text) == path
        assert path.read_bytes() == text.encode()
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt, ValueError])
def test_what_fails_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fill(place):
        place.write_text("ha")
        raise error

    with pytest.raises(type(error) if isinstance(error, OSError) else error) as caught:
        replace_file(path, fill)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]
    if isinstance(error, OSError):
        assert (caught.value.errno, caught.value.filename) == (28, str(path))


@pytest.mark.parametrize("call", ["fsync", "replace", "mkdir"])
def test_a_call_of_the_system_that_fails_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail(*_, **__):
        raise OSError(122, "Disk quota exceeded")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match=r"Disk quota exceeded: .*a\.txt"):
            write_text(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="name a file"):
        write_text(tmp_path, "new")


@posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real").write_text("old")
    (tmp_path / "link").symlink_to("there/real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "real").read_text() == "new"
    (tmp_path / "to nothing").symlink_to("there/made")
    write_text(tmp_path / "to nothing", "new")
    assert (tmp_path / "there" / "made").read_text() == "new"


@posix
def test_rights_of_an_old_file_are_kept(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "b.txt", "new")
    finally:
        os.umask(before)
    path.chmod(0o600)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o640


@posix
def test_a_pipe_is_written_to(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    read = []
    reader = threading.Thread(target=lambda: read.append(place.read_text()))
    reader.start()
    write_text(place, "new")
    reader.join()
    assert read == ["new"]
    assert stat.S_ISFIFO(place.stat().st_mode)


# -- earlier files --------------------------------------------------------------------------------


def test_earlier_files_get_the_same_number_and_stay(tmp_path):
    model, quality = tmp_path / "m", tmp_path / "q"
    with keeping_earlier(model, quality) as kept:
        assert kept == ()
    write_text(model, "1")
    with keeping_earlier(model, quality) as kept:
        assert kept == (tmp_path / "m.bak",)
        assert model.read_text() == "1"  # no moment without it
        write_text(model, "2")
    write_text(quality, "2")
    with keeping_earlier(model, quality) as kept:
        assert kept == (tmp_path / "m.bak2", tmp_path / "q.bak2")
        write_text(model, "3")
    found = {one.name: one.read_text() for one in tmp_path.iterdir()}
    assert found == {"m": "3", "m.bak": "1", "m.bak2": "2", "q": "2", "q.bak2": "2"}


def test_second_names_are_taken_back_if_nothing_is_replaced(tmp_path):
    write_text(tmp_path / "m", "1")
    with pytest.raises(ValueError, match="why"), keeping_earlier(tmp_path / "m"):
        raise ValueError("why")
    assert names(tmp_path) == ["m"]

    def replace_and_fail():
        with keeping_earlier(tmp_path / "m"):
            write_text(tmp_path / "m", "2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_and_fail()
    assert (tmp_path / "m.bak").read_text() == "1"


def test_an_attempt_that_was_killed_leaves_no_second_copy(tmp_path):
    write_text(tmp_path / "m", "1")
    os.link(tmp_path / "m", tmp_path / "m.bak")
    with keeping_earlier(tmp_path / "m") as kept:
        write_text(tmp_path / "m", "2")
    assert kept == (tmp_path / "m.bak",)
    assert names(tmp_path) == ["m", "m.bak"]
    assert (tmp_path / "m.bak").read_text() == "1"


def test_where_there_are_no_links_files_are_copied(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_text(tmp_path / "m", "1")
    with keeping_earlier(tmp_path / "m") as kept:
        write_text(tmp_path / "m", "2")
    assert kept == (tmp_path / "m.bak",)
    assert (tmp_path / "m.bak").read_text() == "1"
