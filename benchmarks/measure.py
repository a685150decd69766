"""Measures this machine: `python benchmarks/measure.py --name NAME`.

Runs the suites, each in a process of its own, and puts their rows with a stamp (commit, date,
versions, threads) into `benchmarks/results/NAME.json`; suites that were not run keep theirs there.
`python benchmarks/page.py` then rewrites docs/performance.md. Nothing else should run meanwhile.

    python benchmarks/measure.py --name laptop                       # runtime, overhead, operators,
                                                                     # collectives on the CPU
    python benchmarks/measure.py --name h200 --device nvidia         # operators on the GPU
    python benchmarks/measure.py --only wild --wild 500 --budget 600 # random cases, see wild.py
    python benchmarks/measure.py --only runtime --rows 'Python call' --quick --out /tmp/trial

Suites that need torch are left out where it is not installed. `--rows` measures some rows, to try
the program: such a run is not a result, so it needs `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import report
import results
import wild

HERE = Path(__file__).parent
ON_CPU = ("runtime", "overhead", "operators", "collectives", "wild")
ON_DEVICE = ("operators", "wild")
NEED_TORCH = {"operators", "wild"}


def main() -> int:
    options = parse()
    commit = options.commit or results.commit_of_tree()  # before a result file changes
    suites: dict[str, results.Suite] = {}
    failed = False
    for name in options.only:
        if name in NEED_TORCH and not find_spec("torch"):
            print(f"{name}: left out, because torch is not installed", file=sys.stderr)
            continue
        began = time.monotonic()
        print(f"\n==== {name}\n", flush=True)
        found, code = run(name, options)
        if found is None:
            print(f"{name}: no result: {name}.py ended with {code}", file=sys.stderr)
            failed = True
            continue
        failed |= bool(code)
        stamp = results.stamp(options.quick, options.threads, commit)
        key = name if options.device == "cpu" else f"{name}_device"
        if "processor" in found:  # of the device
            stamp["host"] = stamp["processor"]
        suites[key] = {**stamp, "seconds": round(time.monotonic() - began), **found}
    if not suites:
        return 1
    path = options.out / f"{options.name}.json"
    results.merge(path, options.name, suites)
    print(f"\n{', '.join(suites)}: {path}")
    for row in (row for suite in suites.values() for row in suite["rows"] if row.get("failed")):
        print(f"FAILED: {json.dumps(row)}", file=sys.stderr)
    return int(failed)


def parse() -> argparse.Namespace:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    processors = len(os.sched_getaffinity(0))
    usual = f"of {','.join(ON_CPU)}"
    parser.add_argument("--only", type=report.patterns, default=[], metavar="SUITES", help=usual)
    parser.add_argument("--device", default="cpu", help="device type: cpu, nvidia")
    parser.add_argument("--quick", action="store_true", help="shorter, less exact")
    parser.add_argument("--name", default="", help="of the machine: names the file")
    parser.add_argument("--rows", default="", help="some rows: 'add*F32,softmax'; needs --out")
    parser.add_argument("--threads", type=int, default=processors, help="of all sides")
    parser.add_argument("--ranks", type=int, default=2, help="of the collectives")
    parser.add_argument("--wild", type=int, default=500, metavar="N", help="how many random cases")
    parser.add_argument("--seed", type=int, help="of the random cases; a new one if not given")
    parser.add_argument("--budget", type=float, help="seconds for the random cases")
    parser.add_argument("--out", type=Path, default=results.FOLDER, help="folder of the file")
    parser.add_argument("--commit", default="", help="what is measured, where git does not know")
    options = parser.parse_args()
    known = ON_CPU if options.device == "cpu" else ON_DEVICE
    options.only = options.only or list(known)
    for name in options.only:
        if name not in known:
            parser.error(f"--only: {name} is none of {', '.join(known)} on {options.device}")
    if options.rows and options.out == results.FOLDER:
        parser.error("--rows: some rows are no result of a machine; name another folder by --out")
    words = f"{results.processor()} {processors}"
    options.name = options.name or re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")
    return options


def run(name: str, options: argparse.Namespace) -> tuple[dict[str, Any] | None, int]:
    """What a suite's script wrote, and how it ended: 1 when a row failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.json"
        script = "operators" if name == "wild" else name
        command = [sys.executable, str(HERE / f"{script}.py"), "--json", str(file)]
        command += ["--rows", options.rows] * bool(options.rows) + ["--quick"] * options.quick
        if name == "wild":
            command += ["--wild", str(options.wild)]
            for word in ("seed", "budget"):
                if (value := getattr(options, word)) is not None:
                    command += [f"--{word}", str(value)]
        if name == "collectives":
            command += ["--ranks", str(options.ranks)]
        else:
            command += ["--threads", str(options.threads)]
        if options.device != "cpu":
            command += ["--device", options.device]
        code = subprocess.run(command, check=False).returncode
        found = json.loads(file.read_text()) if file.exists() else None
        if found and name == "wild":
            found["rows"] = wild.worst(found)  # the seed repeats the others
        return found, code


if __name__ == "__main__":
    sys.exit(main())
