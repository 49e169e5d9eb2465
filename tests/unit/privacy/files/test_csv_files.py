"""CSV files: one rule for the guess and for the reading, and no row that decides for the others."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import Category, Number, Schema
from voile.errors import DataError
from voile.privacy.files import csv_files, encodings
from voile.privacy.files.cells import MISSING
from voile.privacy.files.table_files import TableFile, read_table
from voile.schema.kinds import Kind

NUMBER, TIME, OTHER = Kind.NUMBER, Kind.TIME, Kind.OTHER


def kinds(path):
    return [one.kind for one in TableFile(path).columns]


def write(path, names, rows):
    path.write_text("\n".join([names, *rows]) + "\n")
    return path


# -- numbers with commas --------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_comma_is_decimal_where_it_does_not_separate(tmp_path, separator):
    rows = [f"{i}{separator}{i},50" for i in range(100)]
    path = write(tmp_path / "t.csv", f"age{separator}price", rows)
    assert kinds(path) == [NUMBER, NUMBER]
    table = read_table(path, Schema({"price": Number()}))
    assert table["price"].to_pylist() == [i + 0.5 for i in range(100)]


@pytest.mark.parametrize(
    ("text", "number"), [('"3,5"', 3.5), ('"63,471.33"', 63471.33), ('"1.234,5"', 1234.5)]
)
def test_a_quoted_comma_in_a_file_with_commas(tmp_path, text, number):
    path = write(tmp_path / "t.csv", "age,price", [f"{i},{text}" for i in range(100)])
    assert kinds(path) == [NUMBER, NUMBER]
    assert read_table(path, Schema({"price": Number()}))["price"].to_pylist() == [number] * 100


# -- long rows, quoted line breaks, long headings -------------------------------------------------


def test_one_long_note_does_not_tip_the_kinds(tmp_path):
    rows = [f"short,{i},{i}.5,A" for i in range(300)]
    plain = write(tmp_path / "plain.csv", "note,age,dose,ward", rows)
    assert kinds(plain) == [OTHER, NUMBER, NUMBER, OTHER]
    for size in (70_000, 300_000, 3_000_000):
        for note in ("x" * size, '"' + "x\n" * (size // 2) + '"'):
            path = write(tmp_path / "t.csv", "note,age,dose,ward", [f"{note},1,2,A", *rows])
            assert kinds(path) == kinds(plain)


def test_quoted_line_breaks_do_not_tip_the_kinds(tmp_path):
    rows = [f'"first line\nsecond, line",{i},{i}.5,A' for i in range(3000)]
    path = write(tmp_path / "t.csv", "note,age,dose,ward", rows)
    assert kinds(path) == [OTHER, NUMBER, NUMBER, OTHER]
    assert len(read_table(path, Schema({"age": Number()}))) == 3000


def test_a_long_line_of_names_is_read_whole(tmp_path):
    names = [f"column_{i}" for i in range(9000)]
    rows = [",".join(str(i % 7) for i in range(9000))] * 3
    path = write(tmp_path / "t.csv", ",".join(names), rows)
    assert [one.name for one in TableFile(path).columns] == names
    assert set(kinds(path)) == {NUMBER}
    table = read_table(path, Schema({"column_8999": Number()}))
    assert table["column_8999"].to_pylist() == [8999 % 7] * 3


def test_names_may_hold_separators_quotes_and_line_breaks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a,b,c,d";"say ""x""";"blood\npressure";5" pipe\n' + "1;2;3,5;4\n" * 30)
    assert [one.name for one in TableFile(path).columns] == [
        "a,b,c,d",
        'say "x"',
        "blood\npressure",
        '5" pipe',
    ]
    assert kinds(path) == [NUMBER] * 4
    table = read_table(path, Schema({"blood\npressure": Number()}))
    assert table["blood\npressure"].to_pylist() == [3.5] * 30


