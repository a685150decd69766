"""Stop strings in a streamed output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from infinicore.llm.llm import TextPieces


class Letters:
    """A tokenizer whose tokens are characters."""

    def stream(self) -> Any:
        return SimpleNamespace(add=chr, rest=str)


@pytest.mark.parametrize(
    ("stops", "text", "expected"),
    [
        (["ab", "xaa"], "..xaa", ".."),
        (["xaby", "ab"], "..xab-", "..x"),
        (["aab"], "aaab", "a"),
        (["b", "abc"], "abc", "a"),
        (["end"], "the en", "the en"),
    ],
)
def test_nothing_of_a_stop_text_comes_out(stops: list[str], text: str, expected: str) -> None:
    pieces, request = TextPieces(Letters(), stops), SimpleNamespace(output=[], finish_reason=None)
    out = ""
    for letter in text:
        request.output.append(ord(letter))
        if any(stop in "".join(map(chr, request.output)) for stop in stops):
            request.finish_reason = "stop"
        out += "".join(pieces.new(request))  # type: ignore[arg-type]
        if request.finish_reason:
            break
    request.finish_reason = request.finish_reason or "length"
    out += "".join(pieces.new(request))  # type: ignore[arg-type]
    assert out == expected
