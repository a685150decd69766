"""The manifest of claims: the level that a device claims, and its exceptions.

    [device]
    name = "mychip"              # optional; must be the device type of the run
    level = 4                    # optional; a run that reaches less fails
    simulated = true             # optional; for a vendor's simulated library

    [[unsupported]]              # never: not run
    cases = "op/*/F64/*"         # a pattern of case ids, or a list of them
    reason = "the chip has no float64"

    [[expected_failure]]         # not yet: run; one that passes is reported as stale
    cases = ["op/sort/*"]
    reason = "ties are not stable, to be fixed in 1.2"

The same as JSON is read from a file whose name ends in .json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from infinicore.conformance.cases import LEVELS

KINDS = ("unsupported", "expected_failure")
REQUIRED_BELOW = 3  # every device has memory, streams and events


class ClaimsError(Exception):
    """The manifest is malformed, or has a claim that is not allowed."""


@dataclass(frozen=True)
class Rule:
    kind: str
    patterns: tuple[str, ...]
    reason: str

    def matches(self, id: str) -> bool:
        return any(fnmatchcase(id, pattern) for pattern in self.patterns)


@dataclass(frozen=True)
class Claims:
    name: str = ""
    level: int | None = None
    simulated: bool = False
    rules: tuple[Rule, ...] = field(default=())

    def rule(self, id: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.matches(id)), None)


def read(path: str) -> Claims:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ClaimsError(f"{path}: {error}") from None
    try:
        return parse(_decoded(path, text))
    except ClaimsError as error:
        raise ClaimsError(f"{path}: {error}") from None
    except ValueError as error:  # raised by either decoder
        raise ClaimsError(f"{path}: {error}") from None


def _decoded(path: str, text: str) -> Any:
    if path.endswith(".json"):
        return json.loads(text)
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib.loads(text)
    from infinicore.conformance import toml_subset

    return toml_subset.loads(text)


def parse(given: Any) -> Claims:
    if not isinstance(given, dict):
        raise ClaimsError(f"expected tables, got {type(given).__name__}")
    _known(given, ("device", *KINDS), "the manifest")
    device = given.get("device", {})
    if not isinstance(device, dict):
        raise ClaimsError("device: expected a table, [device]")
    _known(device, ("name", "level", "simulated"), "[device]")
    level = device.get("level")
    if level is not None and (type(level) is not int or not 0 <= level < len(LEVELS)):
        raise ClaimsError(f"[device] level: expected 0 to {len(LEVELS) - 1}, got {level!r}")
    name, simulated = device.get("name", ""), device.get("simulated", False)
    if not isinstance(name, str):
        raise ClaimsError(f"[device] name: expected a string, got {name!r}")
    if not isinstance(simulated, bool):
        raise ClaimsError(f"[device] simulated: expected true or false, got {simulated!r}")
    rules = [rule for kind in KINDS for rule in _rules(kind, given.get(kind, []))]
    return Claims(name, level, simulated, tuple(rules))


def _known(table: dict[str, Any], words: Sequence[str], where: str) -> None:
    for word in table:
        if word not in words:
            raise ClaimsError(f"{where} has no {word!r}; expected one of {', '.join(words)}")


def _rules(kind: str, given: Any) -> list[Rule]:
    if not isinstance(given, list):
        raise ClaimsError(f"{kind}: expected [[{kind}]], with two brackets on each side")
    rules = []
    for number, entry in enumerate(given, 1):
        where = f"[[{kind}]] number {number}"
        if not isinstance(entry, dict):
            raise ClaimsError(f"{where}: expected a table")
        _known(entry, ("cases", "reason"), where)
        cases = entry.get("cases")
        patterns = [cases] if isinstance(cases, str) else cases
        if not isinstance(patterns, list) or not patterns:
            raise ClaimsError(f"{where} cases: expected a pattern or a list of them, got {cases!r}")
        if not all(isinstance(pattern, str) and pattern for pattern in patterns):
            raise ClaimsError(f"{where} cases: expected strings, got {cases!r}")
        reason = entry.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise ClaimsError(f"{where} reason: expected a sentence, got {reason!r}")
        rules.append(Rule(kind, tuple(patterns), reason.strip()))
    return rules


def check(claims: Claims, device: str, cases: Sequence[dict[str, Any]]) -> None:
    """Checks the manifest against the run: the device type, and the levels required of every
    device."""
    if claims.name and claims.name != device:
        raise ClaimsError(f"[device] name: it is for {claims.name!r}, the run is on {device!r}")
    for case in cases:
        rule = claims.rule(case["id"])
        if (
            rule
            and rule.kind == "unsupported"
            and 0 <= case["level"] < REQUIRED_BELOW
            and not case["optional"]
        ):
            raise ClaimsError(
                f"unsupported {', '.join(rule.patterns)}: {case['id']} is of level {case['level']},"
                " which every device must have; use expected_failure until it works"
            )


def unmatched(claims: Claims, cases: Sequence[dict[str, Any]]) -> list[str]:
    """Patterns that match no case of a complete run: misspelt, or for cases that no longer
    exist."""
    return [
        pattern
        for rule in claims.rules
        for pattern in rule.patterns
        if not any(fnmatchcase(case["id"], pattern) for case in cases)
    ]