@pytest.mark.parametrize(
    "rows", ['40,"secret",yes\n' * 9, "40,secret,yes\n" * 9, "40,secret\xe4,yes\n" * 9, ""]
)
def test_a_quote_left_open_in_the_names_is_told_without_a_row(tmp_path, rows):
    (tmp_path / "t.csv").write_bytes(b'age,"ward,ill\n' + rows.encode("latin-1"))
    with pytest.raises(DataError, match="quotes of its names") as caught:
        TableFile(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


def test_an_open_quote_does_not_read_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("voile.privacy.files.csv_files.MOST_BYTES", 2**20)
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.write(b"age,note\n" + b"40,A\n" * 50 + b'41,"open\n')
        for _ in range(64):
            file.write(b"40,A\n" * 100_000)
    opened, sizes = csv_files._open, []

    class Counted:
        def __init__(self, *given):
            self.stream = opened(*given)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.stream.close()

        def read(self, size):
            raw = self.stream.read(size)
            sizes.append(len(raw))
            return raw

    monkeypatch.setattr(csv_files, "_open", Counted)
    assert kinds(path) == [NUMBER, OTHER]
    assert sum(sizes) <= 2 * 2**20  # the file has 32 MB


def test_a_first_line_without_an_end_is_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("voile.privacy.files.csv_files.MOST_BYTES", 2**20)
    (tmp_path / "t.csv").write_bytes(b"x" * (2**21))
    with pytest.raises(DataError, match="first line"):
        TableFile(tmp_path / "t.csv")


@pytest.mark.parametrize("ends", ["\r", "\n", "\r\n"])
def test_all_line_ends_are_known(tmp_path, ends):
    text = "".join(f"{i},A{ends}" for i in range(50))
    (tmp_path / "t.csv").write_bytes(f"{ends}{ends}age,ward{ends}{text}".encode())
    assert kinds(tmp_path / "t.csv") == [NUMBER, OTHER]
    table = read_table(tmp_path / "t.csv", Schema({"age": Number()}))
    assert table["age"].to_pylist() == list(range(50))


# -- letters that are not UTF-8 -------------------------------------------------------------------


@pytest.mark.parametrize("rows", [10, 20_000])
def test_names_tell_the_encoding(tmp_path, rows):
    (tmp_path / "t.csv").write_bytes("größe,ill\n".encode("latin-1") + b"1,\xc3\xa4\n" * rows)
    assert TableFile(tmp_path / "t.csv").names == ("größe", "ill")
    table = read_table(tmp_path / "t.csv", Schema({"ill": Category()}))
    assert table["ill"].to_pylist() == ["Ã¤"] * rows


def test_rows_in_another_encoding_are_missing_and_no_error(tmp_path):
    """One line does not decide for the others."""
    lines = [f"{i},no,{i}" for i in range(40)] + ["40,erh\xf6ht,x\xe4"]
    (tmp_path / "t.csv").write_bytes(("age,ill,who\n" + "\n".join(lines)).encode("latin-1"))
    assert kinds(tmp_path / "t.csv") == [NUMBER, OTHER, NUMBER]
    table = TableFile(tmp_path / "t.csv").read(Schema({"ill": Category(["no"])}), also=["who"])
    assert table["ill"].to_pylist() == ["no"] * 40 + [None]
    assert table["who"].to_pylist() == [*map(str, range(40)), None]
    assert len(table.to_pandas()) == 41


def test_texts_that_cannot_be_read_are_no_evidence_for_numbers(tmp_path):
    """A column of words in latin-1 with a few numbers is no column of numbers."""
    (tmp_path / "t.csv").write_bytes(b"\xc3\xa4\n" + b"\xf6\n" * 90 + b"1\n" * 10)
    assert kinds(tmp_path / "t.csv") == [OTHER]


def test_marks_stand_where_bytes_are_no_text_wherever_pieces_end(monkeypatch):
    raw = "aä€😀".encode() + b"\xff\xc3,\xe2\x82\n" + "ä".encode("latin-1")
    mark = encodings.UNREADABLE
    expected = f"aä€😀{mark}{mark},{mark}\n{mark}"
    for size in range(1, 20):
        monkeypatch.setattr(encodings, "_PIECE_BYTES", size)
        assert b"".join(map(encodings.Recoder("utf-8"), [raw, b""])).decode() == expected
        recode = encodings.Recoder("utf-8")
        parts = [raw[a : a + size] for a in range(0, len(raw), size)]
        assert b"".join(map(recode, [*parts, b"", b""])).decode() == expected


def test_a_destroyed_letter_is_still_a_letter(tmp_path):
    """What another program could not read and wrote as U+FFFD may yet tell levels apart."""
    path = write(tmp_path / "t.csv", "age,ill", ["1,erh\ufffdht"])
    assert read_table(path, Schema({"ill": Category()}))["ill"].to_pylist() == ["erh\ufffdht"]


# -- missing values -------------------------------------------------------------------------------

WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "<NA>", "?")


def test_words_for_missing_are_no_levels(tmp_path):
    rows = [f"{i},{word}" for i, word in enumerate([*WORDS, "none", "-", "Na", "A"])]
    path = write(tmp_path / "t.csv", "age,ward", rows)
    assert set(WORDS) == set(MISSING)
    for schema in (Schema({"ward": Category()}), Schema({"ward": Category(["A", "B"])})):
        found = read_table(path, schema)["ward"].to_pylist()
        assert found == [None] * len(WORDS) + ["none", "-", "Na", "A"]


