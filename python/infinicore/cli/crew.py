"""Processes that live and die together: their output line by line, and the end of all with one.

There is one thread, and one loop: over the processes' output, and over signals. So a process can be
started with settings made between fork and exec, and nothing has to be locked.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LONGEST_LINE = 1 << 20  # a longer one is cut: memory is not without end
LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
# Between a signal that asks and the next that is ruder; the last is KILL, after the grace period.
PATIENCE_AFTER_INTERRUPT = 2.0
# The failure of one rank makes others fail, and the first to end need not be the cause: those that
# end by themselves soon are given the time to say why, and are named too.
SETTLING = 0.5
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None)


@dataclass
class Child:
    """A process to start: a rank, or a launcher or agent that starts ranks itself."""

    name: str  # for messages
    command: Sequence[str]
    environment: dict[str, str] | None = None
    prefix: bytes = b""
    rank: int | None = None
    # What an agent reads. Its input stays open; that it ends tells the agent to stop its ranks.
    orders: bytes | None = None
    process: subprocess.Popen[bytes] | None = None
    held: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Failure:
    name: str
    how: str
    code: int  # as a shell would say it
    killed: bool  # by a signal

    @classmethod
    def of(cls, name: str, code: int) -> Failure:
        """What subprocess says of an end, in words."""
        if code >= 0:
            return cls(name, f"exited with code {code}", code, False)
        known = {number.value: number.name for number in signal.Signals}
        return cls(name, f"was killed by {known.get(-code, f'signal {-code}')}", 128 - code, True)


@dataclass
class Crew:
    """Runs children until all have ended well, or one has not."""

    children: list[Child]
    grace: float = 5.0
    job: str = ""  # agents sign what they report with it
    reports: bool = False  # this is an agent: failures are reported in a form that its crew reads
    leader: int | None = None  # a descriptor whose end tells an agent to stop

    def __post_init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.failures: list[Failure] = []
        self.decision = 0.0  # when the others are stopped
        self.code: int | None = None  # decided then
        self.stages: list[tuple[float, signal.Signals]] = []  # of stopping: when, and what to send
        self.broken_pipe = False

    def run(self) -> int:
        """The exit code: of the child that failed first, 128 and the signal that ended it, or 0."""
        # What ranks leave behind comes to this process, which can then tell when it is gone.
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with self._signals(), self.selector:
            if self.leader is not None:
                self.selector.register(self.leader, selectors.EVENT_READ, self._hear_leader)
            try:
                for child in self.children:
                    if not self.failures:
                        self._start(child)
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

    def _start(self, child: Child) -> None:
        parent = os.getpid()

        def die_with_parent() -> None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

        try:
            child.process = subprocess.Popen(
                list(child.command),
                env=child.environment,
                stdin=subprocess.DEVNULL if child.orders is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                close_fds=False,  # launchers of MPI hand their ranks descriptors
                start_new_session=True,  # and so a process group: all of it is stopped
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            reason = f"cannot be started: {child.command[0]}: {error.strerror}"
            self._fail(Failure(child.name, reason, code, True))
            return
        for stream, target in ((child.process.stdout, 1), (child.process.stderr, 2)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            child.held[target] = b""
            self.selector.register(stream, selectors.EVENT_READ, (child, target))
        if child.orders is not None and child.process.stdin is not None:
            with contextlib.suppress(OSError):
                child.process.stdin.write(child.orders)
                child.process.stdin.flush()

    # ---- The loop --------------------------------------------------------------------------------

    def _running(self) -> list[Child]:
        return [c for c in self.children if c.process is not None and c.process.returncode is None]

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
        for child in self._running():
            assert child.process is not None
            code = child.process.poll()
            if code is not None:
                self._flush(child)
                # One that starts ranks fails with them; they have told already.
                if code != 0 and (child.rank is not None or not self.failures):
                    self._fail(Failure.of(child.name, code))

    def _fail(self, failure: Failure) -> None:
        if self.code is not None:
            return  # it has been stopped
        if not self.failures:
            self.decision = time.monotonic() + SETTLING
        self.failures.append(failure)
        if self.reports:
            _write(2, _mark(self.job) + json.dumps(asdict(failure)).encode() + b"\n")

    def _decide(self) -> None:
        """Who is to blame: a rank that was killed rather than one that ended, else the first."""
        if not self.failures or self.code is not None:
            return
        named = sorted(self.failures, key=lambda failure: not failure.killed)
        self.code = named[0].code
        if not self.reports:
            words = [f"{failure.name} {failure.how}" for failure in named[:4]]
            words += [f"{len(named) - 4} more"] if len(named) > 4 else []
            stopping = ": stopping the others" if self._running() else ""
            self._tell(", ".join(words) + stopping)
        self.stop(signal.SIGTERM)

    def _tell(self, words: str) -> None:
        _write(2, f"infini launch: {words}\n".encode())

    # ---- Stopping --------------------------------------------------------------------------------

    def stop(self, first: signal.Signals) -> None:
        """Asks all to end; those that are still there after the grace period are killed."""
        now = time.monotonic()
        if first == signal.SIGINT:  # a Python program cleans up; one in native code can't hear it
            then = now + min(PATIENCE_AFTER_INTERRUPT, self.grace)
            self.stages = [(now, first), (then, signal.SIGTERM)]
        else:
            self.stages = [(now, first)]
        self.stages.append((now + self.grace, signal.SIGKILL))

    def _signal_all(self, number: signal.Signals) -> None:
        for child in self.children:
            if child.process is None:
                continue
            # Agents stop their ranks, and tell the rest of what these say, when their input ends.
            if child.process.stdin is not None and not child.process.stdin.closed:
                with contextlib.suppress(OSError):
                    child.process.stdin.close()
                if number != signal.SIGKILL:
                    # They keep the grace period themselves; it has just begun.
                    self.stages = [(time.monotonic() + self.grace + 2, signal.SIGKILL)]
                    continue
            if child.orders is None or number == signal.SIGKILL:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.process.pid, number)

    def _end_groups(self) -> None:
        """What ranks have started and left behind."""
        groups = [child.process.pid for child in self.children if child.process is not None]
        groups = [group for group in groups if _signal_group(group, signal.SIGTERM)]
        end = time.monotonic() + self.grace
        while groups and time.monotonic() < end:
            time.sleep(0.02)
            groups = [group for group in groups if _signal_group(group, 0)]
        for group in groups:
            _signal_group(group, signal.SIGKILL)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals come through a pipe, into the loop."""
        reader, writer = os.pipe()
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        # What nohup, or a shell for its background, has told this process to ignore stays ignored.
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
                if not self.reports:
                    self._tell(f"{number.name}: stopping all ranks")
                self.stop(number)
            elif number == signal.SIGINT:  # once more: now
                self.stages = [(time.monotonic(), signal.SIGKILL)]

    def _hear_leader(self) -> None:
        assert self.leader is not None
        try:
            ended = os.read(self.leader, 4096) == b""
        except OSError:
            ended = True
        if ended:
            self.selector.unregister(self.leader)
            if self.code is None:
                self.code = 128 + signal.SIGTERM
                self.stop(signal.SIGTERM)

    # ---- Output ----------------------------------------------------------------------------------

    def _read(self, stream: Any, child: Child, target: int) -> bool:
        """Passes whole lines on; False when there is nothing more now."""
        try:
            data = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(stream)
            stream.close()
            return False
        text = child.held[target] + data
        # A return at the very end may be half of a line's end.
        most = len(text) - text.endswith(b"\r")
        end = 1 + max(text.rfind(b"\n", 0, most), text.rfind(b"\r", 0, most))
        lines, rest = LINE.findall(text[:end]), text[end:]
        if len(rest) > LONGEST_LINE:
            lines.append(rest + b"\n")
            rest = b""
        child.held[target] = rest
        self._pass_on(child, target, lines)
        return True

    def _pass_on(self, child: Child, target: int, lines: list[bytes]) -> None:
        mark = _mark(self.job)
        if self.job and target == 2 and not self.reports:
            for line in lines:
                if mark in line:
                    self._fail(Failure(**json.loads(line.partition(mark)[2])))
            lines = [line for line in lines if mark not in line]
        if lines and not self.broken_pipe:
            try:
                _write(target, b"".join(child.prefix + line for line in lines))
            except BrokenPipeError:
                self.broken_pipe = True
                self.code = 128 + signal.SIGPIPE if self.code is None else self.code
                self.stop(signal.SIGTERM)

    def _flush(self, child: Child) -> None:
        """What an ended child has said; a last line without an end gets one."""
        assert child.process is not None
        for stream, target in ((child.process.stdout, 1), (child.process.stderr, 2)):
            assert stream is not None
            while not stream.closed and self._read(stream, child, target):
                pass
            rest, child.held[target] = child.held[target], b""
            if rest:
                self._pass_on(child, target, [rest.rstrip(b"\r") + b"\n"])

    def _drain(self) -> None:
        for child in self.children:
            if child.process is not None:
                self._flush(child)
                streams: tuple[IO[bytes] | None, ...] = (
                    child.process.stdout,
                    child.process.stderr,
                    child.process.stdin,
                )
                for stream in streams:
                    if stream is not None:
                        with contextlib.suppress(OSError):
                            stream.close()


def _signal_group(group: int, number: int) -> bool:
    """Whether there was somebody to hear it."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _mark(job: str) -> bytes:
    return f"\x1einfini launch {job} ".encode()


def _write(target: int, data: bytes) -> None:
    stream = sys.stdout if target == 1 else sys.stderr
    stream.flush()
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:  # somebody has made our output so
            with selectors.DefaultSelector() as ready:
                ready.register(target, selectors.EVENT_WRITE)
                ready.select()
