"""Claims of the user's own: the documented example works, and whatever is wrong is one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.analysis.claims.links import GB, findings, link, named

from collmark.analysis.claims.finding import Finding, Kind, Verdict
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.table import load_table
from collmark.core.errors import UsageError

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to-add-a-claim.md"
HEAD = '[[claims]]\nid = "mine"\nsentence = "It is so."\n'
S = HEAD + "[claims.S]\n"
M = HEAD + "[claims.M]\n"
GOOD_S = 'predicate = "figure"\nrule = "rounding"\nclaimed = 1\nparameters = { of = 1 }\n'
GOOD_M = (
    'predicate = "asymptote"\nrule = "over"\nclaimed = "1 GB/s"\ntier_a = "tcp"\n'
    'parameters = { operation = "stream" }\n'
)
CONSTANTS = '[constants.site]\nmeaning = "ours"\nsource = "the offer"\n'

BAD: dict[str, tuple[str, str]] = {
    "no TOML": ("claims = [", "my.toml: "),
    "unknown key at the top": ("[[claim]]\n", "unknown key 'claim'; did you mean 'claims'?"),
    "claims are no list": ("claims = 1\n", "claims must be tables"),
    "a claim is no table": ("claims = [1]\n", "claim 1: must be a table"),
    "misspelt key": (HEAD.replace("sentence", "sentance"), "unknown key 'sentance'; did you mean 'sentence'?"),
    "no id": ('[[claims]]\nsentence = "x"\n', "missing required field id"),
    "id with a space": (HEAD.replace('"mine"', '"my own"') + "[claims.S]\n" + GOOD_S, "an id is 2 to 40 small letters"),
    "id of a run": (HEAD.replace("mine", "latest") + "[claims.S]\n" + GOOD_S, "'latest': that names the newest run"),
    "id of another": (HEAD.replace("mine", "gap-18x") + "[claims.S]\n" + GOOD_S, "'gap-18x' stands there twice"),
    "empty sentence": (HEAD.replace("It is so.", " ") + "[claims.S]\n" + GOOD_S, "the sentence is empty"),
    "nothing decides it": (HEAD, "nothing can decide it; add a table S, W, M or P"),
    "misspelt kind": (HEAD + "[claims.s]\n" + GOOD_S, "unknown key 's'; did you mean 'S'?"),
    "misspelt key of a kind": (S + GOOD_S.replace("predicate", "predicat"), "did you mean 'predicate'?"),
    "unknown predicate": (S + GOOD_S.replace('"figure"', '"figrue"'), "did you mean 'figure'?"),
    "predicate of another kind": (S + GOOD_S.replace('"figure"', '"asymptote"'), "unknown predicate of kind S or W"),
    "unknown rule": (S + GOOD_S.replace('"rounding"', '"rouding"'), "did you mean 'rounding'?"),
    "no figure claimed": (S + GOOD_S.replace("claimed = 1\n", ""), "rule rounding needs claimed"),
    "figure where none is": (S + GOOD_S.replace('"rounding"', '"parity"'), "rule parity takes no claimed figure"),
    "bad number": (S + GOOD_S.replace("claimed = 1", 'claimed = "lots"'), "claimed: 'lots' is no quantity"),
    "true is no number": (S + GOOD_S.replace("claimed = 1", "claimed = true"), "claimed"),
    "unknown unit": (S + GOOD_S.replace("claimed = 1", 'claimed = "1 GiB/s"'), "is no quantity"),
    "date is no number": (S + GOOD_S.replace("claimed = 1", "claimed = 2026-01-01"), "claimed"),
    "range upside down": (S + GOOD_S.replace("claimed = 1", 'claimed = "3 to 2"'), "ends below its start"),
    "number of thousands of digits": (S + GOOD_S.replace("claimed = 1", "claimed = " + "9" * 5000), "my.toml"),
    "number beyond all bounds": (S + GOOD_S.replace("claimed = 1", 'claimed = "1e99"'), "1e-30 to 1e30"),
    "units that differ": (S + GOOD_S.replace("claimed = 1", 'claimed = "1 GB"'), "figure gives a number"),
    "unknown parameter": (S + GOOD_S.replace("{ of", "{ off"), "unknown parameter 'off'; did you mean 'of'?"),
    "parameter missing": (S + GOOD_S.replace("{ of = 1 }", "{}"), "parameter 'of' is missing"),
    "unknown constant": (S + GOOD_S.replace("of = 1", 'of = "nvlink4.oneway"'), "nvlink4.one_way"),
    "parameter of another unit": (
        S + GOOD_S.replace('"figure"', '"transfer_time"').replace("of = 1", 'nbytes = "4 GB", rate = "50 GB"'),
        "'50 GB' must be in B/s",
    ),
    "parameter of zero": (
        S + GOOD_S.replace('"figure"', '"ratio"').replace("of = 1", "over = 1, under = 0"),
        "parameter 'under': must be above 0",
    ),
    "parameter too small": (
        S + GOOD_S.replace('"figure"', '"ring_volume"').replace("of = 1", "ranks = 1"),
        "must be at least 2",
    ),
    "parameter too large": (
        S + GOOD_S.replace('"figure"', '"island"').replace("of = 1", 'gpus = "1e9", server = 8, heads = [8]'),
        "must be at most 1e+06",
    ),
    "ratio of unlike units": (
        S + GOOD_S.replace('"figure"', '"ratio"').replace("of = 1", 'over = "1 GB", under = "1 s"'),
        "have no ratio",
    ),
    "product of two units": (
        S + GOOD_S.replace('"figure"', '"product"').replace("of = 1", 'factors = ["1 GB", "1 s"]'),
        "has no unit",
    ),
    "sum of unlike units": (
        S + GOOD_S.replace('"figure"', '"total"').replace("of = 1", 'terms = ["1 GB", "1 s"]'),
        "have no sum",
    ),
    "empty list": (S + GOOD_S.replace('"figure"', '"total"').replace("of = 1", "terms = []"), "is empty"),
    "no list": (S + GOOD_S.replace('"figure"', '"total"').replace("of = 1", "terms = 1"), "must be a list"),
    "word that is none": (
        S
        + GOOD_S.replace('"figure"', '"zero_memory"').replace(
            "of = 1", 'parameters = 1, ranks = 2, sharded = ["weight"], weights = 2, gradients = 2, optimizer = 12'
        ),
        "did you mean 'weights'?",
    ),
    "empty parts": (S + "parts = []\n", "parts is empty"),
    "parts without words": (
        S + "[[claims.S.parts]]\n" + GOOD_S + "[[claims.S.parts]]\n" + GOOD_S,
        "each of several parts needs says",
    ),
    "unknown tier": (M + GOOD_M.replace('"tcp"', '"infinband"'), "did you mean 'infiniband'?"),
    "unknown fabric": (M + GOOD_M.replace('"tcp"', '"rdma:rocee"'), "did you mean 'roce'?"),
    "fabric of a tier without": (M + GOOD_M.replace('"tcp"', '"nvlink:roce"'), "only rdma has a fabric"),
    "empty label": (M + GOOD_M.replace('"tcp"', '"tcp@"'), "the label behind @ is empty"),
    "second tier": (M + 'tier_b = "tcp"\n' + GOOD_M, "asymptote takes tier_a alone"),
    "tier missing": (
        M + GOOD_M.replace("asymptote", "alpha_ratio").replace('"1 GB/s"', "1"),
        "takes tier_a and tier_b",
    ),
    "unknown operation": (M + GOOD_M.replace('"stream"', '"steam"'), "did you mean 'stream'?"),
    "measured for its rounding": (M + GOOD_M.replace('"over"', '"rounding"'), "rule rounding is for arithmetic"),
    "measured in another unit": (M + GOOD_M.replace("1 GB/s", "1 s"), "asymptote gives B/s, claimed '1 s' does not"),
    "truth that is a number": (M + GOOD_M.replace("{ op", "{ both_ways = 1, op"), "must be true or false"),
    "rival that is none": (
        HEAD + 'contradicts = { gap-18 = "x" }\n[claims.S]\n' + GOOD_S,
        "contradicts 'gap-18', which is no claim; did you mean 'gap-18x'?",
    ),
    "unknown rule of one's own": ("[rules.abuot]\ntolerance = 1.1\n", "did you mean 'about'?"),
    "rule like nothing": ('[rules.mine]\nlike = "nothing"\n', "unknown rule 'nothing'"),
    "rule that is there": ('[rules.about]\nlike = "parity"\n', "it is there already"),
    "unknown threshold": ("[rules.about]\ntolerence = 1.1\n", "did you mean 'tolerance'?"),
    "threshold in words": ('[rules.about]\ntolerance = "wide"\n', "must be a number"),
    "threshold that is true": ("[rules.about]\ntolerance = true\n", "must be a number"),
    "rules are no tables": ("rules = 1\n", "is no table of rules"),
    "rule is no table": ("[rules]\nabout = 1\n", "a rule is a table"),
    "constant without source": ('[constants.site]\nmeaning = "ours"\nnic = "1 GB/s"\n', "says no source"),
    "constant that is no quantity": (CONSTANTS + 'nic = "fast"\n', "site.nic: 'fast' is no quantity"),
    "constant with an odd name": (CONSTANTS + '"a b" = 1\n', "a name is of letters"),
    "constant that is there": (
        '[constants.ndr]\nmeaning = "ours"\nsource = "the offer"\none_way = "1 GB/s"\n',
        "constant 'ndr.one_way' is there already",
    ),
    "constants are no tables": ("constants = 1\n", "is no table of groups"),
    "group is no table": ("[constants]\nsite = 1\n", "a group of constants is a table"),
}


def load(path: Path, text: str) -> list[Finding]:
    """Return the findings of the claims in a file of one's own."""
    file = path / "my.toml"
    file.write_text(text, encoding="utf-8")
    table = load_table([file])
    return [finding for finding in judge(table.claims, table.rules) if finding.claim == "mine"]


