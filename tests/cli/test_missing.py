"""What a person sees where a part is missing: no torch, no bubblewrap, no compiler."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hotlap

STARTER = Path(hotlap.__file__).parent / "suites" / "basics" / "vectoradd" / "starter"
WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
"""
WITHOUT_BUBBLEWRAP = (
    "from hotlap.referee import sandbox; sandbox.find_bubblewrap = lambda: (None, 'bwrap is not installed')"
)


def run_hotlap(
    before: str, *arguments: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    code = f"{before}\nfrom hotlap.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(environment or {})},
        check=False,
    )


def test_without_torch_a_run_says_how_to_install_it() -> None:
    done = run_hotlap(WITHOUT_TORCH, "run", "basics/vectoradd", str(STARTER / "kernel.py"))
    assert done.returncode == 2
    assert "pip install torch" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_torch_problems_are_listed() -> None:
    done = run_hotlap(WITHOUT_TORCH, "problems")
    assert done.returncode == 0
    assert "basics/vectoradd" in done.stdout


def test_without_bubblewrap_the_verdict_says_so_loudly() -> None:
    done = run_hotlap(WITHOUT_BUBBLEWRAP, "check", "basics/vectoradd", str(STARTER / "kernel.cpp"))
    assert done.returncode == 0, done.stderr
    assert "NO SANDBOX" in done.stdout + done.stderr


def test_without_bubblewrap_the_gap_is_in_the_json() -> None:
    arguments = ("check", "basics/vectoradd", str(STARTER / "kernel.py"), "--json")
    done = run_hotlap(WITHOUT_BUBBLEWRAP, *arguments)
    given = json.loads(done.stdout)
    assert given["status"] == "accepted", done.stderr
    assert given["sandbox"]["kind"] == "none"
    assert any("bwrap is not installed" in gap for gap in given["sandbox"]["gaps"])


def test_without_a_compiler_the_verdict_is_void_and_names_the_remedy() -> None:
    arguments = ("check", "basics/vectoradd", str(STARTER / "kernel.cpp"), "--json")
    done = run_hotlap("pass", *arguments, environment={"CXX": "/nonexistent/g++"})
    given = json.loads(done.stdout)
    assert done.returncode == 3
    assert (given["status"], given["fault"]) == ("void", "device")
    assert "install one" in given["reason"]


def test_a_pipe_is_no_kernel_and_nobody_waits_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "kernel.py"
    os.mkfifo(pipe)
    done = run_hotlap("pass", "check", "basics/vectoradd", str(pipe))
    assert done.returncode == 2
    assert "not a file" in done.stderr


def test_a_runtime_folder_that_cannot_be_made_is_named() -> None:
    arguments = ("check", "basics/vectoradd", str(STARTER / "kernel.cpp"))
    done = run_hotlap("pass", *arguments, environment={"XDG_RUNTIME_DIR": "/proc"})
    assert done.returncode == 2
    assert "XDG_RUNTIME_DIR" in done.stderr
