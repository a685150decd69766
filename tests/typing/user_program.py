"""A program as users write it: its types are checked strictly, it is not run."""

from __future__ import annotations

from collections.abc import Sequence

import infinicore
from infinicore import Operand, Tensor, nn
from infinicore.nn import functional as F  # noqa: N812


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm = nn.RMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.norm(x)
        result: Tensor = self.down(F.silu(self.gate(h)) * self.up(h))
        return x + result


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = infinicore.tril(infinicore.ones(q.shape[-2], k.shape[-2], dtype=infinicore.bool))
    scores = infinicore.where(mask, scores, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


def sample(logits: Tensor, k: int, temperature: float) -> int:
    values, places = infinicore.topk(logits / temperature, k, dim=-1)
    cumulative = F.softmax(values, dim=-1).cumsum(-1)
    chosen = (cumulative < infinicore.rand(1)).sum()
    token: int = places[chosen].item()
    return token


def arithmetic(x: Tensor, out: Tensor) -> Tensor:
    infinicore.add(x, 1, out=out)
    infinicore.mul(2.0, x)
    y = 2 * x + 1 - x / 3.0
    y += x
    y.mul_(2)
    z = infinicore.maximum(y.abs(), x.clamp(min=0.0)).sum(dim=(0, -1), keepdim=True)
    total: float = z.float().mean().item()
    return (z > total) & ~(z == 0)


def views(x: Tensor, dims: Sequence[int]) -> list[int]:
    y = x[1:, ..., None].permute(*dims).reshape(-1)
    y[0] = 1.0
    return list(y.shape)


@infinicore.function
def softcap(input: Operand, *, cap: float = 30.0) -> Tensor:
    return (input / cap).tanh() * cap


def recorded(x: Tensor, weight: Tensor) -> Tensor:
    with infinicore.record() as made:
        y = softcap(F.linear(x, weight), cap=5.0)
    x.copy_(infinicore.randn(*x.shape))
    made.graph.run()
    return y


@infinicore.graph
def step(x: Tensor) -> Tensor:
    return F.gelu(x) * 2


def devices() -> dict[str, int]:
    where = infinicore.device("cpu", 0)
    start = infinicore.DeviceEvent(enable_timing=True)
    end = infinicore.DeviceEvent(enable_timing=True)
    start.record()
    infinicore.zeros(4, dtype=infinicore.float16, device=where).to(infinicore.float32)
    end.record()
    end.synchronize()
    milliseconds: float = start.elapsed_time(end)
    print(milliseconds)
    infinicore.sync_stream()
    return infinicore.memory_stats()


@infinicore.no_grad()
def evaluated(model: nn.Module, x: Tensor) -> float:
    with infinicore.inference_mode():
        loss: float = F.mse_loss(model(x), x).item()
    return loss


def main() -> None:
    infinicore.manual_seed(0)
    x = infinicore.randn(2, 8)
    model = FeedForward(8, 32)
    model.load_state_dict(model.state_dict())
    y = step(model(x))
    print(evaluated(model, x), infinicore.mode(y).values, infinicore.hann_window(4))
    print(y, y.tolist(), y.numpy().sum(), len(y), y.dtype is infinicore.float32)


if __name__ == "__main__":
    main()


def names_of_numpy(x: Tensor) -> Tensor:
    y = x.sum(axis=0, keepdims=True) + infinicore.amax(x, axis=0)
    first, _ = infinicore.split(y, 2, axis=-1)
    return infinicore.cat([first, x], axis=0)


def random_numbers() -> Tensor:
    generator = infinicore.Generator().manual_seed(0)
    x = infinicore.rand(2, 3, generator=generator).transpose_(0, 1)
    infinicore.abs_(x.normal_(generator=generator))
    infinicore.set_num_threads(infinicore.get_num_threads())
    return infinicore.poisson(x.data, generator) if x.requires_grad else x.new_full((2,), 1)
