"""What `infini new-backend` writes builds outside this repository, reaches level 2 in one command,
and can be installed as a Python package."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .kit_runs import infini


def test_level_2_in_one_command(tmp_path: Path) -> None:
    name = "class"  # a C++ keyword: any device name is valid
    folder = tmp_path / name
    fast = {"CMAKE_BUILD_TYPE": "Debug", "TMPDIR": str(tmp_path)}
    done = infini("new-backend", name, "--into", str(folder), "--check", **fast)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: level reached: 2" in done.stdout
    for file in ("README.md", "claims.toml", "pyproject.toml", f"src/{name}.cc"):
        text = (folder / file).read_text(encoding="utf-8")
        assert name in text and "mychip" not in text


@pytest.mark.parametrize("name", ["My", "9x", "a-b", "cpu", "ascend", "", "../x"])
def test_bad_names(tmp_path: Path, name: str) -> None:
    done = infini("new-backend", name, "--into", str(tmp_path / "x"))
    assert done.returncode == 2 and repr(name) in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = infini("new-backend", "mychip", "--into", str(tmp_path))
    assert done.returncode == 2 and "not an empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_pip_gets_no_other_project(tmp_path: Path) -> None:
    """PyPI has another infinicore: no requirement names it; the package says what is missing."""
    assert infini("new-backend", "mychip", "--into", str(tmp_path / "mychip")).returncode == 0
    text = (tmp_path / "mychip" / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^requires = (.*)$", text, re.M) == ['["scikit-build-core>=0.10"]']
    assert not re.search(r"^(dependencies|optional-dependencies)\b", text, re.M)
    other = tmp_path / "other" / "infinicore"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    for start in ("import sys; sys.modules['infinicore'] = None; ", ""):
        program = f"{start}import infini_mychip"
        env = dict(os.environ, PYTHONPATH=f"{other.parent}:{tmp_path / 'mychip' / 'python'}")
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
        )
        assert "on PyPI is another project" in done.stderr


def test_the_build_finds_the_package_where_pip_hides_it(tmp_path: Path) -> None:
    """pip builds with a PYTHONPATH that takes the environment's packages away."""
    scripts = Path(sys.executable).parent
    if not shutil.which("cmake") or not (scripts / "infini").exists():
        pytest.skip("needs cmake, and infini beside Python")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['infinicore'] = None\n")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    env["PATH"] = f"{scripts}:{env['PATH']}"
    asked = ["infini", "config", "--cmake-dir"]
    if subprocess.run(asked, capture_output=True, env=env, check=False).returncode:
        pytest.skip("infinicore is found by PYTHONPATH alone")
    source = tmp_path / "mychip"
    assert infini("new-backend", "mychip", "--into", str(source)).returncode == 0
    env["PYTHONPATH"] = str(hidden)
    command = ["cmake", "-S", str(source), "-B", str(tmp_path / "build")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    env["PATH"] = os.pathsep.join(
        folder for folder in env["PATH"].split(os.pathsep) if not Path(folder, "infini").exists()
    )
    command = [shutil.which("cmake") or "cmake", *command[1:4], str(tmp_path / "other")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode and "activate the environment" in " ".join(done.stderr.split())


def test_as_a_python_package(tmp_path: Path) -> None:
    """Built into a wheel and installed, without a network: every program then finds the device."""
    if importlib.util.find_spec("scikit_build_core") is None or not shutil.which("cmake"):
        pytest.skip("needs scikit-build-core and cmake")
    source, target = tmp_path / "source", tmp_path / "site"
    assert infini("new-backend", "our_chip", "--into", str(source)).returncode == 0
    scripts = str(Path(sys.executable).parent)
    env = dict(
        os.environ,
        PATH=f"{scripts}:{os.environ['PATH']}",
        SKBUILD_CMAKE_ARGS=f"-DInfini_DIR={infini('config', '--cmake-dir').stdout.strip()}",
    )
    flags = ["--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    flags.append("-Ccmake.build-type=Debug")
    command = [sys.executable, "-m", "pip", "install", *flags, "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    path = f"{target}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    told = json.loads(infini("info", "--json", PYTHONPATH=path).stdout)
    assert "our_chip" in {device["kind"] for device in told["devices"]}
    program = "import infinicore; print((infinicore.ones(3, device='our_chip') + 1).tolist())"
    env = dict(os.environ, PYTHONPATH=path)
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
    )
    assert answer.stdout.strip() == "[2.0, 2.0, 2.0]", answer.stderr
