"""Where profilers are found, and what is said of those that are not."""

from pathlib import Path

import pytest

from hotlap.profiling.tools import Tool, find, shown


def install(folder: Path, name: str, script: str = "exit 0") -> Path:
    """A stand-in for a profiler, as a shell script on the path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_tool_on_the_path_is_found_with_the_folder_that_a_sandbox_must_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = install(tmp_path, "ncu")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find("ncu") == Tool(str(path), (str(tmp_path),))


def test_a_tool_of_the_systems_folders_needs_nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    installed = [tool for name in ("valgrind", "perf") if isinstance(tool := find(name), Tool)]
    assert all(tool.shown == () for tool in installed)


def test_a_toolkit_that_is_on_no_path_is_looked_at_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    path = install(tmp_path / "bin", "compute-sanitizer")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert find("compute-sanitizer") == Tool(str(path), (str(tmp_path / "bin"),))


@pytest.mark.parametrize(("name", "says"), [("perf", "apt-get install"), ("valgrind", "apt-get install")])
def test_a_tool_that_is_missing_is_told_in_one_line_with_how_to_get_it(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = find(name)
    assert isinstance(found, str)
    assert found.startswith(f"{name} is not installed: ")
    assert says in found


def test_a_script_is_shown_with_the_folder_that_its_program_is_in(tmp_path: Path) -> None:
    (tmp_path / "nsight").mkdir()
    assert shown("/usr/local/cuda/bin/ncu", str(tmp_path / "nsight")) == (str(tmp_path / "nsight"),)
    assert shown("/usr/local/cuda/bin/ncu", str(tmp_path / "nowhere")) == ()