def test_a_word_that_the_schema_lists_is_a_level(tmp_path):
    path = write(tmp_path / "t.csv", "age,ward", ["1,NA", "2,?", "3,"])
    table = read_table(path, Schema({"ward": Category(["NA", ""])}))
    assert table["ward"].to_pylist() == ["NA", None, ""]


@pytest.mark.parametrize("word", [*WORDS, "none", "-", "None", "Null"])
def test_words_for_missing_are_no_evidence_for_a_kind(tmp_path, word):
    rows = [f"{i},{word if i % 2 else i}" for i in range(100)]
    assert kinds(write(tmp_path / "t.csv", "age,dose", rows)) == [NUMBER, NUMBER]


# -- hostile rows ---------------------------------------------------------------------------------

LONG = 400_000
HOSTILE = {
    "long": lambda s: b"7%sA%s" % (s, s) + b"x" * LONG,
    "long and quoted": lambda s: b"7%sA%s" % (s, s) + b'"' + b"x\n" * LONG + b'"',
    "a quote inside quotes": lambda s: b'7%s"say "hi there"%sB' % (s, s),
    "quotes inside quotes": lambda s: b'7%s"say "hi" there"%sB' % (s, s),
    "a quote in a word": lambda s: b'7%sA"%sB' % (s, s),
    "nothing but quotes": lambda s: b'""%s""%s""' % (s, s),
    "a zero byte": lambda s: b"7%sA\0%s\0" % (s, s),
    "bad bytes": lambda s: b"\xff\xfe%s\xc3%s\xf6" % (s, s),
    "a byte order mark": lambda s: b"\xef\xbb\xbf7%sA%sB" % (s, s),
    "too many fields": lambda s: b"7" + s * 40,
    "too many fields and bad bytes": lambda s: b"7%s\xff%s\xc3%s\xf6" % (s, s, s),
    "too few fields and bad bytes": lambda s: b"\xe4",
    "too few fields": lambda s: b"7" + s + b"A",
    "one field": lambda s: b"7",
    "an empty line": lambda s: b"",
    "a lone return": lambda s: b"7%sA\r%sB" % (s, s),
    "a lone return in quotes": lambda s: b'7%s"A\rB"%sC' % (s, s),
    "a line break in quotes": lambda s: b'7%s"A\r\nB"%sC' % (s, s),
    "odd line breaks": lambda s: b"7%s\x0b\x0c\x1c\x85%s\xe2\x80\xa8\xc2\x85" % (s, s),
    "end of file": lambda s: b"7%s\x1a%s\x04" % (s, s),
    "other kinds": lambda s: b"word%s5%s2024-01-31" % (s, s),
    "huge numbers": lambda s: b"1e999%s%s%s-" % (s, b"9" * 5000, s),
}
PLACES = (0, 100, 199)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("name", "separator"), [("t.csv", b","), ("t.tsv", b"\t"), ("t.csv.gz", b";"), ("t.txt", b"|")]
)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_one_hostile_row_changes_nothing_for_the_others(tmp_path, hostile, name, separator, place):
    ordinary = [b"%d%sA%d%sw" % (i, separator, i, separator) for i in range(200)]
    lines = list(ordinary)
    lines.insert(place, HOSTILE[hostile](separator))
    heading = separator.join([b"age", b"ward", b"note"])
    schema = Schema({"age": Number(), "note": Category(), "ward": Category()})
    path = tmp_path / name
    pack = gzip.compress if name.endswith("gz") else bytes
    path.write_bytes(pack(b"\n".join([heading, *lines]) + b"\n"))
    assert kinds(path) == [NUMBER, OTHER, OTHER]
    table = TableFile(path).read(schema, also=["ward"])
    found = list(zip(table["age"].to_pylist(), table["ward"].to_pylist(), strict=True))
    expected = [(float(i), f"A{i}") for i in range(200)]
    after = 200 - place
    assert found[:place] == expected[:place]
    assert found[len(found) - after :] == expected[place:]
    assert len(found) - 200 in (0, 1)


def test_an_open_quote_in_the_last_row_is_no_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,ward\n" + b"41,B\n" * 200 + b'40,"A\n')
    assert kinds(path) == [NUMBER, OTHER]
    assert read_table(path, Schema({"age": Number()}))["age"].to_pylist() == [41] * 200 + [40]


