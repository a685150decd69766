"""Every collective under mpirun, with each MPI that is installed, against NumPy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit.requirements import need

from . import library as lib
from . import mpi_launch
from .mpi_launch import ALL, MPICH, OPEN_MPI, Mpi, run

each_mpi = pytest.mark.parametrize("mpi", ALL, ids=[mpi.name for mpi in ALL])


@each_mpi
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_every_operation(mpi: Mpi, ranks: int, tmp_path: Path) -> None:
    if ranks > 4 and len(os.sched_getaffinity(0)) < ranks:
        pytest.skip("ranks that wait for each other need a core each, or a minute")
    told = run(mpi, ranks, "everything", tmp_path)
    assert sorted(told) == list(range(ranks))
    for answer in told.values():
        assert answer["wrong"] == []
        assert answer["checks"] > 500
        assert answer["libraries"] == [mpi.library]  # it was really this MPI


@each_mpi
@pytest.mark.parametrize("level", ["multiple", "serialized", "funneled"])
def test_beside_the_programs_own_use_of_mpi(mpi: Mpi, level: str, tmp_path: Path) -> None:
    need("mpi4py")
    if level != "multiple" and mpi.name != "mpich":
        pytest.skip("the same code with either MPI")
    library = str(mpi_launch.folder_of(mpi) / "lib" / mpi.own_library)
    settings = {"MPI4PY_LIBMPI": library, "MPI4PY_RC_THREAD_LEVEL": level}
    settings["INFINI_MPI_LIBRARY"] = ""
    for answer in run(mpi, 2, "mpi4py", tmp_path, **settings).values():
        if level == "funneled":
            assert "MPI_THREAD_SERIALIZED is needed" in answer
        else:  # ours is the program's
            assert answer == {"sum": 3.0, "libraries": [mpi.own_library]}


@each_mpi
def test_ranks_of_one_host_need_no_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """The launcher reports that all ranks are on one host: they use shared memory, and MPI is not
    opened."""
    told = run(mpi, 2, "everything", tmp_path, INFINI_CCL_TRANSPORT="")
    for answer in told.values():
        assert answer["wrong"] == []
        assert answer["libraries"] == []


def test_a_process_that_no_launcher_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("INFINI_CCL_TRANSPORT", "mpi")
    with pytest.raises(lib.CclError, match="INFINI_CCL_TRANSPORT is mpi, but"):
        lib.join(2, lib.unique_id(), 0)


def test_another_library_than_the_programs_own(tmp_path: Path) -> None:
    need("mpi4py")
    lib_folder = mpi_launch.folder_of(MPICH) / "lib"
    settings = {"MPI4PY_LIBMPI": str(lib_folder / MPICH.own_library)}
    settings["INFINI_MPI_LIBRARY"] = str(lib_folder / MPICH.library)
    for answer in run(MPICH, 2, "mpi4py", tmp_path, **settings).values():
        assert "the program has started" in answer and MPICH.own_library in answer
        assert "INFINI_MPI_LIBRARY" in answer


def test_the_library_of_another_mpi_than_the_launchers(tmp_path: Path) -> None:
    other = str(mpi_launch.folder_of(OPEN_MPI) / "lib" / OPEN_MPI.library)
    told = run(MPICH, 2, "joins", tmp_path, INFINI_MPI_LIBRARY=other)
    for answer in told.values():
        assert "finds no other process, but the launcher started 2" in answer
        assert "INFINI_MPI_LIBRARY" in answer
