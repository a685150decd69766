"""The model on its device: caches, and steps, eager or as recorded graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.llm.models.decoder import Decoder
from infinicore.llm.request import Request
from infinicore.llm.step import LayerCache, Step


class Runner:
    """Runs steps. A decode step, with one token per sequence, is recorded for each batch size
    (padded to the next of `_sizes`) and replayed. Other steps are padded too: each new shape has to
    be planned, which takes time and memory."""

    def __init__(
        self,
        model: Decoder,
        device: Any,
        dtype: Any,
        blocks: int,
        block_size: int,
        most_length: int,
        most_requests: int,
        graphs: bool = True,
        ranks: int = 1,
    ) -> None:
        self.model, self.device = model, device
        self.block_size, self.graphs = block_size, graphs
        self.width = -(-most_length // block_size)

        def zeros(heads: int, size: int) -> Tensor:
            return untouched_zeros((blocks, heads, block_size, size), dtype, device)

        self.caches = [
            LayerCache(zeros(*keys), None if values is None else zeros(*values))
            for keys, values in model.cache_shapes(ranks)
        ]
        self._sizes = batch_sizes(most_requests)
        self._recorded: dict[int, _Recorded] = {}

    def copy(self, source: int, target: int) -> None:
        """Copies one block of all caches to another."""
        for cache in self.caches:
            for tensor in cache:
                if tensor is not None:
                    tensor[target].copy_(tensor[source])

    def run(self, batch: Sequence[tuple[Request, int]]) -> Tensor:
        """Logits [sequences, vocab] of the last token of each sequence."""
        if self.graphs and all(count == 1 for _, count in batch):
            return self._replay(batch)
        hidden = self._forward(batch)
        lasts, place = [0] * self._size(batch), -1
        for i, (_, count) in enumerate(batch):
            place += count
            lasts[i] = place
        rows = infinicore.tensor(lasts, dtype=infinicore.int64).to(self.device)
        return self.model.logits(hidden.index_select(0, rows)).narrow(0, 0, len(batch))

    def later(self, batch: Sequence[tuple[Request, int]]) -> Later | None:
        """The most probable tokens of the last launched step, if they were chosen on the device."""
        if not self.graphs or any(count != 1 for _, count in batch):
            return None
        return self._recorded[self._size(batch)].later()

    def run_ahead(self, batch: Sequence[tuple[Request, int]]) -> Later:
        """Launches the step after the last launched one, with the tokens that it chooses."""
        return self._recorded[self._size(batch)].run_ahead(batch)

    def hidden(self, batch: Sequence[tuple[Request, int]]) -> Tensor:
        """Normalised hidden states [tokens, hidden] of all tokens."""
        return self._forward(batch).narrow(0, 0, sum(count for _, count in batch))

    def _forward(self, batch: Sequence[tuple[Request, int]]) -> Tensor:
        sequences, tokens = self._size(batch), sum(count for _, count in batch)
        is_decode = tokens == len(batch)
        step = self._inputs(sequences, sequences if is_decode else step_size(tokens))
        step.is_decode = is_decode
        longs, shorts = step.fill(batch)
        made = step.on(self.device, self.caches, longs, shorts)
        hidden: Tensor = self.model(made)
        return hidden

    def _inputs(self, sequences: int, tokens: int) -> _Inputs:
        return _Inputs(sequences, tokens, self.width, self.block_size)

    def _replay(self, batch: Sequence[tuple[Request, int]]) -> Tensor:
        size = self._size(batch)
        recorded = self._recorded.get(size)
        if recorded is None:
            recorded = self._recorded[size] = _Recorded(self, size)
        return recorded.run(batch).narrow(0, 0, len(batch))

    def _size(self, batch: Sequence[tuple[Request, int]]) -> int:
        return next(each for each in self._sizes if each >= len(batch))


class Staged:
    """Host memory that the device writes asynchronously."""

    def __init__(self, like: Tensor, pinned: bool) -> None:
        self.tensor = infinicore.empty(
            like.shape, dtype=like.dtype, device="cpu", pin_memory=pinned
        )
        # Queried once: the query waits for all uses of the tensor.
        self.array = self.tensor.numpy()


class Later:
    """Tokens on their way to the host."""

    def __init__(self, tokens: Tensor, host: Staged, event: Any) -> None:
        host.tensor.copy_(tokens, non_blocking=True)
        event.record()
        self._host, self._event = host, event

    def read(self, count: int) -> list[int]:
        self._event.synchronize()
        made: list[int] = self._host.array[:count].tolist()
        return made


class _Inputs:
    """The inputs of a step, in two arrays on the host, each copied to the device at once."""

    def __init__(self, sequences: int, tokens: int, width: int, block_size: int) -> None:
        import numpy as np

        self.sequences, self.tokens, self.width, self.size = sequences, tokens, width, block_size
        self.longs = np.zeros((3, tokens), np.int64)
        self.shorts = np.zeros(sequences * (width + 1) + sequences + 1, np.int32)
        self.tables = self.shorts[: sequences * width].reshape(sequences, width)
        self.lengths = self.shorts[sequences * width :][:sequences]
        self.starts = self.shorts[sequences * (width + 1) :]
        self.is_decode = False

    def fill(self, batch: Sequence[tuple[Request, int]], ahead: int = 0) -> tuple[Any, Any]:
        """`ahead`: for the step after the next, whose tokens are not known yet."""
        import numpy as np

        ids, positions, slots = self.longs
        place = 0
        for i, (request, count) in enumerate(batch):
            begin, end = request.kept + ahead, request.kept + ahead + count
            blocks = request.blocks
            self.tables[i, : len(blocks)] = blocks
            self.lengths[i], self.starts[i] = end, place
            if count == 1:
                if not ahead:
                    ids[place] = request.tokens(begin, end)[0]
                positions[place] = begin + request.first_position
                slots[place] = blocks[begin // self.size] * self.size + begin % self.size
            else:
                part = slice(place, place + count)
                ids[part] = request.tokens(begin, end)
                where = np.arange(begin, end)
                positions[part] = where + request.first_position
                table = np.asarray(blocks, np.int64)
                slots[part] = table[where // self.size] * self.size + where % self.size
            place += count
        # Padding is not cached and attends to nothing.
        slots[place:] = -1
        ids[place:], positions[place:] = 0, 0
        self.lengths[len(batch) :] = 0
        self.starts[len(batch) :] = (
            np.arange(place, place + len(self.starts) - len(batch)) if (self.is_decode) else place
        )
        return self.longs, self.shorts

    def on(self, device: Any, caches: list[LayerCache], longs: Any, shorts: Any) -> Step:
        return self.step(
            infinicore.from_numpy(longs, device=device),
            infinicore.from_numpy(shorts, device=device),
            caches,
        )

    def step(self, longs: Tensor, shorts: Tensor, caches: list[LayerCache]) -> Step:
        count = self.sequences * self.width
        return Step(
            ids=longs[0],
            positions=longs[1],
            slots=longs[2],
            tables=shorts.narrow(0, 0, count).view(self.sequences, self.width),
            lengths=shorts.narrow(0, count, self.sequences),
            starts=shorts.narrow(0, count + self.sequences, self.sequences + 1),
            caches=caches,
            is_decode=self.is_decode,
        )


class _Recorded:
    """A step of one token for each of `size` sequences, as a graph."""

    def __init__(self, runner: Runner, size: int) -> None:
        self._inputs = runner._inputs(size, size)
        self._inputs.is_decode = True
        longs, shorts = self._inputs.fill([])
        self._longs = infinicore.from_numpy(longs, device=runner.device)
        self._shorts = infinicore.from_numpy(shorts, device=runner.device)
        step = self._inputs.step(self._longs, self._shorts, runner.caches)
        # Run once eagerly, so that kernels are compiled and products are tuned outside the
        # recording.
        runner.model.best(runner.model.logits(runner.model(step)))
        with infinicore.record(runner.device) as made:
            self._logits = runner.model.logits(runner.model(step))
            self._best = runner.model.best(self._logits)
        self._graph = made.graph
        # Two, because the tokens of one step are read after the next step is launched.
        pinned = runner.device.type != "cpu"
        self._hosts = [Staged(self._best, pinned) for _ in range(2)]
        self._events = [infinicore.DeviceEvent(device=runner.device) for _ in range(2)]
        self._turn = 0

    def run(self, batch: Sequence[tuple[Request, int]]) -> Tensor:
        longs, shorts = self._inputs.fill(batch)
        self._longs.copy_(infinicore.from_numpy(longs))
        self._shorts.copy_(infinicore.from_numpy(shorts))
        self._graph.run()
        return self._logits

    def run_ahead(self, batch: Sequence[tuple[Request, int]]) -> Later:
        longs, shorts = self._inputs.fill(batch, ahead=1)
        self._longs[0].copy_(self._best)
        self._longs.narrow(0, 1, 2).copy_(infinicore.from_numpy(longs[1:]))
        self._shorts.copy_(infinicore.from_numpy(shorts))
        self._graph.run()
        return self.later()

    def later(self) -> Later:
        self._turn = 1 - self._turn
        return Later(self._best, self._hosts[self._turn], self._events[self._turn])


def untouched_zeros(shape: tuple[int, ...], dtype: Any, device: Any) -> Tensor:
    """Zeros; on the CPU, zero pages that the system allocates on first use."""
    if device.type != "cpu" or device.index:
        return infinicore.zeros(shape, dtype=dtype, device=device)
    import math
    import mmap

    pages = mmap.mmap(-1, max(math.prod(shape) * int(dtype.itemsize), 1))
    flat = infinicore.frombuffer(pages, dtype=infinicore.uint8)
    made: Tensor = flat.narrow(0, 0, math.prod(shape) * int(dtype.itemsize)).view(dtype)
    return made.view(*shape)


def step_size(tokens: int) -> int:
    """Rounds up to 1, 2, 4, 8, then multiples of 8, and from 256 on by at most a sixteenth."""
    if tokens <= 8:
        return 1 << (tokens - 1).bit_length()
    unit = 1 << max((tokens - 1).bit_length() - 5, 3)
    return -(-tokens // unit) * unit


def batch_sizes(most: int) -> list[int]:
    """1, 2, 4, 8, then multiples of 8."""
    made = [each for each in (1, 2, 4) if each < most]
    made += list(range(8, most, 8))
    return [*made, most]
