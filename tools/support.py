"""Runs the conformance kit on devices and on simulated vendors, and writes docs/support.md.

    python tools/support.py                       # the CPU and every simulated vendor
    python tools/support.py --devices cpu nvidia --simulated ascend --report other/report.json

Needs the installed package and what `pip install .[test]` brings. Reports go to --folder, one for
each kind of device; --report adds reports that were made elsewhere, for instance on a GPU.
Devices are run up to level 7; simulated vendors up to level 4, because their kernels are compiled
for the host and run thread by thread: a minute or two for each on 16 cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOP / "tests"), str(TOP)]

from kit.binding import root  # noqa: E402
from simulated.accelerator import build as accelerator  # noqa: E402
from simulated.vendors import build as vendors  # noqa: E402

SIMULATED = (*vendors.KINDS, *accelerator.VENDORS)


def settings_of(kind: str) -> dict[str, str]:
    """The environment in which a process finds the simulated libraries of a device type."""
    if kind in vendors.KINDS:
        return vendors.settings(kind, root=root())
    return accelerator.settings(kind, root=root())


def run(
    kind: str, level: int, folder: Path, jobs: int, *, simulated: bool, speed: bool = False
) -> Path:
    report = folder / (f"{kind}-simulated" if simulated else kind)
    report.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "infinicore", "conformance", "--device", kind]
    command += ["--level", str(level), "--report", str(report), "--jobs", str(jobs)]
    command += [] if speed else ["--no-speed"]
    environment = dict(os.environ)
    if simulated:
        claims = report / "claims.toml"
        claims.write_text(f'[device]\nname = "{kind}"\nlevel = 0\nsimulated = true\n')
        command += ["--claims", str(claims)]
        environment |= {**settings_of(kind), "INFINI_SIM_DEVICES": "2"}
    print(f"---- {report.name}, up to level {level}", flush=True)
    # The exit status tells how the claims compare; the report has all of that.
    subprocess.run(command, env=environment, check=False)
    return report / "report.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--devices", nargs="*", default=["cpu"], help="kinds that are here")
    parser.add_argument("--simulated", nargs="*", default=list(SIMULATED), choices=SIMULATED)
    parser.add_argument("--report", nargs="*", default=[], help="reports that were made elsewhere")
    parser.add_argument("--level", type=int, default=7, help="of devices (default: 7)")
    parser.add_argument("--simulated-level", type=int, default=4, help="(default: 4)")
    parser.add_argument("--speed", action="store_true", help="measure devices; on an idle machine")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, help="of the reports (default: a temporary one)")
    parser.add_argument("--out", default=str(TOP / "docs" / "support.md"))
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="infini-support-"))
    reports = [
        run(
            *(kind, options.level, folder, options.jobs),
            simulated=False,
            speed=options.speed,
        )
        for kind in options.devices
    ]
    for path in map(Path, options.report):
        reports.append(path / "report.json" if path.is_dir() else path)
    for kind in options.simulated:
        reports.append(run(kind, options.simulated_level, folder, options.jobs, simulated=True))
    missing = [str(path) for path in reports if not path.exists()]
    if missing:
        print(f"no report: {', '.join(missing)}", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "infinicore", "conformance", "--support", *map(str, reports)]
    return subprocess.run([*command, "--out", options.out], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