@pytest.mark.parametrize("name", BAD)
def test_whatever_is_wrong_is_one_line(tmp_path: Path, name: str) -> None:
    text, wanted = BAD[name]
    with pytest.raises(UsageError) as raised:
        load(tmp_path, text)
    line = str(raised.value)
    assert wanted in line
    assert "\n" not in line
    assert "my.toml" in line or "'mine'" in line or "stands there twice" in line


def test_what_is_right_loads(tmp_path: Path) -> None:
    for text, kind in ((S + GOOD_S, Kind.LINK), (M + GOOD_M, Kind.MEASURED)):
        (finding,) = load(tmp_path, text)
        assert finding.kind is kind
        assert finding.sentence == "It is so."
        assert (finding.verdict is Verdict.NO_DATA) == (kind is Kind.MEASURED)


def test_text_that_writes_on_the_screen_stays_text(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text((S + GOOD_S).replace("It is so.", "It is\\u001b[31m so.\\nFAILS"), encoding="utf-8")
    (claim,) = load_table([file]).of(["mine"])
    assert claim.sentence == "It is\\x1b[31m so. FAILS"


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        load(tmp_path, S + GOOD_S.replace("figure", "figrue").replace("rounding", "rouding") + "[rules.abuot]\nx = 1\n")
    assert all(word in str(raised.value) for word in ("figrue", "rouding", "abuot"))


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (Path.exists, "No such file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "utf-8"),
        (lambda path: path.write_bytes(b"# " + b"x" * 2_000_000), "larger than"),
        (lambda path: path.write_text("a = " + "[" * 5000, encoding="utf-8"), "claims "),
    ],
)
def test_file_that_is_none_is_one_line(tmp_path: Path, make: object, wanted: str) -> None:
    file = tmp_path / "my.toml"
    make(file)  # type: ignore[operator]
    with pytest.raises(UsageError) as raised:
        load_table([file])
    assert wanted in str(raised.value)
    assert str(raised.value).endswith("docs/how-to-add-a-claim.md has an example")


def example() -> str:
    (text,) = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(text)


def test_documented_example_is_judged(tmp_path: Path) -> None:
    file = tmp_path / "my-claims.toml"
    file.write_text(example(), encoding="utf-8")
    table = load_table([file])
    assert len(table.claims) == 47
    assert table.rules["about"].thresholds == {"tolerance": 1.3}
    (node,) = judge(table.of(["site-node"]), table.rules)
    assert [part.verdict for part in node.parts] == [Verdict.HOLDS, Verdict.FAILS]
    assert "tight" in node.rule
    for rate, verdict in ((47, Verdict.HOLDS), (44, Verdict.FAILS)):
        (nic,) = findings(table, "site-nic", [named("run", "", link("infiniband", rate=rate * GB))])
        assert nic.verdict is verdict
    (nothing,) = findings(table, "site-nic", [])
    assert nothing.command.endswith(f" && collmark claims --file {file} site-nic results/infiniband-site-nic")


def test_document_is_one_screen() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 90
    assert max(len(line) for line in lines if not line.startswith("|")) <= 125
