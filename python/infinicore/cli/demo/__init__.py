"""`infini demo`: what the package does, shown and checked on one device."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from typing import NamedTuple

import infinicore
from infinicore import rt
from infinicore.cli.demo import graphs, layer, operators, ranks, streams
from infinicore.cli.demo.rows import Row, Setting, use
from infinicore.cli.package import version
from infinicore.cli.table import table
from infinicore.cli.terminal import Progress, Terminal

LONGEST_BAR = 24
BESIDE_BARS = 71  # columns that the rest of the table needs
EXPLANATION_WIDTH, EXPLANATION_LINES = 88, 8


class Part(NamedTuple):
    title: str
    show: Callable[[Setting], list[Row]]


PARTS = (
    Part("Streams: queues that run concurrently", streams.show),
    Part("Graph: work captured once, then replayed", graphs.show),
    Part(
        "Operators: worst error compared with float64, in units in the last place (ulp)",
        operators.show,
    ),
    Part("Transformer layer: one token, eager and recorded", layer.show),
    Part("Ranks: all-reduce, every rank gets the sum", ranks.show),
)


class NoSuchDeviceError(Exception):
    """The requested device does not exist."""


def run(wanted: str | None, copy_bytes: int) -> int:
    """Returns the exit status: 0, 1 for a wrong result, 2 for a missing device. The device that
    was shown remains the thread's current device."""
    terminal = Terminal()
    try:
        kind, index = choose(wanted)
    except NoSuchDeviceError as error:
        print(f"infini demo: {error}", file=sys.stderr)
        return 2
    if kind == "cpu" and wanted is None:
        explain_absence(terminal)
    elif kind != "cpu" and (reason := first_trouble(terminal, kind, index)):
        ending = "Showing the CPU instead." if wanted is None else ""
        explain(terminal, f"{kind}:{index} is present, but does not work:", [reason], ending)
        if wanted is not None:
            return 1
        kind, index = "cpu", 0
    use(f"{kind}:{index}")
    try:
        return show(terminal, kind, index, copy_bytes)
    except KeyboardInterrupt:
        terminal.print("interrupted")
        return 130


# ---- Which device -------------------------------------------------------------------------------


def choose(wanted: str | None) -> tuple[str, int]:
    """Type and ordinal of the device to show."""
    if wanted is None:
        try:
            device = rt.Device.current()
        except rt.InfiniRTError as error:  # INFINI_DEVICE names a missing device
            raise NoSuchDeviceError(error.message) from None
        return device.kind, device.index
    try:
        number, index = infinicore.device(wanted)._underlying
    except ValueError as error:
        raise NoSuchDeviceError(f"--device: {str(error).removeprefix('device: ')}") from None
    found = [backend for backend in rt.backends() if backend.device_type == number]
    count = max((backend.device_count for backend in found), default=0)
    if not count:
        reason = found[0].reason if found else "no back end for it is installed"
        raise NoSuchDeviceError(
            f"--device {wanted}: there is no such device here: {reason}\n"
            "`infini info` lists the devices that are here, `infini doctor` reports more"
        )
    if index >= count:
        raise NoSuchDeviceError(f"--device {wanted}: there are {count} of them, counted from 0")
    return found[0].name, index


def first_trouble(terminal: Terminal, kind: str, index: int) -> str:
    """The error of the first kernel on a device; empty if it works."""
    device = f"{kind}:{index}"
    try:
        with terminal.waiting(f"Starting {device}"):
            use(device)
            one = infinicore.ones(8)
            (one + one).tolist()
    except Exception as error:  # any error is reported to the user
        recorded = next((b.reason for b in rt.backends() if b.name == kind), "")
        return recorded or str(error)
    return ""


def explain_absence(terminal: Terminal) -> None:
    reasons = [f"{b.name}: {b.reason}" for b in rt.backends() if not b.device_count]
    if reasons:
        explain(terminal, "No accelerator can be used:", reasons, "Showing the CPU.")


def explain(terminal: Terminal, trouble: str, reasons: list[str], ending: str = "") -> None:
    terminal.print(terminal.colour("yellow", trouble))
    for reason in reasons:
        lines = reason.splitlines()
        if len(lines) > EXPLANATION_LINES:  # compiler messages may be long
            lines[EXPLANATION_LINES:] = ["..."]
        for line in lines:
            wrapped = textwrap.wrap(line, EXPLANATION_WIDTH - 2)
            terminal.print(textwrap.indent("\n".join(wrapped), "  "))
    terminal.print(terminal.colour("dim", f"`infini doctor` tells more. {ending}".rstrip()))
    terminal.print()


# ---- The demo -----------------------------------------------------------------------------------


def show(terminal: Terminal, kind: str, index: int, copy_bytes: int) -> int:
    start = time.monotonic()
    place = terminal.colour("bold", f"{kind}:{index}")
    terminal.print(f"infinicore {version()} on {place}, {rt.Device(index, kind).name}\n")
    results: list[tuple[str, list[Row]]] = []
    with terminal.progress(len(PARTS)) as progress:
        setting = Setting(kind, index, copy_bytes, progress.step)
        for part in PARTS:
            results.append((part.title, rows_of(part, setting, progress)))
    if not terminal.is_interactive:
        terminal.print()
    terminal.print(report(terminal, results))
    checked = [row.is_right for _, rows in results for row in rows if row.is_right is not None]
    seconds = time.monotonic() - start
    if all(checked):
        words = terminal.colour("green", f"All {len(checked)} results are right")
        terminal.print(f"\n{words}; it took {seconds:.0f} s.")
        return 0
    words = f"{checked.count(False)} of {len(checked)} results are wrong"
    terminal.print(f"\n{terminal.colour('red', words)}: `infini doctor` prints a report to send.")
    return 1


def rows_of(part: Part, setting: Setting, progress: Progress) -> list[Row]:
    """The rows of a part; one that raises gets a row with the error, and the others continue."""
    progress.begin(part.title.partition(":")[0])
    try:
        return part.show(setting)
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return [Row(f"failed: {type(error).__name__}", False, note=first_line)]


def report(terminal: Terminal, results: list[tuple[str, list[Row]]]) -> str:
    """The table: a heading for each part, its rows, and bars that compare its numbers."""
    lines: list[str | tuple[str, ...]] = []
    for title, rows in results:
        head, colon, rest = title.partition(":")
        lines += [""] if lines else []
        lines += [terminal.colour("bold", head) + terminal.colour("dim", colon + rest)]
        longest = max((row.amount for row in rows if row.amount is not None), default=0.0)
        lines += [cells(terminal, row, longest) for row in rows]
    return table(("what", "result", "figure", ""), lines)


def cells(terminal: Terminal, row: Row, longest: float) -> tuple[str, ...]:
    result = {
        True: terminal.colour("green", "ok"),
        False: terminal.colour("red", "WRONG"),
        None: "",
    }[row.is_right]
    bar = ""
    if row.amount is not None and longest > 0:
        length = min(LONGEST_BAR, max(8, terminal.width - BESIDE_BARS))
        bar = terminal.bar(row.amount / longest, length)
        bar = terminal.colour("cyan", bar) + " " * (length - len(bar) if bar and row.note else 0)
    note = terminal.colour("dim" if row.is_right is not False else "red", row.note)
    return f"  {row.what}", result, row.figure, "  ".join(filter(None, (bar, note)))
