"""What stands above and under every chart."""

from dataclasses import replace

from hotlap.plots.chart import provenance, rounds_words
from tests.cli import factory
from tests.plots import samples


def test_the_provenance_of_a_gpu_has_rounds_device_driver_clock_date_version_and_run() -> None:
    made = provenance(samples.judged(samples.softmax_run()))
    assert made.heading == "basics/softmax · kernel.py"
    assert made.line == (
        "n = 12 to 24 rounds · NVIDIA H200 · driver 580.159.04 · SM clock 1980 MHz while timing · "
        "2026-11-30 · hotlap 0.1.0 · run 01JD3W8Q4N"
    )


def test_the_provenance_of_a_cpu_has_its_cores_and_kernel() -> None:
    assert "Example CPU @ 2.00GHz, 2 cores · Linux 6.1.0" in provenance(factory.accepted()).line


def test_a_clock_that_moved_is_a_range() -> None:
    device = replace(factory.GPU, sm_clock_mhz=(1830, 1980))
    assert "SM clock 1830 to 1980 MHz" in provenance(factory.on_gpu(device=device)).line


def test_rounds_are_said_once_where_all_workloads_have_as_many() -> None:
    assert rounds_words([12]) == "n = 12 rounds"
    assert rounds_words([12, 16, 24]) == "n = 12 to 24 rounds"
    assert rounds_words([]) == ""
