"""JSON in logs: numbers as written, objects with the lines on which they stand."""

from collmark.analysis.importers.document import Document, Located, Number, read_document

TEXT = """{
  "a": 1.50,
  "rows": [
    {"x": 1e3,
     "y": null},
    {"x": NaN}
  ]
}
after"""


def test_numbers_are_as_written() -> None:
    found = read_document(TEXT, 0)
    assert found is not None
    value, end = found
    assert TEXT[end:] == "\nafter"
    assert value["a"] == "1.50"
    assert isinstance(value["a"], Number)
    assert [row["x"] for row in value["rows"]] == ["1e3", "NaN"]
    assert not isinstance(read_document('{"a": "1.5"}', 0)[0]["a"], Number)  # type: ignore[index]


def test_objects_know_their_lines() -> None:
    found = read_document(TEXT, 0)
    assert found is not None
    starts = [0, *(index + 1 for index, one in enumerate(TEXT) if one == "\n")]
    document = Document(found[0], TEXT, 41, starts)
    first, second = found[0]["rows"]
    assert isinstance(first, Located)
    assert document.lines_of(found[0]) == (41, 8)
    assert document.lines_of(first) == (44, 2)
    assert document.lines_of(second) == (46, 1)
    assert document.line_at(TEXT.index("after")) == 49
    assert TEXT[second.start : second.end] == '{"x": NaN}'


def test_a_text_of_one_line_needs_no_starts() -> None:
    found = read_document('{"a": {"b": 1}}', 0)
    assert found is not None
    assert Document(found[0], '{"a": {"b": 1}}', 7).lines_of(found[0]["a"]) == (7, 1)


def test_what_is_not_whole_is_none() -> None:
    for text in ("{", '{"a": ', '{"a": 1', "[1, 2", "{]}", "", "nothing", '{"a" 1}'):
        assert read_document(text, 0) is None


def test_depth_does_no_harm() -> None:
    assert read_document("[" * 100_000, 0) is None
    assert read_document('{"a":' * 100_000, 0) is None


def test_it_may_begin_anywhere() -> None:
    assert read_document('xx{"a": 2}yy', 2) == ({"a": "2"}, 10)
