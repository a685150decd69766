"""Recurrent networks. Weights are not initialised: load them from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions.recurrence.cells import _gru_state, _lstm_state
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.layers import new_parameter
from infinicore.nn.module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


@function
def _tanh_step(gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return infinicore.tanh(gates + F.linear(h, weight, bias))


@function
def _relu_step(gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return F.relu(gates + F.linear(h, weight, bias))


@function
def _gru_step(gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return _gru_state(gates, F.linear(h, weight, bias), h)


@function
def _lstm_step(
    gates: Tensor, h: Tensor, c: Tensor, weight: Tensor, bias: Tensor | None, project: Tensor | None
) -> tuple[Tensor, Tensor]:
    made, cell = _lstm_state(gates + F.linear(h, weight, bias), c)
    return (made if project is None else F.linear(made, project)), cell


_STEPS: dict[str, Callable[..., Tensor]] = {
    "RNN_TANH": _tanh_step,
    "RNN_RELU": _relu_step,
    "GRU": _gru_step,
}
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """The base of recurrent networks: layers, directions and their weights.

    >>> infinicore.nn.RNNBase("GRU", 4, 8)
    RNNBase(4, 8)
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        expect(mode in _GATES, name, "mode", repr(mode), f"one of {', '.join(_GATES)}")
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(f"{name}: expected hidden_size and num_layers of 1 or more")
        if not 0 <= proj_size < hidden_size or (proj_size and mode != "LSTM"):
            raise ValueError(
                f"{name}: proj_size is {proj_size}: expected less than hidden_size, and an LSTM"
            )
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        out, rows = proj_size or hidden_size, _GATES[mode] * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * (2 if bidirectional else 1)
            for end in self._ends(layer):
                sizes: dict[str, Any] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                if bias:
                    sizes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                for label, size in sizes.items():
                    setattr(self, label + end, new_parameter(size, device, dtype))

    def _ends(self, layer: int) -> list[str]:
        """Suffixes of the names of a layer's weights, one for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 2 if self.bidirectional else 1]

    def flatten_parameters(self) -> None:
        """For compatibility with torch: does nothing."""

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """The states of the last layer, and the final states of all layers."""
        name = type(self).__name__
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}: input is {type(input).__name__}: expected a tensor; packed sequences are"
                " not supported: give each length on its own, or pad and ignore the rest"
            )
        if input.ndim not in (2, 3):
            raise ValueError(f"{name}: input has {input.ndim} dimensions: expected 2 or 3")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: the last size of input is {input.shape[-1]}: expected {self.input_size}"
            )
        batched = input.ndim == 3
        x = input if batched else input.unsqueeze(1)
        x = x.transpose(0, 1) if batched and self.batch_first else x
        states = self._states(hx, x, batched)
        x, ends = self._layers(x, states)
        if not batched:
            x, ends = x.squeeze(1), [each.squeeze(1) for each in ends]
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, tuple(ends) if self.mode == "LSTM" else ends[0]

    def _states(self, hx: Any, x: Tensor, batched: bool) -> list[Tensor]:
        """The initial states, [layers * directions, N, size] each: h, and c of an LSTM."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size, self.hidden_size]
        sizes = sizes[: 2 if self.mode == "LSTM" else 1]
        if hx is None:
            kind: Any = {"dtype": x.dtype, "device": x.device}
            return [infinicore.zeros(count, x.shape[1], size, **kind) for size in sizes]
        given = list(hx) if self.mode == "LSTM" and isinstance(hx, (tuple, list)) else [hx]
        if len(given) != len(sizes) or not all(isinstance(each, Tensor) for each in given):
            wanted = "two tensors (h, c)" if self.mode == "LSTM" else "a tensor"
            raise TypeError(f"{type(self).__name__}: hx is {type(hx).__name__}: expected {wanted}")
        given = given if batched else [each.unsqueeze(1) for each in given]
        for each, size in zip(given, sizes, strict=True):
            if tuple(each.shape) != (count, x.shape[1], size):
                raise RuntimeError(
                    f"{type(self).__name__}: a state has shape {tuple(each.shape)}: expected"
                    f" {(count, x.shape[1], size)}"
                )
        return given

    def _layers(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        last: list[list[Tensor]] = [[] for _ in states]
        place = 0
        for layer in range(self.num_layers):
            outputs = []
            for is_back, end in enumerate(self._ends(layer)):
                made, now = self._run(x, [each[place] for each in states], end, bool(is_back))
                place += 1
                outputs.append(made)
                for kept, each in zip(last, now, strict=True):
                    kept.append(each)
            x = outputs[0] if len(outputs) == 1 else infinicore.cat(outputs, -1)
            if self.dropout and self.training and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout)
        return x, [infinicore.stack(each) for each in last]

    def _run(
        self, x: Tensor, states: list[Tensor], end: str, is_back: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """One direction of one layer: one product for all inputs, then step by step."""
        weights = [getattr(self, f"{label}{end}", None) for label in ("weight_hh", "bias_hh")]
        project = getattr(self, f"weight_hr{end}", None)
        bias = getattr(self, f"bias_ih{end}", None)
        gates = F.linear(x, getattr(self, f"weight_ih{end}"), bias)
        made = []
        steps = range(x.shape[0])
        for step in reversed(steps) if is_back else steps:
            if self.mode == "LSTM":
                states = list(_lstm_step(gates[step], *states, *weights, project))
            else:
                states = [_STEPS[self.mode](gates[step], *states, *weights)]
            made.append(states[0])
        if not made:
            raise RuntimeError(f"{type(self).__name__}: input has no steps: expected 1 or more")
        return infinicore.stack(made[::-1] if is_back else made), states

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        shown: dict[str, Any] = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
        }
        shown |= {"dropout": 0.0, "bidirectional": False}
        for label, usual in shown.items():
            if getattr(self, label) != usual:
                text += f", {label}={getattr(self, label)}"
        return text


