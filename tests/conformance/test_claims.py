"""The manifest: its valid contents, its effect on results, and helpful errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from infinicore.conformance import claims, results, toml_subset

from .kit_runs import conformance

GOOD = """
# A chip.
[device]
name = "mychip"
level = 3        # of seven
simulated = true

[[unsupported]]
cases = "op/*/F64/*"
reason = "no float64 # really"

[[expected_failure]]
cases = [
    "op/sort/*",
    "op/topk/*",
]
reason = 'ties'
"""


def read(tmp_path: Path, text: str, name: str = "claims.toml") -> claims.Claims:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return claims.read(str(path))


def test_a_manifest(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert (found.name, found.level, found.simulated) == ("mychip", 3, True)
    rule = found.rule("op/add/F64/strided/one")
    assert rule and rule.kind == "unsupported" and rule.reason == "no float64 # really"
    rule = found.rule("op/topk/F32/strided/one")
    assert rule and rule.kind == "expected_failure"
    assert found.rule("op/add/F32/strided/one") is None


def test_the_parser_for_python_3_10(tmp_path: Path) -> None:
    decoded = toml_subset.loads(GOOD)
    if sys.version_info >= (3, 11):
        import tomllib

        assert decoded == tomllib.loads(GOOD)
    assert claims.parse(decoded) == read(tmp_path, GOOD)
    assert claims.parse(decoded) == read(tmp_path, json.dumps(decoded), "claims.json")


@pytest.mark.parametrize(
    "text", ["[device", "name", "a = ", "a = [1", 'a = "1"\na = "2"', "[a]\n[a]", "a = {}"]
)
def test_the_parser_refuses(text: str) -> None:
    with pytest.raises(toml_subset.TomlError):
        toml_subset.loads(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[device]\nlevel = 9", "[device] level: expected 0 to 7, got 9"),
        ("[device]\nlevel = true", "[device] level: expected 0 to 7, got True"),
        ('[device]\nnmae = "x"', "[device] has no 'nmae'; expected one of name, level"),
        ("[device]\nname = 3", "[device] name: expected a string, got 3"),
        ("[unsuported]", "the manifest has no 'unsuported'; expected one of device, unsupported"),
        ('[unsupported]\ncases = "*"', "expected [[unsupported]], with two brackets"),
        ('[[unsupported]]\ncases = "*"', "number 1 reason: expected a sentence, got None"),
        ('[[unsupported]]\nreason = "so"', "number 1 cases: expected a pattern or a list of them"),
        ('[[expected_failure]]\ncases = [3]\nreason = "x"', "cases: expected strings, got [3]"),
        ("[device\n", "claims.toml:"),
    ],
)
def test_malformed(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(claims.ClaimsError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value) and "claims.toml" in str(caught.value)


def test_the_command_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text("[device]\nlevel = 9\n", encoding="utf-8")
    done = conformance(tmp_path, "--level", "0", "--claims", str(path))
    assert done.status == 2 and "level: expected 0 to 7, got 9" in done.out


# ---- Effect on results --------------------------------------------------------------------------


def case(id: str, level: int, optional: bool = False) -> dict[str, Any]:
    return {"id": id, "level": level, "optional": optional, "seconds": 1}


CASES = [case("load/table", 0), case("op/a/F32/x/y", 1), case("op/b/F32/x/y", 1)]


def judged(*statuses: str, **rules: str) -> list[dict[str, Any]]:
    raw = [{"id": c["id"], "status": s, "words": "why"} for c, s in zip(CASES, statuses)]  # noqa: B905
    given = [claims.Rule(kind, (pattern,), "a reason") for kind, pattern in rules.items()]
    return results.judge(CASES, raw, claims.Claims(rules=tuple(given)))


def test_all_pass() -> None:
    assert results.level_reached(judged("pass", "pass", "pass"), 1) == (1, "")


@pytest.mark.parametrize("status", ["fail", "crash", "hang", "refused", "unavailable"])
def test_nothing_else_counts_as_a_pass(status: str) -> None:
    reached, lack = results.level_reached(judged("pass", "pass", status), 1)
    assert reached == 0 and f"1 {status}" in lack


def test_what_was_not_run_is_no_pass() -> None:
    assert results.level_reached(judged("pass", "pass"), 1)[0] == 0


def test_unsupported_is_left_out() -> None:
    rows = judged("pass", "pass", "crash", unsupported="op/b/*")
    assert rows[2]["status"] == "unsupported" and rows[2]["words"] == "a reason"
    assert results.level_reached(rows, 1) == (1, "")
    everything = judged("pass", "pass", "pass", unsupported="op/*")
    assert results.level_reached(everything, 1)[0] == 0


def test_an_expected_failure_is_no_pass_and_no_news() -> None:
    rows = judged("pass", "pass", "crash", expected_failure="op/b/*")
    assert rows[2]["status"] == "expected failure" and "a reason (crash" in rows[2]["words"]
    assert results.level_reached(rows, 1)[0] == 0
    assert "expected failure" not in results.BAD


def test_one_that_passes_is_stale() -> None:
    rows = judged("pass", "pass", "pass", expected_failure="op/b/*")
    assert rows[2]["status"] == "stale" and "stale" in results.BAD
    assert results.level_reached(rows, 1)[0] == 1


def test_required_levels_have_no_exception() -> None:
    rule = claims.Rule("unsupported", ("copies/*",), "hard")
    with pytest.raises(claims.ClaimsError, match="level 1, which every device must have"):
        claims.check(claims.Claims(rules=(rule,)), "mychip", [case("copies/large", 1)])
    claims.check(claims.Claims(rules=(rule,)), "mychip", [case("copies/peer", 1, optional=True)])
    with pytest.raises(claims.ClaimsError, match="it is for 'other'"):
        claims.check(claims.Claims(name="other"), "mychip", [])
    assert claims.unmatched(claims.Claims(rules=(rule,)), [case("op/a", 5)]) == ["copies/*"]
