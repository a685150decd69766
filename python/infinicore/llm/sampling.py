"""From logits to tokens."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import infinicore
from infinicore._tensor import Tensor

_CANDIDATES = 256  # candidates of a row: most samples are among them
_PENALTIES = ("presence_penalty", "frequency_penalty")


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are sampled, and when to stop.

    temperature: 0 takes the most probable token.
    top_k, top_p, min_p: only the `top_k` most probable tokens, only those that make up the
    probability `top_p`, only those at least `min_p` times as probable as the best.
    repetition_penalty, presence_penalty, frequency_penalty: tokens that occurred are less probable.
    stop: texts that end the output and are excluded from it. seed: the same seed gives the same
    tokens, whatever else runs. logprobs: how many alternatives to report with each token, besides
    its own probability. json_schema: the output is JSON that satisfies it (needs the package
    `llguidance`).
    """

    max_tokens: int = 128
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    seed: int | None = None
    logprobs: int | None = None
    json_schema: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        def check(name: str, ok: bool, expected: str) -> None:
            if not ok:
                raise ValueError(
                    f"SamplingParams: {name} is {getattr(self, name)!r}: expected {expected}"
                )

        for name in ("temperature", "top_p", "min_p", "repetition_penalty", *_PENALTIES):
            value = getattr(self, name)
            check(name, isinstance(value, (int, float)) and math.isfinite(value), "a number")
        check("max_tokens", isinstance(self.max_tokens, int) and self.max_tokens > 0, "1 or more")
        check("temperature", self.temperature >= 0, "0 or more")
        check("top_k", isinstance(self.top_k, int) and self.top_k >= 0, "0 (all) or more")
        check("top_p", 0 < self.top_p <= 1, "a number above 0, at most 1")
        check("min_p", 0 <= self.min_p <= 1, "a number from 0 to 1")
        check("repetition_penalty", self.repetition_penalty > 0, "a number above 0")
        for name in _PENALTIES:
            check(name, -2 <= getattr(self, name) <= 2, "a number from -2 to 2")
        count = 0 if self.logprobs is None else self.logprobs
        check("logprobs", isinstance(count, int) and 0 <= count <= 20, "0 to 20, or None")
        check("seed", self.seed is None or isinstance(self.seed, int), "a whole number, or None")
        ids = self.stop_token_ids
        are_ids = isinstance(ids, (list, tuple)) and all(isinstance(each, int) for each in ids)
        check("stop_token_ids", are_ids, "a list of token numbers")
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        texts = isinstance(self.stop, (list, tuple)) and all(
            isinstance(text, str) and text for text in self.stop
        )
        check("stop", texts, "texts with one letter or more")

    @property
    def changes_logits(self) -> bool:
        """Whether some logits of the row are changed first, which is done on the host."""
        return (
            self.repetition_penalty != 1
            or self.presence_penalty != 0
            or self.frequency_penalty != 0
            or self.json_schema is not None
        )

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0 and not self.changes_logits and self.logprobs is None


@dataclass
class Chosen:
    token: int
    logprob: float | None = None
    top: list[tuple[int, float]] = field(default_factory=list)


class Row:
    """The best candidates of a row of logits in descending order, and the logarithm of the sum of
    the exponentials of the whole row over the temperature."""

    def __init__(self, values: Any, indices: Any, whole: Any, is_whole: bool = False) -> None:
        self.values, self.indices, self.is_whole = values, indices, is_whole
        self._whole = whole  # returns all logits of the row when they are needed

    def sorted(self) -> Row:
        import numpy as np

        logits = self._whole()
        order = np.argsort(-logits, kind="stable")
        return Row(logits[order], order, lambda: logits, True)

    def draw(self, params: SamplingParams, uniform: float, total: float) -> int | None:
        """The token for a number in [0, 1), or None if it is not among the candidates. `total` is
        the sum of the weights of the whole row, in units of the best."""
        import numpy as np

        if params.temperature == 0:
            return int(self.indices[0])
        weights = np.exp((self.values - self.values[0]).astype(np.float64) / params.temperature)
        sums = np.cumsum(weights)
        if self.is_whole:
            total = float(sums[-1])
        is_whole = sums[-1] >= total
        if not is_whole and params.top_k > len(weights):
            return None
        if 0 < params.top_k < len(weights) or (params.top_k and not is_whole):
            weights, sums = weights[: params.top_k], sums[: params.top_k]
            total, is_whole = float(sums[-1]), True
        if params.top_p < 1:
            if not is_whole and sums[-1] < params.top_p * total:
                return None
            count = int(np.searchsorted(sums, params.top_p * total)) + 1
            weights, sums = weights[:count], sums[:count]
            total, is_whole = float(sums[-1]), True
        if params.min_p > 0:
            count = int(np.searchsorted(-weights, -params.min_p, side="right"))
            if count == len(weights) and not is_whole:
                return None
            sums = sums[: max(count, 1)]
            total, is_whole = float(sums[-1]), True
        place = int(np.searchsorted(sums, uniform * total, side="right"))
        if place >= len(sums):
            return int(self.indices[len(sums) - 1]) if is_whole else None
        return int(self.indices[place])


