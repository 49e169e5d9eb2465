"""Encodings: said, marked or guessed from names and first lines, and never an error in a row."""

import pytest

from voile.errors import SettingError
from voile.privacy.files.encodings import UNREADABLE, Recoder, check_encoding, find_encoding

TEXT = "größe,ward\n180,Süd\n"


@pytest.mark.parametrize(
    ("raw", "name", "guessed"),
    [
        (TEXT.encode(), "utf-8", True),
        (TEXT.encode("utf-8-sig"), "utf-8", False),
        (TEXT.encode("cp1252"), "cp1252", True),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le", False),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be", False),
        (TEXT.encode("utf-16-le"), "utf-16-le", True),
        (TEXT.encode("utf-16-be"), "utf-16-be", True),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), "utf-32-le", False),
        (b"age\n1\n", "utf-8", True),
        (b"", "utf-8", True),
        # Names are certain; rows decide by majority, and one never alone.
        ("größe\n".encode() + b"\xe4\n" * 9, "utf-8", True),
        (b"age\n" + b"\xe4\n" * 2, "cp1252", True),
        (b"age\n" + b"\xe4\n", "utf-8", True),
        (b"age\n" + b"\xe4\n" * 3 + "ä\n".encode() * 4, "utf-8", True),
    ],
)
def test_the_beginning_of_a_file_tells_its_encoding(raw, name, guessed):
    found = find_encoding(raw, None)
    assert (found.name, found.guessed) == (name, guessed)


def test_one_of_my_own_lines_decides():
    assert find_encoding(b"age\n\xe4\n", None, own=True).name == "cp1252"
    assert find_encoding(b"age\n\xe4\n" + "ä\n".encode(), None, own=True).name == "utf-8"


def test_what_is_said_counts_unless_a_mark_says_otherwise():
    assert find_encoding(TEXT.encode(), "latin-1").name == "iso8859-1"
    assert find_encoding(TEXT.encode("utf-8-sig"), "cp1252").name == "utf-8"


@pytest.mark.parametrize("name", ["", "klingon", "idna", "base64", "utf-7", "rot13", "a\0b"])
def test_unknown_encodings_are_refused(name):
    with pytest.raises(SettingError, match="There is no encoding"):
        check_encoding(name)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "cp1252", "cp437", "cp037", "utf-16-le", "utf-16-be", "shift_jis"]
)
def test_texts_come_out_as_utf8_wherever_they_are_cut(encoding):
    text = "age;w\r\n1,5;x\n" if encoding in ("cp037", "shift_jis") else "größe;w\r\n1,5;ü\n"
    raw = text.encode(encoding)
    for size in range(1, len(raw) + 1):
        recode = Recoder(encoding)
        pieces = [raw[a : a + size] for a in range(0, len(raw), size)]
        assert b"".join(map(recode, [*pieces, b""])).decode() == text


@pytest.mark.parametrize(
    ("encoding", "raw"),
    [
        ("utf-8", b"\xff"),
        ("cp1252", b"\x81"),
        ("utf-16-le", b"\x00\xd8a\0"),
        ("utf-16-le", b"a"),
        ("ascii", b"\xe4"),
    ],
)
def test_bytes_that_are_no_text_have_a_mark(encoding, raw):
    recode = Recoder(encoding)
    assert UNREADABLE in (recode(raw) + recode(b"")).decode()
