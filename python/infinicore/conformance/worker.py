"""A process that runs cases: ids on standard input, a line of JSON for each on standard output.

The back end's own output goes to standard error, whose end the runner shows after a crash.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
import traceback
from typing import Any, TextIO

from infinicore.conformance import suite

ASYNCHRONOUS = (2, 3)  # levels whose cases may leave work in streams when they fail


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    faulthandler.enable()
    suite.use()
    if sys.argv[1:2] == ["--list"]:
        return _list(answers, int(sys.argv[2]), sys.argv[3:] == ["--exhaustive"])
    from infinicore.conformance import cases

    cases.listener = lambda words: _tell(answers, {"progress": words})
    for line in sys.stdin:
        id = line.strip()
        result = _run(id)
        _tell(answers, {"id": id, **result})
        if result["soiled"]:
            os._exit(0)  # a regular exit might wait for the device
    return 0


def _list(answers: TextIO, level: int, exhaustive: bool) -> int:
    from infinicore.conformance.cases import all as every

    cases, missing = every.load(level, exhaustive=exhaustive)
    _tell(answers, {"cases": [case.as_json() for case in cases], "missing": missing})
    return 0


def _tell(answers: TextIO, what: dict[str, Any]) -> None:
    print(json.dumps(what), file=answers, flush=True)


def _run(id: str) -> dict[str, Any]:
    from infinicore.conformance.cases import Refused, Unavailable
    from infinicore.conformance.cases import all as every

    start = time.perf_counter()
    status, words, data, soiled = "pass", "", None, False
    try:
        case = every.find(id)
        if case.body is None:
            raise LookupError(f"there is no case {id}")
        data = _with_maker(case)
    except Unavailable as reason:
        status, words = "unavailable", str(reason)
    except Refused as reason:
        status, words = "refused", str(reason)
        data = getattr(reason, "data", None)
    except AssertionError as error:
        status, words, data = "fail", str(error), getattr(error, "data", None)
        soiled = case.level in ASYNCHRONOUS
    except Exception as error:
        lines = traceback.extract_tb(error.__traceback__)
        where = f" ({os.path.basename(lines[-1].filename)}:{lines[-1].lineno})" if lines else ""
        status, words = "fail", f"{type(error).__name__}: {error}{where}"
        soiled = True  # the device may be in any state: the next case gets a new process
    return {
        "status": status,
        "words": words,
        "seconds": round(time.perf_counter() - start, 6),
        "data": data,
        "soiled": soiled,
    }


def _with_maker(case: Any) -> Any:
    """Frees what a case created, unless the process ends: work left by a faulty device may never
    complete, or run in memory that has been freed."""
    from infinicore.conformance.cases import Refused, Unavailable
    from kit import Maker, open_runtime

    make = Maker(open_runtime())
    try:
        result = case.body(make)
    except (Unavailable, Refused):
        make.end()
        raise
    except AssertionError:
        if case.level not in ASYNCHRONOUS:
            make.end()
        raise
    make.end()
    return result


if __name__ == "__main__":
    sys.exit(main())
