"""The ranks of this host: their output line by line, and the end of all when one fails.

One thread runs one loop over the ranks' output and signals, so code may run between fork and exec,
and no locks are needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LONGEST_LINE = 1 << 20  # longer ones are split, which bounds the memory
LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
# The part of the grace period between SIGINT and SIGTERM; SIGKILL follows at its end. Not a fixed
# time: servers that were given a long one finish their work, and a second signal would stop that.
PATIENCE_AFTER_INTERRUPT = 0.4
# The failure of one rank makes others fail, and the first to end need not be the cause: ranks that
# end by themselves within this many seconds are reported too.
SETTLING = 0.5
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None)


@dataclass
class Rank:
    """A process to start."""

    number: int
    command: Sequence[str]
    environment: dict[str, str]
    prefix: bytes = b""
    process: subprocess.Popen[bytes] | None = None
    held: dict[int, bytes] = field(default_factory=dict)  # incomplete lines, by descriptor


@dataclass
class Failure:
    rank: int
    how: str
    code: int  # as a shell reports it
    killed: bool  # by a signal

    @classmethod
    def of(cls, rank: int, code: int) -> Failure:
        """From the return code that subprocess gives."""
        if code >= 0:
            return cls(rank, f"exited with code {code}", code, False)
        known = {number.value: number.name for number in signal.Signals}
        return cls(rank, f"was killed by {known.get(-code, f'signal {-code}')}", 128 - code, True)


@dataclass
class Supervisor:
    """Runs ranks until all have succeeded, or one has failed."""

    ranks: list[Rank]
    grace: float = 5.0
    whole_lines: bool = True  # of output, so that those of several ranks do not mix

    def __post_init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.failures: list[Failure] = []
        self.decision = 0.0  # when the others are stopped
        self.code: int | None = None  # decided then
        self.stages: list[tuple[float, signal.Signals]] = []  # when to send which signal
        self.broken_pipe = False

    def run(self) -> int:
        """The exit code: of the rank that failed first, 128 and the signal that ended it, or 0."""
        # Orphans of the ranks become children of this process, which then sees them end.
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with self._signals(), self.selector:
            try:
                for rank in self.ranks:
                    if not self.failures:
                        self._start(rank)
                while self._running():
                    self._turn()
                self._decide()
            except BaseException:
                self._signal_all(signal.SIGKILL)
                raise
            self._end_groups()
            self._drain()
        return self.code or 0

    # ---- Starting --------------------------------------------------------------------------------

    def _start(self, rank: Rank) -> None:
        parent = os.getpid()

        def die_with_parent() -> None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

        try:
            rank.process = subprocess.Popen(
                list(rank.command),
                env=rank.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # and so a process group: all of it is stopped
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            reason = f"cannot be started: {rank.command[0]}: {error.strerror}"
            self._fail(Failure(rank.number, reason, code, True))
            return
        for stream, target in ((rank.process.stdout, 1), (rank.process.stderr, 2)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            rank.held[target] = b""
            self.selector.register(stream, selectors.EVENT_READ, (rank, target))

    # ---- The loop --------------------------------------------------------------------------------

    def _running(self) -> list[Rank]:
        return [r for r in self.ranks if r.process is not None and r.process.returncode is None]

    def _turn(self) -> None:
        times = [self.stages[0][0]] if self.stages else []
        times += [self.decision] if self.failures and self.code is None else []
        wait = min([1.0, *(max(0.0, each - time.monotonic()) for each in times)])
        for key, _ in self.selector.select(wait):
            if isinstance(key.data, tuple):
                self._read(key.fileobj, *key.data)
            else:
                key.data()
        self._reap()
        if self.failures and time.monotonic() >= self.decision:
            self._decide()
        while self.stages and time.monotonic() >= self.stages[0][0]:
            self._signal_all(self.stages.pop(0)[1])

    def _reap(self) -> None:
        for rank in self._running():
            assert rank.process is not None
            code = rank.process.poll()
            if code is not None:
                self._flush(rank)
                if code != 0:
                    self._fail(Failure.of(rank.number, code))

    def _fail(self, failure: Failure) -> None:
        if self.code is not None:
            return  # it was stopped
        if not self.failures:
            self.decision = time.monotonic() + SETTLING
        self.failures.append(failure)

    def _decide(self) -> None:
        """Which rank's code to exit with: one that was killed, else the first that failed."""
        if not self.failures or self.code is not None:
            return
        named = sorted(self.failures, key=lambda failure: not failure.killed)
        self.code = named[0].code
        words = [f"rank {failure.rank} {failure.how}" for failure in named[:4]]
        words += [f"{len(named) - 4} more"] if len(named) > 4 else []
        stopping = ": stopping the others" if self._running() else ""
        self._report(", ".join(words) + stopping)
        self.stop(signal.SIGTERM)

    def _report(self, words: str) -> None:
        _write(2, f"infini launch: {words}\n".encode())

    # ---- Stopping --------------------------------------------------------------------------------

    def stop(self, first: signal.Signals) -> None:
        """Asks all ranks to end, and kills those that still run after the grace period."""
        now = time.monotonic()
        if first == signal.SIGINT:  # Python programs clean up; native code may ignore it
            then = now + PATIENCE_AFTER_INTERRUPT * self.grace
            self.stages = [(now, first), (then, signal.SIGTERM)]
        else:
            self.stages = [(now, first)]
        self.stages.append((now + self.grace, signal.SIGKILL))

    def _signal_all(self, number: signal.Signals) -> None:
        for rank in self.ranks:
            if rank.process is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(rank.process.pid, number)

    def _end_groups(self) -> None:
        """Stops the processes that ranks have started and left running."""
        groups = [rank.process.pid for rank in self.ranks if rank.process is not None]
        groups = [group for group in groups if _signal_group(group, signal.SIGTERM)]
        end = time.monotonic() + self.grace
        while groups and time.monotonic() < end:
            time.sleep(0.02)
            groups = [group for group in groups if _signal_group(group, 0)]
        for group in groups:
            _signal_group(group, signal.SIGKILL)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals are read from a pipe in the loop."""
        reader, writer = os.pipe()
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        # Signals ignored since the start (nohup, a shell's background job) stay ignored.
        heard = [n for n in STOPPING if signal.getsignal(n) != signal.SIG_IGN]
        before = {
            number: signal.signal(number, lambda *_: None) for number in (*heard, signal.SIGCHLD)
        }
        woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.selector.register(reader, selectors.EVENT_READ, lambda: self._hear(reader))
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reader)
            os.close(writer)

    def _hear(self, reader: int) -> None:
        for byte in os.read(reader, 4096):
            if byte not in STOPPING:
                continue
            number = signal.Signals(byte)
            self._decide()
            if self.code is None:
                self.code = 128 + byte
                self._report(f"{number.name}: stopping all ranks")
                self.stop(number)
            elif number == signal.SIGINT:  # the second one kills
                self.stages = [(time.monotonic(), signal.SIGKILL)]

    # ---- Output ----------------------------------------------------------------------------------

    def _read(self, stream: Any, rank: Rank, target: int) -> bool:
        """Passes complete lines on; False when there is nothing to read now."""
        try:
            data = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(stream)
            stream.close()
            return False
        if not self.whole_lines:
            self._pass_on(rank, target, [data])
            return True
        text = rank.held[target] + data
        # A carriage return at the very end may be the first half of a CRLF.
        most = len(text) - text.endswith(b"\r")
        end = 1 + max(text.rfind(b"\n", 0, most), text.rfind(b"\r", 0, most))
        lines, rest = LINE.findall(text[:end]), text[end:]
        if len(rest) > LONGEST_LINE:
            lines.append(rest + b"\n")
            rest = b""
        rank.held[target] = rest
        self._pass_on(rank, target, lines)
        return True

    def _pass_on(self, rank: Rank, target: int, lines: list[bytes]) -> None:
        if lines and not self.broken_pipe:
            try:
                _write(target, b"".join(rank.prefix + line for line in lines))
            except BrokenPipeError:
                self.broken_pipe = True
                self.code = 128 + signal.SIGPIPE if self.code is None else self.code
                self.stop(signal.SIGTERM)

    def _flush(self, rank: Rank) -> None:
        """The remaining output of a rank that has ended; a last line without an end gets one."""
        assert rank.process is not None
        for stream, target in ((rank.process.stdout, 1), (rank.process.stderr, 2)):
            assert stream is not None
            while not stream.closed and self._read(stream, rank, target):
                pass
            rest, rank.held[target] = rank.held[target], b""
            if rest:
                self._pass_on(rank, target, [rest.rstrip(b"\r") + b"\n"])

    def _drain(self) -> None:
        for rank in self.ranks:
            if rank.process is not None:
                self._flush(rank)
                for stream in (rank.process.stdout, rank.process.stderr):
                    if stream is not None:
                        with contextlib.suppress(OSError):
                            stream.close()


def _signal_group(group: int, number: int) -> bool:
    """Whether the process group still exists."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _write(target: int, data: bytes) -> None:
    stream = sys.stdout if target == 1 else sys.stderr
    stream.flush()
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:  # the descriptor was made non-blocking
            with selectors.DefaultSelector() as ready:
                ready.register(target, selectors.EVENT_WRITE)
                ready.select()
