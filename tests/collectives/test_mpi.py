"""Every collective under mpirun, with each MPI that is installed, against NumPy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from . import mpi_launch
from .mpi_launch import ALL, Mpi, run

pytestmark = pytest.mark.parametrize("mpi", ALL, ids=[mpi.name for mpi in ALL])


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_operation(mpi: Mpi, ranks: int, tmp_path: Path) -> None:
    told = run(mpi, ranks, "everything", tmp_path)
    assert sorted(told) == list(range(ranks))
    for answer in told.values():
        assert answer["wrong"] == []
        assert answer["checks"] > 500
        assert answer["libraries"] == [mpi.library]  # it was really MPI, and this one


@pytest.mark.parametrize("level", ["multiple", "serialized", "funneled"])
def test_beside_the_programs_own_use_of_mpi(mpi: Mpi, level: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    library = str(mpi_launch.folder_of(mpi) / "lib" / mpi.own_library)
    settings = {"MPI4PY_LIBMPI": library, "MPI4PY_RC_THREAD_LEVEL": level}
    for answer in run(mpi, 2, "mpi4py", tmp_path, **settings).values():
        if level == "funneled":
            assert "MPI_THREAD_SERIALIZED is needed" in answer
        else:  # ours is the program's
            assert answer == {"sum": 3.0, "libraries": [mpi.own_library]}


def test_ranks_of_one_host_need_no_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """The launcher says that all are here: they use memory, and MPI is not even opened."""
    told = run(mpi, 2, "everything", tmp_path, INFINI_CCL_TRANSPORT="")
    for answer in told.values():
        assert answer["wrong"] == []
        assert answer["libraries"] == []
