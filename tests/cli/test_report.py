"""``collmark report``: where the file lies, what is never overwritten, and what is said."""

from __future__ import annotations

import html
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from collmark.analysis.figures.palette import NAMED


def test_it_lies_with_the_run_unless_named(cli: Cli, measured: str) -> None:
    done = cli("report", measured)
    assert done.status == 0
    assert done.out == ""
    path = Path(measured) / "report.html"
    assert f"wrote {path}" in done.err
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "SIMULATED, not measured" in " ".join(done.err.split())


def test_it_never_overwrites_unasked(cli: Cli, measured: str) -> None:
    Path("report.html").write_text("mine", encoding="utf-8")
    done = cli("report", measured, "-o", "report.html")
    assert done.status == 2
    assert "--force" in done.err
    assert Path("report.html").read_text(encoding="utf-8") == "mine"
    assert cli("report", measured, "-o", "report.html", "--force").status == 0
    assert Path("report.html").stat().st_size > 10_000


def test_the_newest_run_is_the_default(cli: Cli, measured: str) -> None:
    assert cli("report", "-o", "x.html").status == 0
    assert Path("x.html").exists()
    assert measured


def test_stdout_takes_either_format(cli: Cli, measured: str) -> None:
    page = cli("report", measured, "-o", "-")
    assert page.out.startswith("<!doctype html>")
    assert page.out.rstrip().endswith("</html>")
    summary = cli("report", measured, "--format", "md")
    assert summary.out.startswith("# collmark report")
    assert not list(Path.cwd().glob("*.md"))


def test_a_name_that_ends_in_md_is_a_summary(cli: Cli, measured: str) -> None:
    assert cli("report", measured, "-o", "ticket.md").status == 0
    assert Path("ticket.md").read_text(encoding="utf-8").startswith("# collmark report")


def test_json_says_what_was_written(cli: Cli, measured: str) -> None:
    told = cli("report", measured, "-o", "x.html", "--json").json
    assert told["file"] == "x.html"
    assert told["bytes"] == Path("x.html").stat().st_size
    assert told["kind"] == "html"
    assert set(told["sentences"]) == {"found", "sure", "next"}
    assert told["sections"][0] == "summary"
    assert told["text"] is None
    assert cli("report", measured, "--format", "md", "--json").json["text"].startswith("# collmark report")


def test_wrong_words_are_one_line_and_status_2(cli: Cli, measured: str) -> None:
    for words in (
        ("report", "nothere"), ("report", measured, "--format", "pdf"), ("report", measured, "-o", "."),
        ("report", measured, "-o", "no/such/folder/x.html"),
    ):  # fmt: skip
        done = cli(*words)
        assert done.status == 2, words
        assert done.out == ""
        assert len([line for line in done.err.splitlines() if line.startswith("error:")]) == 1
    assert cli("report", "nothere", "--json").json["error"]


def test_several_runs_are_named_and_not_compared(cli: Cli, measured: str) -> None:
    done = cli("report", measured, measured, "-o", "-")
    assert done.out.count("stand side by side") == 0, "one run named twice is one run"


def figures(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def drawn_in(page: str) -> dict[str, str]:
    """Return what the figures of a page say, by anchor."""
    found = re.findall(r'<figure id="([^"]+)"[^>]*>\s*<h3>([^<]+)</h3>', page)
    return {anchor: html.unescape(title) for anchor, title in found}


@pytest.mark.parametrize("form", [(), ("--format", "md")], ids=["html", "md"])
def test_figures_are_those_of_the_report_and_say_what_is_said_there(
    cli: Cli, measured: str, form: tuple[str, ...]
) -> None:
    told = drawn_in(cli("report", measured, "-o", "-").out)
    done = cli("report", measured, *form, "--figures", "for/slides", "--json")
    assert done.status == 0, done.err
    files = figures("for/slides")
    assert {*files} == {f"{anchor}{suffix}" for anchor in told for suffix in (".svg", ".png")}
    assert done.json["figures"] == [f"for/slides/{anchor}{suffix}" for anchor in told for suffix in (".svg", ".png")]
    assert [line for line in done.err.splitlines() if line.startswith("wrote for/slides/")] == [
        f"wrote {path}" for path in done.json["figures"]
    ]
    for anchor, title in told.items():
        svg, png = files[f"{anchor}.svg"].decode(), files[f"{anchor}.png"]
        root = ET.fromstring(svg)
        said = {child.tag.rpartition("}")[2]: child.text for child in root if child.text}
        assert said["title"] == title
        assert re.search(r"\d launches|one launch", said["desc"]), "how many"
        assert re.search(r"\d+ % over|no interval|repetitions", said["desc"]), "at which level"
        shown = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
        for words in (title, said["desc"]):
            assert " ".join(words.split()) in " ".join(shown.split()), "it stands in the picture, too"
        assert "SIMULATED" in shown
        assert title.encode("latin-1", "replace") in png


def test_a_picture_that_is_passed_on_needs_nothing_around_it(cli: Cli, measured: str) -> None:
    assert cli("report", measured, "--figures", "slides").status == 0
    grounds = {shade.light.lower() for shade in NAMED.values()}
    for name, data in figures("slides").items():
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG")
            wide, high = struct.unpack(">II", data[16:24])
            assert wide >= 1200
            assert high >= 300
            assert b"Software" not in data
            continue
        text = data.decode()
        assert "var(" not in text
        assert "class=" not in text
        assert {colour.lower() for colour in re.findall(r'(?:fill|stroke)="(#\w+)"', text)} <= grounds
        assert not re.search(r'(?:href|src)="(?!#)', text)
        root = ET.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert {"width", "height", "viewBox", "font-family"} <= set(root.attrib)


@pytest.mark.manner(30)
def test_equal_runs_give_equal_figures(cli: Cli, measured: str) -> None:
    for folder in ("one", "two"):
        assert cli("report", measured, "-o", f"{folder}.html", "--figures", folder).status == 0
    assert figures("one") == figures("two")


@pytest.mark.manner(19)
def test_a_figure_that_is_there_stays_and_so_does_all_else(cli: Cli, measured: str) -> None:
    path = Path("slides/figure-times.png")
    path.parent.mkdir()
    path.write_bytes(b"mine")
    refused = cli("report", measured, "--figures", "slides")
    assert refused.status == 2
    assert "slides/figure-times.png exists already" in refused.err
    assert "--force" in refused.err
    assert figures("slides") == {"figure-times.png": b"mine"}
    assert not (Path(measured) / "report.html").exists(), "all is looked at before anything is written"
    assert cli("report", measured, "--figures", "slides", "--force").status == 0
    assert path.read_bytes() != b"mine"
    assert len(figures("slides")) > 2


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/no/such/place", ""])
def test_a_folder_that_cannot_be_is_one_line(cli: Cli, measured: str, folder: str) -> None:
    Path("file").write_text("mine", encoding="utf-8")
    done = cli("report", measured, "--figures", folder)
    (line,) = done.err.splitlines()
    assert (done.status, done.out) == (2, "")
    assert line.startswith("error: ")
    assert Path("file").read_text(encoding="utf-8") == "mine"
    assert not (Path(measured) / "report.html").exists()


def test_a_report_without_pictures_says_so(cli: Cli, measured: str) -> None:
    (Path(measured) / "records.jsonl").write_bytes(b"")
    done = cli("report", measured, "--figures", "slides")
    assert done.status == 0
    assert "note: --figures slides: the report has no picture" in done.err
