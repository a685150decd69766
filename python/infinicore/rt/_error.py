"""The exception that every failing call of the runtime raises."""

from __future__ import annotations

from infinicore import _rt_enums as enums

# Hints, by the name of the error without its prefix. The library's message says what happened.
_HINTS = {
    "ErrorMemoryAllocation": "free memory, or give unused memory of pools back with MemPoolTrimTo",
    "ErrorNoDevice": "`infini doctor` lists the back ends and why they have no device",
    "ErrorInvalidDevice": "`infini info` lists the devices; set_kind() chooses their kind",
    "ErrorInvalidResourceHandle": "handles belong to one process and one device type, and end"
    " with their Destroy function or close()",
    "ErrorInvalidMemcpyDirection": "MemcpyDefault finds the direction from the addresses",
    "ErrorNotSupported": "the support table in the reference says which functions work where",
    "ErrorNotReady": "synchronize first, or ask with a query",
    "ErrorNotPermitted": "host functions must not call the runtime: hand the work to a thread of"
    " your own",
    "ErrorStreamCaptureUnsupported": "do this before the capture begins, or after it ended",
    "ErrorStreamCaptureInvalidated": "an earlier call spoiled the capture: end it, and capture"
    " again without that call",
    "ErrorStreamCaptureUnjoined": "let the capturing stream wait for an event of every other stream"
    " that joined the capture",
    "ErrorStreamCaptureImplicit": "use another stream than the null stream during a capture",
    "ErrorStreamCaptureWrongThread": "end the capture in the thread that began it, or begin it with"
    ' mode "relaxed"',
    "ErrorGraphExecUpdateFailure": "instantiate the changed graph anew",
    "ErrorPeerAccessNotEnabled": "enable it first with DeviceEnablePeerAccess",
}


class InfiniRTError(RuntimeError):
    """A call of the runtime failed.

    >>> try:
    ...     rt.Memcpy(1, 2, 4, rt.MemcpyHostToDevice)
    ... except rt.InfiniRTError as error:
    ...     print(error.code, error.function, error.argument)
    """

    code: enums.Error | int
    """The error code: a member of `rt.Error`."""
    name: str
    """The code's name in C."""
    function: str
    """The C function that failed."""
    argument: str | None
    """The name of the argument at fault, if it was one."""
    hint: str | None
    """What to do next, where there is general advice."""
    message: str
    """The library's sentence: function, argument, what was expected."""

    def __init__(self, code: int, name: str, message: str) -> None:
        import re  # slow to import, and not needed unless something fails

        super().__init__(code, name, message)
        try:
            self.code = enums.Error(code)
        except ValueError:
            self.code = code
        self.name = name
        self.message = message
        function = re.match(r"(infini\w+): ", message)
        self.function = function[1] if function else ""
        argument = re.search(r"argument \d+ \((\w+)\)|: (\w+) is ", message)
        self.argument = (argument[1] or argument[2]) if argument else None
        self.hint = _HINTS.get(name.removeprefix("infinirt"))

    def __str__(self) -> str:
        text = f"{self.message} [{self.name}, {int(self.code)}]"
        return f"{text}\n  hint: {self.hint}" if self.hint else text
