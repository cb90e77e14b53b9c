"""``collmark report``: where the file lies, what is never overwritten, and what is said."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


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
