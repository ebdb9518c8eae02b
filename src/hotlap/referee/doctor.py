"""What works on this machine, what does not, and how to fix it: every probe does the thing, once."""

import contextlib
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hotlap import runs
from hotlap.errors import HotlapError
from hotlap.referee import build, sandbox
from hotlap.referee.doctor_cuda import gpu_probes
from hotlap.referee.limits import Limits
from hotlap.referee.probe import Probe
from hotlap.referee.seat import Seat, SeatFailed

DELEGATE = "run hotlap as `systemd-run --user --scope -p Delegate=yes hotlap …`, or as root"
GAP_FIXES = {"memory": DELEGATE, "pids": DELEGATE, "cpuset": DELEGATE}
LIBRARIES = {"numba": "Numba kernels", "triton": "Triton kernels, on a CPU in its interpreter"}


def probe() -> list[Probe]:
    """Try everything that a verdict rests on here; takes a second or two."""
    return [
        _system(),
        _cores(),
        _torch(),
        _compiler(),
        _cuda_compiler(),
        _bubblewrap(),
        *_contestant(),
        *gpu_probes(),
        *(_library(name, what) for name, what in LIBRARIES.items()),
        _home(),
    ]


def _system() -> Probe:
    ok = sys.platform == "linux"
    return Probe("system", ok, sys.platform, None if ok else "hotlap referees on Linux only", True)


def _cores() -> Probe:
    count = len(os.sched_getaffinity(0))
    fix = "allow this process two cores: one referees, the others run the kernel"
    return Probe("cores", count >= 2, f"{count} usable", None if count >= 2 else fix, True)


def _torch() -> Probe:
    if importlib.util.find_spec("torch") is None:
        return Probe("torch", False, "not installed", "pip install torch", True)
    import torch

    return Probe("torch", True, torch.__version__, None, True)


def _compiler() -> Probe:
    try:
        _, version = build.compiler()
    except HotlapError as error:
        return Probe("C++ compiler", False, str(error).partition(";")[0], "apt-get install g++", False)
    return Probe("C++ compiler", True, version, None, False)


def _cuda_compiler() -> Probe:
    """Compile for no GPU in particular: a toolkit refuses C++ compilers that are newer than itself."""
    try:
        _, version = build.cuda_compiler()
        build.try_cuda(Limits())
    except HotlapError as error:
        fact, _, fix = str(error).partition("; ")
        return Probe("CUDA compiler", False, fact, f"for .cu kernels {fix}", False)
    return Probe("CUDA compiler", True, version, None, False)


def _bubblewrap() -> Probe:
    found, reason = sandbox.find_bubblewrap()
    if found is None:
        fix = (
            "apt-get install bubblewrap; on Ubuntu 24.04 also allow user namespaces: "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
        return Probe("sandbox", False, f"none: {reason}", fix, False)
    return Probe("sandbox", True, f"bubblewrap at {found.path}", None, False)


def _contestant() -> Iterator[Probe]:
    """Start a real contestant and make empty rounds; then look out of its sandbox."""
    cores = sorted(os.sched_getaffinity(0))
    try:
        seat = Seat(tuple(cores[1:]) or tuple(cores), Limits(), "bare")
    except (HotlapError, OSError) as error:
        yield Probe("contestant", False, f"does not start: {error}", "see the probes above", True)
        return
    try:
        seat.await_start()
        times = []
        for _ in range(20):
            seat.ready(0, [])
            times.append(seat.time_round(5) / 1000)
            seat.finish()
        fact = f"starts; an empty round takes {statistics.median(times):.0f} µs"
        yield Probe("contestant", True, fact, None, True)
    except (HotlapError, SeatFailed, OSError) as error:
        yield Probe("contestant", False, f"does not answer: {error}", "see the probes above", True)
        return
    finally:
        seat.close()
    freezer = seat.freezer
    kinds = {"cgroup2": "by control group (version 2)", "cgroup1": "by control group (version 1)"}
    kinds["init"] = "by signals from the sandbox's own process 1; control groups are faster"
    fact = kinds.get(freezer or "", "not possible: late work is not excluded")
    fix = None if freezer else f"install bubblewrap, or {DELEGATE}"
    yield Probe("freeze", freezer is not None, fact, fix, False)
    for controller in ("memory", "pids", "cpuset"):
        missing = f"no {controller} cgroup" in seat.gaps
        fact = "not limited by a control group" if missing else "limited by a control group"
        yield Probe(
            f"{controller} limit", not missing, fact, GAP_FIXES[controller] if missing else None, False
        )
    yield from _isolation()


def _isolation() -> Iterator[Probe]:
    if sandbox.kind() == "none":
        yield Probe("secrets", False, "a kernel can read your files", "install bubblewrap", False)
        return
    with tempfile.TemporaryDirectory(dir=_existing_home()) as folder:
        secret = Path(folder) / "secret"
        secret.write_text("secret")
        seen = _inside(["cat", str(secret)])
    fact = "a file of yours is readable inside" if seen else "your files are out of sight"
    yield Probe(
        "secrets", not seen, fact, "set HOTLAP_HOME outside the Python installation" if seen else None, False
    )
    network = _inside(["/bin/sh", "-c", "grep -v lo: /proc/net/dev | grep -q :"])
    fact = "a network device is visible inside" if network else "none inside"
    yield Probe("network", not network, fact, None if not network else "update bubblewrap", False)


def _inside(program: Sequence[str]) -> bool:
    """Whether a program succeeds in the sandbox."""
    command = sandbox.wrap(program, [], {"PATH": "/usr/bin:/bin"})
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    return done.returncode == 0


def _existing_home() -> Path:
    folder = runs.home()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


def _library(name: str, what: str) -> Probe:
    ok = importlib.util.find_spec(name) is not None
    return Probe(
        name,
        ok,
        f"installed, for {what}" if ok else f"not installed: no {what}",
        None if ok else f"pip install {name}",
        False,
    )


def _home() -> Probe:
    folder = _existing_home()
    free = shutil.disk_usage(folder).free
    ok = folder == runs.home() and free > 1 << 28
    fact = f"{folder}, {free / 1e9:.0f} GB free"
    return Probe("storage", ok, fact, None if ok else "set HOTLAP_HOME to a writable folder", False)
