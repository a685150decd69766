"""The parsers of the spec's text form, and rules for its contents."""

from __future__ import annotations

import pytest

from spec import api, first, model
from spec.load import call_of
from spec.model import Function, Param, SpecError


def parse(text: str) -> Function:
    (function,) = model.parse_functions(text, "group")
    return function


def test_function_with_roles_defaults_and_tags() -> None:
    function = parse("""
        Fetch(fill(n) infinirtGraphNode_t *nodes, inout size_t *n,
                list?(m) const int *keys, size_t m, infinirtStream_t stream = 0)
            Fetch nodes,
            at once. [unsupported: no reason] [symbol: Fetch_v2]
    """)
    assert function.returns == "infinirtError_t"
    assert function.params == (
        Param("infinirtGraphNode_t *", "nodes", "fill", "n"),
        Param("size_t *", "n", "inout"),
        Param("const int *", "keys", "list?", "m"),
        Param("size_t", "m"),
        Param("infinirtStream_t", "stream", default="0"),
    )
    assert function.doc == "Fetch nodes, at once."
    assert not function.served
    assert function.unsupported == "no reason"
    assert function.tags["symbol"] == "Fetch_v2"


def test_return_type() -> None:
    assert parse("const char *Name(int code)\n    Name it.").returns == "const char *"


@pytest.mark.parametrize(
    "text",
    [
        "Broken(void *p)\n    A pointer without a role.",
        "Broken(list(n) const int *p)\n    Nothing to count with.",
        "Broken\n    Not a function.",
    ],
)
def test_mistakes_are_reported(text: str) -> None:
    with pytest.raises(SpecError):
        parse(text)


def test_nested_structs() -> None:
    (struct,) = model.parse_structs("""
        struct Outer [24 bytes]
            int kind
            union:
                struct box:
                    void *address
                    size_t sizes[2]
                int number
            int last
    """)
    kind, union, last = struct.fields
    assert (kind.name, union.type, union.name, last.name) == ("kind", "union", "", "last")
    assert [field.name for field in union.fields] == ["box", "number"]
    assert union.fields[0].fields[1].dims == (2,)


def test_macro_values() -> None:
    values = {macro.name: macro.value for macro in api.macros}
    assert values["infinirtEventInterprocess"] == 4
    assert values["infinirtCpuDeviceId"] == -1
    assert values["infinirtStreamPerThread"] == 2
    assert values["infinirtStreamAttrValue"] is None


@pytest.mark.parametrize("function", api.functions + first.functions, ids=lambda f: f.name)
def test_description(function: Function) -> None:
    assert function.doc.endswith(".")
    assert len(function.doc) <= 200, "two lines are enough"


def test_counts() -> None:
    assert len(api.functions) >= 180
    assert sum(function.served for function in api.functions) >= 175


def test_errors_have_texts() -> None:
    assert all(value.doc for value in api.errors.values)


def test_first_generation_is_complete() -> None:
    assert len(first.functions) == 36  # 35, and the graph launch in its second spelling
    derived = [function for function in first.functions if call_of(function)]
    assert len(derived) >= 25
    assert {f"INFINI_DTYPE_{name}" for name in first.dtype_bytes} | {"INFINI_DTYPE_INVALID"} == {
        value.name for value in first.enum("infiniDtype_t").values
    }