class RNN(RNNBase):
    """Layers of tanh(W_ih x + b_ih + W_hh h + b_hh), or of relu.

    >>> infinicore.nn.RNN(4, 8, num_layers=2)
    RNN(4, 8, num_layers=2)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity is {nonlinearity!r}: expected 'tanh' or 'relu'")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            *(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout),
            *(bidirectional, 0, device, dtype),
        )
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Layers of gated recurrent units.

    >>> infinicore.nn.GRU(4, 8, bidirectional=True)
    GRU(4, 8, bidirectional=True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout),
            *(bidirectional, 0, device, dtype),
        )


class LSTM(RNNBase):
    """Layers of long short-term memories. The state is a pair (h, c).

    >>> infinicore.nn.LSTM(4, 8, batch_first=True)
    LSTM(4, 8, batch_first=True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout),
            *(bidirectional, proj_size, device, dtype),
        )


class RNNCellBase(Module):
    """One step of a recurrent network."""

    chunks: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.chunks * hidden_size
        self.weight_ih = new_parameter((rows, input_size), device, dtype)
        self.weight_hh = new_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter((rows,), device, dtype) if bias else None)

    def _step(self, x: Tensor, hx: Any, work: Callable[..., Any]) -> Any:
        if x.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: input has {x.ndim} dimensions: expected 1 or 2"
            )
        if hx is None:
            zero = infinicore.zeros(*x.shape[:-1], self.hidden_size, dtype=x.dtype, device=x.device)
            hx = (zero, zero) if self.chunks == 4 else zero
        return work(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias=False"


class RNNCell(RNNCellBase):
    """tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.

    >>> infinicore.nn.RNNCell(4, 8)
    RNNCell(4, 8)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNNCell: nonlinearity is {nonlinearity!r}: expected 'tanh' or 'relu'"
            )
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        work = getattr(infinicore, f"rnn_{self.nonlinearity}_cell")
        return self._step(input, hx, work)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        text = super().extra_repr()
        is_usual = self.nonlinearity == "tanh"
        return text if is_usual else f"{text}, nonlinearity={self.nonlinearity}"


class GRUCell(RNNCellBase):
    """A gated recurrent unit.

    >>> infinicore.nn.GRUCell(4, 8)
    GRUCell(4, 8)
    """

    chunks = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, hx, infinicore.gru_cell)  # type: ignore[no-any-return]


class LSTMCell(RNNCellBase):
    """A long short-term memory, which gives the pair (h, c).

    >>> infinicore.nn.LSTMCell(4, 8)
    LSTMCell(4, 8)
    """

    chunks = 4

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        return self._step(input, hx, infinicore.lstm_cell)  # type: ignore[no-any-return]