def test_the_guess_is_the_same_wherever_the_beginning_is_cut(tmp_path, monkeypatch):
    """The last row of the beginning may be cut in the middle of a number, a quote or a letter."""
    path = tmp_path / "t.csv"
    path.write_text("age,note,when\n" + '123456,"a ""ü"",\nb",2024-01-31 08:30\n' * 400)
    for size in range(70, 170):
        monkeypatch.setattr(csv_files, "FIRST_BYTES", size)
        monkeypatch.setattr(csv_files, "MOST_BYTES", size)
        assert kinds(path) == [NUMBER, OTHER, TIME]


def test_a_table_of_several_blocks_is_read_like_one_of_one(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,note\n" + b'1,"a\nb,\xff"\n2,"\xc3\xbc\n"\n3,x,y\n' * 3000)
    schema = Schema({"age": Number(), "note": Category()})
    whole = read_table(path, schema)
    assert whole["note"].to_pylist() == [None, "ü\n"] * 3000
    for size in (100, 1009, 4096):
        monkeypatch.setattr(csv_files, "_BLOCK_BYTES", size)
        assert read_table(path, schema).to_pydict() == whole.to_pydict()


def test_a_row_may_be_longer_than_a_block(tmp_path, monkeypatch):
    """The blocks grow until it fits: no row decides whether there is an error."""
    path = tmp_path / "t.csv"
    path.write_bytes(
        b"age,note\n" + b"1,a\n" * 50 + b'2,"' + b"x\n" * 5000 + b'"\n' + b"3,b\n" * 50
    )
    schema = Schema({"age": Number(), "note": Category()})
    whole = read_table(path, schema)
    assert [len(one) for one in whole["note"].to_pylist()] == [1] * 50 + [10_000] + [1] * 50
    for size in (64, 700):
        monkeypatch.setattr(csv_files, "_BLOCK_BYTES", size)
        assert read_table(path, schema).to_pydict() == whole.to_pydict()
    monkeypatch.setattr(csv_files, "_LARGEST_BLOCK", 4096)
    with pytest.raises(DataError, match="cannot be read as a table with 2 columns"):
        read_table(path, schema)


def test_no_block_ends_inside_a_line_break(tmp_path, monkeypatch):
    """Arrow would leave out a line feed at the beginning of a block, inside quotes, too."""
    path = tmp_path / "t.csv"
    rows = b'1,"a\r\n\r\nb"\r\n2,\xc3\xbc\xff\r\n\r\n3,\r\n' * 3
    path.write_bytes("age,noteü\r\n".encode() + rows)
    schema = Schema({"age": Number(), "noteü": Category()})
    for size in range(2, 80):
        monkeypatch.setattr(csv_files, "_BLOCK_BYTES", size)
        table = read_table(path, schema)
        assert table["age"].to_pylist() == [1, 2, 3] * 3
        assert table["noteü"].to_pylist() == ["a\r\n\r\nb", None, None] * 3


_FIELDS = st.sampled_from(
    [
        *(b"", b"1", b"2.5", b"word", b'"quoted"', b'"a, b"', b'"a\nb"', b'"a\r\nb"'),
        *(b'"say ""hi"""', b"\xc3\xbc", b"\xff", b'a"b', b'"open', b"x" * 50, b"\0"),
    ]
)
_ROWS = st.lists(
    st.tuples(st.lists(_FIELDS, min_size=1, max_size=3), st.sampled_from([b"\n", b"\r\n", b"\r"])),
    max_size=25,
)


@given(rows=_ROWS, size=st.integers(2, 120))
@settings(max_examples=60)
def test_how_a_file_is_cut_into_blocks_changes_nothing(tmp_path_factory, rows, size):
    path = tmp_path_factory.getbasetemp() / "cut.csv"
    path.write_bytes(b"a,b\n" + b"".join(b",".join(fields) + end for fields, end in rows))
    heading = csv_files.read_heading(path)

    def read():
        try:
            return csv_files.read_columns(path, heading, ["a", "b"]).to_pydict()
        except DataError as error:
            return str(error)

    whole = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_BLOCK_BYTES", size)
        assert read() == whole


def test_an_archive_that_breaks_off_later_is_refused(tmp_path):
    import random

    chance = random.Random(0)
    text = "age,ward\n" + "".join(f"{chance.getrandbits(60)},A\n" for _ in range(200_000))
    packed = gzip.compress(text.encode())
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="unpacked"):
        read_table(tmp_path / "t.csv.gz", Schema({"age": Number()}))


def test_a_file_of_names_alone_has_no_rows(tmp_path):
    for text in ("age,ward", "age,ward\n", "\ufeffage,ward\r\n\r\n"):
        (tmp_path / "t.csv").write_text(text)
        assert [one.name for one in TableFile(tmp_path / "t.csv").columns] == ["age", "ward"]
        with pytest.raises(DataError, match="no rows"):
            read_table(tmp_path / "t.csv", Schema({"age": Number()}))
