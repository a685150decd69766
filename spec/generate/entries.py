"""The entry points of the aligned face: each checks its arguments and calls the back end's own
function, if it has one, or the core's software."""

from __future__ import annotations

from .. import Api, First
from ..model import Function, Group, Param, declare
from . import text

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    return {
        f"src/entries_{group.name}.cc": group_entries(group)
        for group in api.groups
        if any(not function.same_as for function in group.functions)
    }


def group_entries(group: Group) -> str:
    bodies = "\n".join(entry(function) for function in group.functions if not function.same_as)
    return f"""\
// Entry points: {group.title.lower()}.
// {text.NOTE}
#include "call.h"
#include "impl.h"

using namespace infini::rt;

{bodies}"""


def entry(function: Function) -> str:
    params = [param.c for param in function.params]
    if function.returns != "infinirtError_t":  # GetErrorName, GetErrorString: a look-up, no call
        look_up = {"GetErrorName": "error_name", "GetErrorString": "error_string"}[function.name]
        lines = [text.call(declare(function.returns, function.c_name), params, " {")]
        lines += [f"    return {look_up}({function.params[0].name});"]
        return "\n".join([*lines, "}", ""])
    lines = [text.call(declare(function.returns, function.c_name), params, " try {")]
    lines += [f"    {line}" for line in _body(function)]
    # Host allocations can fail anywhere; no exception may reach a C program.
    lines += ["} catch (...) {", f"    return Call::caught(Function::{function.name});"]
    return "\n".join([*lines, "}", ""])


def _body(function: Function) -> list[str]:
    lines = [f"Call call(Function::{function.name});"]
    checks = [
        line for index, param in enumerate(function.params, 1) for line in _check(param, index)
    ]
    if not function.anywhere:
        lines.append("if (!call.ready()) return call.error();")
    if function.served:
        lines += checks
    if not function.anywhere and not function.of_the_core:
        lines += _own(function, [] if function.served else checks)
    if not function.served:
        reason = f'"{function.unsupported}"'
        return [*lines, text.call("return call.unsupported", [reason], ";", 4).lstrip()]
    passed = ["call"]
    for index, param in enumerate(function.params, 1):
        if param.handle:
            lines += _look_up(function, param, index)
        passed.append(f"*{param.name}_" if param.handle else param.name)
    call = f"impl::{function.name}"
    if function.group == "error":  # they report the last error and must not set it
        return [*lines, text.call(f"return {call}", passed, ";", 4).lstrip()]
    head, tail = _ending(function, call)
    return [*lines, text.call(head, passed, tail, 4).lstrip()]


def _ending(function: Function, call: str) -> tuple[str, str]:
    """The code around the arguments of the implementing call."""
    if "waits" in function.tags:
        return f"return call.done(call.waited({call}", "));"
    return f"return call.done({call}", ");"


def _own(function: Function, checks: list[str]) -> list[str]:
    """A call of the back end's own function. Its handles are its own, too: the core's handles,
    which are recognizable, belong to other device types."""
    take = f"if (auto own = call.own<decltype(&{function.c_name})>()) {{"
    if len(take) > text.WIDTH - 4:
        take = take.replace(" = ", " =\n            ")
    lines = list(checks)
    arguments = [param.name for param in function.params]
    if "across" in function.tags:
        cross = text.call("return call.done(wait_across", ["call", *arguments], ");", 12)
        lines += [f"if (call.across({', '.join(arguments[:2])}))", cross.removeprefix(" " * 8)]
    else:
        lines += [
            f'if (call.strange({param.name}, {index}, "{param.name}")) return call.error();'
            for index, param in enumerate(function.params, 1)
            if param.handle
        ]
    made = next((p.name for p in function.params if p.type == "infinirtEvent_t *"), "")
    if function.name == "EventDestroy":
        lines.append("forget_event(event);")
    head, tail = (
        ("return call.done(note_event(call, own", f", {made}));")
        if made
        else _ending(function, "own")
    )
    lines.append(text.call(head, arguments, tail, 8).lstrip())
    return [take, *(f"    {line}" for line in lines), "}"]


def _look_up(function: Function, param: Param, index: int) -> list[str]:
    assert param.handle
    class_, look_up = param.handle
    name = param.name
    lines = [f'{class_} *{name}_ = call.{look_up}({name}, {index}, "{name}");']
    if "across" in function.tags and look_up == "event":
        given = ["call", *(param.name for param in function.params)]
        crossing = text.call("return call.done(wait_across", given, ");", 8).lstrip()
        lines += [f"if (!{name}_ && call.crossing())", f"    {crossing}"]
    return [*lines, f"if (!{name}_) return call.error();"]


def _check(param: Param, index: int) -> list[str]:
    where = f'{index}, "{param.name}"'
    if param.handle:
        return []
    if param.required and not param.is_pointer:
        # A pointer to a function is no pointer to void for C++, but POSIX makes it one.
        pointer = f"reinterpret_cast<void *>({param.name})"
        return [f"if (!call.require({pointer}, {where})) return call.error();"]
    if param.role in ("out", "inout", "in", "out?", "in?"):
        verb = "readable" if param.role.startswith("in") and param.role != "inout" else "writable"
        check = f"!call.{verb}({param.name}, {_size(param)}, {where})"
        return [f"if ({'' if param.required else f'{param.name} && '}{check}) return call.error();"]
    if param.role == "text":
        check = f"call.writable({param.name}, 1, {where})"
        return [f"if (!{check}) return call.error();"]
    if param.role in ("list", "list?"):
        check = f"!call.readable_list({param.name}, {param.count}, {_size(param)}, {where})"
        given = f"{param.name} && " if param.role == "list?" else ""
        return [f"if ({given}{check}) return call.error();"]
    return []


def _size(param: Param) -> str:
    """Of what a pointer points to; texts and untyped memory count as one byte."""
    opaque = param.type.removeprefix("const ") in ("void *", "char *")
    return "1" if opaque else f"sizeof *{param.name}"
