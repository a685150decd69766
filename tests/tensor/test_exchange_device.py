"""Memory of a device that is shared with others, and the order of their work and ours."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import infinicore as ic
from kit.place import KIND
from kit.requirements import need

pytestmark = pytest.mark.requires("accelerator")


def test_what_the_host_cannot_read() -> None:
    x = ic.arange(4)
    for look in (memoryview, lambda t: t.numpy(), lambda t: t.__array_interface__):
        with pytest.raises((BufferError, TypeError, AttributeError)):
            look(x)
    assert x.numpy(force=True).tolist() == [0, 1, 2, 3] and x.tolist() == [0, 1, 2, 3]
    assert x[2].item() == 2 and x.tobytes() == x.cpu().tobytes()
    assert f"device='{x.device}'" in repr(x)


def test_copies_between_host_and_device() -> None:
    for shape in ((), (3,), (2, 5), (1 << 12, 700), (0, 3)):
        here = ic.randn(*shape, device="cpu")
        there = here.to(KIND)
        assert there.device == ic.get_default_device() and there.shape == here.shape
        assert bool((there.cpu() == here).all())
        if len(shape) == 2 and shape[0]:
            part = there.T[1:]  # with gaps on one side, then on the other
            assert bool((part.cpu() == here.T[1:]).all())
            there.T[1:].copy_(here.T[1:] + 1)
            assert bool((there.cpu().T[1:] == here.T[1:] + 1).all())
    pinned = ic.empty(100, device="cpu", pin_memory=True)
    pinned.copy_(ic.arange(100.0))
    assert pinned.tolist() == list(range(100))


def test_dlpack_with_streams() -> None:
    x = ic.arange(6.0)
    assert x.__dlpack_device__()[0] != 1
    for stream in (None, 1, -1, ic.context.get_stream()):
        y = ic.from_dlpack((x + 1).__dlpack__(stream=stream))
        assert y.device == x.device and y.tolist() == [1, 2, 3, 4, 5, 6]
    host = ic.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert host.device == ic.device("cpu") and host.tolist() == x.tolist()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(1, 0), copy=False)


def test_a_lender_of_another_library() -> None:
    x = ic.arange(3.0) * 2
    asked: list[Any] = []

    class Lent:
        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

        def __dlpack__(self, *, stream: Any = None, **given: Any) -> Any:
            asked.append(stream)
            return x.__dlpack__(stream=stream, **given)

    y = ic.from_dlpack(Lent())
    assert asked == [ic.context.get_stream() or 1]  # our stream: the lender orders its work for it
    assert y.data_ptr() == x.data_ptr() and (y + 1).tolist() == [1, 3, 5]
    assert ic.tensor(Lent(), device="cpu").tolist() == [0, 2, 4]


def test_loans_are_ended() -> None:
    gc.collect()
    before = ic.memory_stats()["allocated"]
    for _ in range(100):
        x = ic.ones(1000)
        capsule = x.__dlpack__(stream=1)
        del x, capsule
    ic.sync_device()
    ic.trim_memory()
    assert ic.memory_stats()["allocated"] == before


def test_array_interface() -> None:
    x = ic.arange(6, dtype=ic.int32).view(2, 3).T
    if ic.device(KIND).type != "cuda":
        with pytest.raises(AttributeError):
            x.__cuda_array_interface__  # noqa: B018
        return
    told = x.__cuda_array_interface__
    assert told["shape"] == (3, 2) and told["typestr"] == "<i4" and told["strides"] == (4, 12)
    assert told["data"] == (x.data_ptr(), False) and told["stream"] not in (None, 0)


# ---- torch on the same device -------------------------------------------------------------------


@pytest.fixture
def torch() -> Any:
    module = need("torch")
    if ic.device(KIND).type != "cuda" or not module.cuda.is_available():
        pytest.skip("no torch for this device")
    return module


def test_torch_both_ways(torch: Any) -> None:
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for _ in range(20):
                theirs = torch.randint(-999, 999, (1 << 20,), device="cuda").float()  # exact
                ours = ic.from_torch(theirs)
                assert ours.data_ptr() == theirs.data_ptr()
                made = ours * 2 + 1
                back = torch.from_dlpack(made)
                assert back.data_ptr() == made.data_ptr()
                assert torch.equal(back, theirs * 2 + 1)
                ours += 1  # torch's memory, written in our stream
                del ours, made
                assert torch.equal(theirs * 2 - 1, back)
                del back


def test_torch_from_the_array_interface(torch: Any) -> None:
    x = ic.arange(8.0)
    assert torch.as_tensor(x, device="cuda").tolist() == x.tolist()


def test_memory_goes_to_torch_and_back(torch: Any) -> None:
    """Freed while torch's work is queued: not reused before that has finished."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(50):
            ours = ic.full((1 << 18,), 3.0)
            theirs = torch.from_dlpack(ours)
            torch.cuda._sleep(100_000)
            total = theirs.sum()
            del ours, theirs
            ic.full((1 << 18,), 9.0)
            assert total.item() == 3 * (1 << 18)
