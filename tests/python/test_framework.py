"""infinicore.test.framework: operators against torch's, used as by test programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import infinicore
from kit.requirements import need

torch = need("torch")
pytestmark = pytest.mark.host

from infinicore.test.framework import (  # noqa: E402
    BaseOperatorTest,
    GenericTestRunner,
    InfiniDeviceEnum,
    TensorInitializer,
    TensorSpec,
    TestCase,
    compare_results,
    get_args,
    is_broadcast,
)
from infinicore.test.framework.utils.tensor_utils import clone_torch_tensor  # noqa: E402

F16, F32, I32 = infinicore.float16, infinicore.float32, infinicore.int32


class Operator(BaseOperatorTest):
    cases: list[TestCase]
    theirs: Any = None
    ours: Any = None

    def __init__(self) -> None:
        super().__init__("operator")

    def get_test_cases(self) -> list[TestCase]:
        return self.cases

    def torch_operator(self, *args: Any, **kwargs: Any) -> Any:
        if self.theirs is None:
            return super().torch_operator()
        return type(self).theirs(*args, **kwargs)

    def infinicore_operator(self, *args: Any, **kwargs: Any) -> Any:
        if self.ours is None:
            return super().infinicore_operator()
        return type(self).ours(*args, **kwargs)


def run(cases: list[TestCase], theirs: Any, ours: Any, *argv: str) -> Any:
    made = {"cases": cases, "theirs": theirs, "ours": ours}
    runner = GenericTestRunner(type("OpTest", (Operator,), made), get_args(list(argv)))
    success, results = runner.run()
    assert success == (not results.failed_tests)
    return results


def spec(shape: tuple[int, ...], strides: Any = None, dtype: Any = F32, **options: Any) -> Any:
    return TensorSpec.from_tensor(shape, strides, dtype, **options)


def test_results_and_outputs_in_every_place() -> None:
    cases = []
    for dtype in (F16, infinicore.bfloat16, F32):
        a, b, c = (spec((4, 3), strides, dtype) for strides in (None, (5, 1), (10, 2)))
        cases += [
            TestCase([a, b]),
            TestCase([a, spec((4, 3), (0, 1), dtype)]),
            TestCase([a, b], output_spec=c, comparison_target="out"),
            TestCase([a, b], {"out": 0}, comparison_target=0),
            TestCase([a, b], {"out": 1}, comparison_target=1),
        ]
    results = run(cases, torch.add, infinicore.add)
    assert len(results.passed_tests) == len(cases) == 15


def test_tuples_keywords_and_several_results() -> None:
    a, b = spec((2, 3)), spec((1, 3))
    results = run([TestCase([(a, b)], {"dim": 0})], torch.cat, infinicore.cat)
    assert len(results.passed_tests) == 1
    case = TestCase([spec((3, 4))], {"k": 2, "dim": 1}, output_count=2)
    assert run([case], torch.topk, infinicore.topk).passed_tests
    weight = TestCase([spec((2, 3))], {"normalized_shape": (3,), "weight": spec((3,))})
    functional = infinicore.nn.functional
    assert run([weight], torch.nn.functional.layer_norm, functional.layer_norm).passed_tests


def test_what_fails_and_what_is_missing(capsys: Any) -> None:
    cases = [TestCase([spec((2,)), spec((2,))], description="case")]
    results = run(cases, torch.add, infinicore.sub)
    assert results.test_results[0].return_code == -1
    assert "differ by more than" in results.failed_tests[0]
    assert run(cases, torch.add, lambda a, b: a + b.to(F16)).passed_tests
    assert run(cases, torch.add, lambda a, b: (a + b).to(F16)).failed_tests  # another dtype
    assert "unsupported" in run(cases, torch.add, _fails).failed_tests[0]
    with pytest.raises(RuntimeError, match="unsupported"):
        run(cases, torch.add, _fails, "--verbose")
    assert run(cases, torch.add, None).partial_tests and run(cases, None, None).skipped_tests
    assert "1 cases: 0 passed, 0 failed, 1 skipped, 0 partial" in capsys.readouterr().out


def _fails(*args: Any) -> None:
    raise RuntimeError("unsupported")


def test_program() -> None:
    made = {"cases": [TestCase([spec((2,))])], "theirs": torch.abs, "ours": infinicore.sin}
    runner = GenericTestRunner(type("OpTest", (Operator,), made), get_args(["--cpu"]))
    with pytest.raises(SystemExit) as ended:
        runner.run_and_exit()
    assert ended.value.code == 1


def test_measured() -> None:
    options = ("--bench", "--num_prerun", "1", "--num_iterations", "2")
    (result,) = run([TestCase([spec((2,))])], torch.abs, infinicore.abs, *options).test_results
    assert result.infini_device_time >= result.infini_host_time > 0
    assert result.torch_device_time >= result.torch_host_time > 0


def test_ways_to_fill(tmp_path: Path) -> None:
    def made(mode: str, dtype: Any = F32, shape: Any = (2, 2), **options: Any) -> Any:
        create = TensorInitializer.create_tensor
        return create(shape, dtype, InfiniDeviceEnum.CPU, mode, **options)

    assert made("zeros").tolist() == [[0.0] * 2] * 2
    assert made("ones", I32).tolist() == [[1] * 2] * 2
    drawn = made("randint", I32, (100,), low=3, high=5)
    assert set(drawn.tolist()) == {3, 4} and drawn.dtype == torch.int32
    shifted = made("random", F32, (100,), scale=2.0, bias=5.0)
    assert shifted.min() >= 5 and shifted.max() <= 7
    given = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert made("manual", set_tensor=given, strides=(1, 2)).stride() == (1, 2)
    torch.save(given, tmp_path / "x.pt")
    assert torch.equal(made("from_file", file_path=tmp_path / "x.pt"), given)
    with pytest.raises(ValueError, match=r"has shape None: expected \(2, 2\)"):
        made("manual")
    assert is_broadcast((0, 1)) and not is_broadcast(None)
    repeated = torch.ones(3).expand(2, 3)
    copy = clone_torch_tensor(repeated)
    assert copy.stride() == (0, 1) and copy.data_ptr() != repeated.data_ptr()
    assert compare_results(3, 3) and not compare_results((1,), (1, 2))