class Chooser:
    """The state of one request: its random numbers, and what has occurred."""

    def __init__(self, params: SamplingParams, grammar: Any = None) -> None:
        self.params, self.grammar = params, grammar
        self._random = random.Random(params.seed)

    def choose(self, row: Row, total: float, shift: float) -> Chosen:
        """`shift` is the logarithm of the sum of the exponentials of the row."""
        params = self.params
        uniform = self._random.random() if params.temperature else 0.0
        token = row.draw(params, uniform, total)
        if token is None:
            row = row.sorted()
            token = row.draw(params, uniform, total)
            assert token is not None
        if params.logprobs is None:
            return Chosen(token)
        values, indices = row.values, row.indices
        own = float(values[list(indices).index(token)]) - shift
        top = [
            (int(i), float(v) - shift)
            for i, v in zip(indices[: params.logprobs], values[: params.logprobs], strict=True)
        ]
        return Chosen(token, own, top)

    def adjust(self, logits: Any, prompt: Sequence[int], output: Sequence[int]) -> None:
        """Penalties and the grammar, in place."""
        import numpy as np

        p = self.params
        if p.repetition_penalty != 1:
            seen = np.unique(np.asarray([*prompt, *output], dtype=np.int64))
            values = logits[seen]
            logits[seen] = np.where(
                values > 0, values / p.repetition_penalty, values * p.repetition_penalty
            )
        if output and (p.presence_penalty or p.frequency_penalty):
            seen, counts = np.unique(np.asarray(output, dtype=np.int64), return_counts=True)
            logits[seen] -= p.presence_penalty + p.frequency_penalty * counts
        if self.grammar is not None:
            self.grammar.mask(logits)


def choose(
    logits: Tensor, choosers: Sequence[Chooser], texts: Sequence[tuple[list[int], list[int]]]
) -> list[Chosen]:
    """A token for each row of logits [rows, vocab]; `texts` are the prompts and outputs so far."""
    if all(each.params.is_greedy for each in choosers):
        return [Chosen(token) for token in infinicore.argmax(logits, -1).tolist()]
    import numpy as np

    rows = len(choosers)
    temperatures = [each.params.temperature or 1.0 for each in choosers]
    if any(each.params.changes_logits for each in choosers):
        host = logits.cpu().numpy().copy()
        for i, chooser in enumerate(choosers):
            if chooser.params.changes_logits:
                chooser.adjust(host[i], *texts[i])
        logits = infinicore.from_numpy(host, device=logits.device)
    count = min(_CANDIDATES, logits.shape[-1])
    values, indices = infinicore.topk(logits, count)
    scales = infinicore.tensor(temperatures, dtype=infinicore.float32).to(logits.device)
    sums = infinicore.logsumexp(logits / scales.unsqueeze(-1), -1).cpu().numpy()
    plain = infinicore.logsumexp(logits, -1).cpu().numpy()
    values, indices = values.cpu().numpy(), indices.cpu().numpy()
    made = []
    for i in range(rows):
        total = float(np.exp(np.float64(sums[i]) - np.float64(values[i][0]) / temperatures[i]))
        whole = count == logits.shape[-1]
        row = Row(values[i], indices[i], lambda i=i: logits[i].cpu().numpy(), whole)
        made.append(choosers[i].choose(row, total, float(plain[i])))
    return made
