"""Runs a few cases of each operator under compute-sanitizer, and writes a summary.

    python tools/sanitize.py --limit 330 --jobs 16 --out docs/sanitizer.md

Needs an NVIDIA GPU, NVIDIA's compute-sanitizer on the PATH (or --sanitizer), the installed package
and what `pip install .[test]` brings. Run it in a checkout of the commit that is installed; where
there is no .git folder, --commit names it.

The cases are those of tests/operators/kernel_cases.py: first the small case of each operator with
every tool, then the others. A process runs many cases; if a tool reports anything in one, or it
does not come to its end, each of its cases runs again in a process of its own, so that every report
has its case. What did not run within --limit seconds is named in the summary.

Exit status: 0 if all ran and nothing was reported, 1 if something was reported or failed, 2 if the
time was not enough.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from operators.kernel_cases import KernelCase

TOP = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOP / "tests"), str(TOP)]

TOOLS = ("memcheck", "racecheck", "synccheck")
CASES_OF_PROCESS = 24
REPORTED = 9  # the exit status that is requested of the sanitizer after a report
RUNS, DONE, FAILED = "@@ runs ", "@@ done ", "@@ failed "


@dataclass(frozen=True)
class Job:
    tool: str
    cases: tuple[KernelCase, ...]
    number: int


@dataclass
class Results:
    clean: set[tuple[str, str]] = field(default_factory=set)  # tool, label
    reports: dict[tuple[str, str], str] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)


# ---- In the process under the sanitizer ---------------------------------------------------------


def run_cases(kind: str, listed: list[dict[str, Any]]) -> int:
    """Runs each case once, and prints what began and what is done."""
    from kit import Maker, open_runtime, operators
    from operators.kernel_cases import KernelCase

    # Tensors end where their memory ends: a guard would hide reads beyond them.
    operators.GUARD = 0
    rt = open_runtime()
    if rt.set_kind(kind) != "INFINI_STATUS_SUCCESS":
        print(f"no {kind} device: {rt.message()}", file=sys.stderr)
        return 1
    for fields in listed:
        case = KernelCase(**fields)
        label = case.label
        print(RUNS + label, flush=True)
        os.environ["INFINI_CUDA_ATTENTION"] = case.attention
        make = Maker(rt)
        try:
            case.run(make)
        except Exception as error:
            print(f"{FAILED}{label}: {' '.join(str(error).split())}", flush=True)
            if rt.code.DeviceSynchronize() != "Success":
                return 1  # nothing more runs in this process
        else:
            print(DONE + label, flush=True)
        make.end()
    return 0


# ---- In the process that starts them ------------------------------------------------------------


def reports_in(log: str) -> str:
    """What a tool reported, without the marks at the line's beginning; empty if it found nothing.
    A log without a summary is of a tool that did not come to its end."""
    lines = [line.removeprefix("=========").strip() for line in log.splitlines()]
    found = re.findall(r"^(?:ERROR|RACECHECK) SUMMARY: (\d+) ", "\n".join(lines), re.MULTILINE)
    if found and all(count == "0" for count in found):
        return ""
    if not found and len([line for line in lines if line]) <= 1:
        return "the tool wrote no summary"
    return "\n".join(line for line in lines if line and "COMPUTE-SANITIZER" not in line)


class Runner:
    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.results = Results()
        self.ends = time.monotonic() + options.limit if options.limit else float("inf")
        self.lock = threading.Condition()
        self.jobs: deque[Job] = deque()
        self.started = self.running = 0

    def add(self, tool: str, cases: Sequence[KernelCase], first: bool = False) -> None:
        job = Job(tool, tuple(cases), self.started)
        self.started += 1
        if first:
            self.jobs.appendleft(job)
        else:
            self.jobs.append(job)

    def work_off(self) -> None:
        """Until no job is left, and none runs that could add its cases again."""
        while time.monotonic() < self.ends:
            with self.lock:
                while not self.jobs and self.running:
                    self.lock.wait()
                if not self.jobs:
                    return
                job = self.jobs.popleft()
                self.running += 1
            try:
                self.run(job)
            finally:
                with self.lock:
                    self.running -= 1
                    self.lock.notify_all()

    def run(self, job: Job) -> None:
        log = self.work / f"{job.number}.log"
        listed = self.work / f"{job.number}.json"
        listed.write_text(json.dumps([asdict(case) for case in job.cases]))
        command = [
            *(self.options.sanitizer, "--tool", job.tool, "--log-file", str(log)),
            *("--error-exitcode", str(REPORTED), "--print-limit", "20"),
            *(sys.executable, __file__, "--device", self.options.device, "--cases", str(listed)),
        ]
        output, status = self.call(command)
        if status is None:
            return  # the time is over
        told = reports_in(log.read_text(errors="replace") if log.exists() else "")
        done = set(re.findall(rf"^{DONE}(.*)$", output, re.MULTILINE))
        failed = dict(re.findall(rf"^{FAILED}(.*?): (.*)$", output, re.MULTILINE))
        whole = not told and status == 0
        with self.lock:
            for case in reversed(job.cases):
                key = (job.tool, case.label)
                if whole and case.label in done:
                    self.results.clean.add(key)
                elif whole and case.label in failed:
                    self.results.failures[key] = failed[case.label]
                elif len(job.cases) > 1:
                    self.add(job.tool, [case], first=True)
                elif told:
                    self.results.reports[key] = told
                else:
                    last = output.strip().splitlines()[-1:] or [""]
                    self.results.failures[key] = f"exit status {status}: {last[0]}"

    def call(self, command: list[str]) -> tuple[str, int | None]:
        """Its output, and its exit status; none if the time was over before."""
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        left = self.ends - time.monotonic()
        try:
            output, _ = process.communicate(timeout=None if left == float("inf") else max(left, 0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "", None
        return output, process.returncode


def first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=TOP)
    except (OSError, subprocess.CalledProcessError):
        return ""
    lines = done.stdout.strip().splitlines()
    return lines[-1] if lines else ""


def commit(given: str | None) -> str:
    if given:
        return given
    head = first_line(["git", "rev-parse", "HEAD"])
    if not head:
        sys.exit("tools/sanitize.py: this is no git checkout: --commit must name the commit")
    changed = first_line(["git", "status", "--porcelain", "--untracked-files=no"])
    return head + (" with uncommitted changes" if changed else "")


def operator_of(label: str) -> str:
    return label.partition("-")[0]


def page(head: list[str], tools: list[str], planned: list[str], results: Results) -> str:
    """The summary, in Markdown."""
    lines = [
        "# compute-sanitizer",
        "",
        "A few cases of each operator (tests/operators/kernel_cases.py), under NVIDIA's",
        "compute-sanitizer. Written by `python tools/sanitize.py --out docs/sanitizer.md`.",
        "",
        *head,
        "",
        "| tool | operators | cases | clean | with reports | failed | not run |",
        "|---|---|---|---|---|---|---|",
    ]
    missing: dict[str, list[str]] = {}
    for tool in tools:
        clean = [label for label in planned if (tool, label) in results.clean]
        reported = [label for label in planned if (tool, label) in results.reports]
        failed = [label for label in planned if (tool, label) in results.failures]
        ran = {*clean, *reported, *failed}
        missing[tool] = [label for label in planned if label not in ran]
        counts = (len({operator_of(label) for label in ran}), len(planned), len(clean))
        counts += (len(reported), len(failed), len(missing[tool]))
        lines.append(f"| {tool} | {' | '.join(map(str, counts))} |")
    for title, found in (("Reports", results.reports), ("Failures", results.failures)):
        if found:
            lines += ["", f"## {title}", ""]
        for (tool, label), text in sorted(found.items()):
            shown = text.splitlines()
            lines += [f"- {tool}, `{label}`:", *(f"      {line}" for line in shown[:12])]
            lines += [f"      ... {len(shown) - 12} more lines"] if len(shown) > 12 else []
    for tool, labels in missing.items():
        if labels:
            names = ", ".join(f"`{label}`" for label in labels)
            lines += ["", f"## Not run: {tool}", "", names]
    return "\n".join(lines) + "\n"


def parse() -> argparse.Namespace:
    description, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="where the summary is written; else it is printed")
    parser.add_argument("--limit", type=float, default=0, help="seconds for all; 0: no limit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--tools", default=",".join(TOOLS), help="default: %(default)s")
    parser.add_argument("-k", default="", help="only cases whose label contains this")
    parser.add_argument("--small", action="store_true", help="only the small case of each operator")
    parser.add_argument("--device", default="nvidia", help="device type (default: %(default)s)")
    parser.add_argument("--commit", help="which commit is installed, where git cannot tell")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="the program")
    parser.add_argument("--logs", type=Path, help="a folder to keep the tools' logs in")
    parser.add_argument("--cases", type=Path, help=argparse.SUPPRESS)  # in the checked process
    return parser.parse_args()


def describe(options: argparse.Namespace, revision: str, seconds: float) -> list[str]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    facts = {
        "commit": f"`{revision}`",
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "device": first_line(query) or options.device,
        "sanitizer": first_line([options.sanitizer, "--version"]) or options.sanitizer,
        "time": f"{seconds:.0f} s with {options.jobs} processes at a time",
    }
    return [f"- {name}: {value}" for name, value in facts.items()]


def main() -> int:
    options = parse()
    if options.cases:
        return run_cases(options.device, json.loads(options.cases.read_text()))
    began = time.monotonic()
    revision = commit(options.commit)
    if not shutil.which(options.sanitizer):
        sys.exit(f"tools/sanitize.py: there is no program {options.sanitizer}")
    from kit.binding import root
    from operators.kernel_cases import kernel_cases

    os.environ["INFINI_TEST_ROOT"] = str(root())  # asking for it would start a process in each
    groups = [[case for case in group if options.k in case.label] for group in kernel_cases()]
    if options.small:
        groups = groups[:1]
    tools = options.tools.split(",")
    with tempfile.TemporaryDirectory() as folder:
        work = options.logs or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        runner = Runner(options, work)
        for cases in groups:
            parts = -(-len(cases) // CASES_OF_PROCESS)
            for tool in tools:
                for part in range(parts):
                    runner.add(tool, cases[part::parts])
        with ThreadPoolExecutor(options.jobs) as pool:
            workers = [pool.submit(runner.work_off) for _ in range(options.jobs)]
        for worker in workers:
            worker.result()
    planned = [case.label for cases in groups for case in cases]
    results = runner.results
    text = page(describe(options, revision, time.monotonic() - began), tools, planned, results)
    if options.out:
        options.out.write_text(text)
    print(text)
    if results.reports or results.failures:
        return 1
    return 0 if len(results.clean) == len(tools) * len(planned) else 2


if __name__ == "__main__":
    sys.exit(main())
