"""A case: inputs, keywords, where to find the result, and how close it must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .tensor import TensorSpec


def mapped(value: Any, function: Callable[[Any, str], Any], name: str) -> Any:
    """The value with `function(item, name)` for each item of nested tuples and lists."""
    if isinstance(value, (list, tuple)):
        return tuple(mapped(item, function, f"{name}_{i}") for i, item in enumerate(value))
    return function(value, name)


class TestCase:
    """`inputs` are TensorSpecs, numbers and tuples of them; so are values of `kwargs`.

    `output_spec`, or one of `output_specs` for each of `output_count` results, is passed as `out`;
    `kwargs={"out": 0}` passes the first input. `comparison_target` says what is compared: None for
    what the operator returns, "out", or the number of an input, or a list of such.
    """

    __test__ = False  # not pytest's

    def __init__(
        self,
        inputs: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        output_spec: TensorSpec | None = None,
        output_specs: Sequence[TensorSpec] | None = None,
        comparison_target: Any = None,
        description: str = "",
        tolerance: Mapping[str, float] | None = None,
        output_count: int = 1,
    ) -> None:
        if output_count == 1 and output_specs is not None:
            raise ValueError("TestCase: output_specs needs an output_count of 2 or more")
        if output_count > 1 and output_spec is not None:
            raise ValueError("TestCase: output_spec needs an output_count of 1")
        if output_specs is not None and len(output_specs) != output_count:
            raise ValueError(
                f"TestCase: {len(output_specs)} output_specs: expected {output_count}, output_count"
            )

        def named(item: Any, name: str) -> Any:
            if isinstance(item, TensorSpec):
                item.fill_name(name)
            return item

        self.inputs = [mapped(item, named, f"in_{i}") for i, item in enumerate(inputs)]
        mapped(output_specs or (), named, "out")
        self.kwargs = dict(kwargs or {})
        self.output_spec, self.output_specs = output_spec, output_specs
        self.output_count = output_count
        self.comparison_target = comparison_target
        self.description = description
        self.tolerance = dict(tolerance or {"atol": 1e-5, "rtol": 1e-3})

    def get_tensor_input_count(self) -> int:
        found: list[Any] = []
        mapped(self.inputs, lambda item, _: found.append(item), "")
        return sum(isinstance(item, TensorSpec) and not item.is_scalar for item in found)

    def __str__(self) -> str:
        words = [self.description] if self.description else []
        shown = mapped(self.inputs, lambda item, _: str(item), "")
        words += [str(item).replace("'", "") for item in shown]
        words += [f"{name}={value}" for name, value in self.kwargs.items()]
        if self.output_spec is not None:
            words.append(f"out={self.output_spec}")
        return ", ".join(words)
