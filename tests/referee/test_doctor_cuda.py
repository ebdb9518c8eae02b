"""The doctor's probes of a GPU: what each says of devices that have it and of those that do not."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from hotlap.cli.doctor import is_healthy, report
from hotlap.referee.doctor_cuda import Gpu, device_probes, gpu_probes, has_gpu, mps_control
from hotlap.referee.probe import Probe

FINE = Gpu("Example GPU", "9.0", stream_memory_operations=True, ipc=True, mps=False)
LESSER = Gpu("Old GPU", "3.5", stream_memory_operations=False, ipc=False, mps=True)


def by_name(*gpus: Gpu) -> dict[str, Probe]:
    return {probe.name: probe for probe in device_probes(gpus)}


def test_a_machine_without_a_gpu_gets_one_line(tmp_path: Path) -> None:
    (only,) = gpu_probes(tmp_path / "absent")
    assert (only.name, only.fact) == ("GPU", "none found (only `cpu` can referee here)")
    console = Console(file=io.StringIO(), width=100)
    console.print(report([only]))
    assert isinstance(console.file, io.StringIO)
    assert "GPU  none found (only `cpu` can referee here)" in console.file.getvalue()


def test_a_driver_s_node_is_what_tells_a_gpu(tmp_path: Path) -> None:
    assert not has_gpu(tmp_path / "nvidiactl")
    (tmp_path / "nvidiactl").touch()
    assert has_gpu(tmp_path / "nvidiactl")


def test_a_gpu_that_can_be_refereed_has_nothing_to_fix() -> None:
    probes = device_probes([FINE])
    assert all(probe.ok and probe.fix is None for probe in probes)
    assert probes[0].fact == "cuda:0 Example GPU (9.0)"


def test_a_fault_names_the_devices_that_have_it_and_the_way_out() -> None:
    probes = by_name(FINE, LESSER)
    for name, says in (
        ("GPU stream memory operations", "not supported by cuda:1"),
        ("GPU memory between processes", "not supported by cuda:1"),
        ("GPU sharing (MPS)", "on for cuda:1"),
    ):
        assert not probes[name].ok
        assert says in probes[name].fact
        assert probes[name].fix


@pytest.mark.parametrize("name", ["GPU stream memory operations", "GPU memory between processes"])
def test_what_a_clock_of_the_referee_s_needs_says_what_happens_without(name: str) -> None:
    assert "self-reported and never rank" in str(by_name(LESSER)[name].fix)


def test_a_driver_that_shows_no_device_is_told() -> None:
    (only,) = device_probes([])
    assert not only.ok
    assert "CUDA_VISIBLE_DEVICES" in str(only.fix)


def test_a_driver_without_a_device_is_told_with_what_the_libraries_lack(tmp_path: Path) -> None:
    node = tmp_path / "nvidiactl"
    node.touch()
    if has_gpu():
        pytest.skip("this machine has a GPU: `tests/gpu` tries the real probes")
    probes = {probe.name: probe for probe in gpu_probes(node)}
    assert list(probes) == ["GPU", "cuda-bindings", "nvidia-ml-py", "torch on the GPU"]
    assert not probes["GPU"].ok
    assert all(probe.ok or probe.fix for probe in probes.values())


def test_no_probe_of_a_gpu_is_essential(tmp_path: Path) -> None:
    assert is_healthy([*gpu_probes(tmp_path / "absent"), *device_probes([LESSER]), *device_probes([])])


def test_the_pipe_of_mps_is_where_its_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert mps_control() == tmp_path / "control"
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY")
    assert mps_control() == Path("/tmp/nvidia-mps/control")
