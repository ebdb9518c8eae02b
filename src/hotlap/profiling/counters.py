"""A GPU's counters for the author's kernels, by NVIDIA's ncu, read by the metrics' names.

A metric that this ncu or this GPU does not have is None, never 0.
"""

import csv
import io
from collections.abc import Mapping, Sequence

from hotlap.profiling.report import KernelCounters
from hotlap.profiling.sandboxed import Under
from hotlap.profiling.tools import Tool

REPORT = "counters.ncu-rep"
MOST_LAUNCHES = "16"  # of one call: each is replayed some forty times
DENIED = "ERR_NVGPUCTRPERM"

PIPES = {
    "FMA (float32)": ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",),
    "ALU (integers, comparisons)": ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",),
    "FP64": ("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",),
    "XU (exp, log, roots, conversions)": (
        "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_xu_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    "LSU (loads and stores)": ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",),
    "tensor cores": (
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
    ),
}
LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared memory": "launch__occupancy_limit_shared_mem",
    "the block size": "launch__occupancy_limit_warps",
    "blocks a multiprocessor": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
}
NO_STALLS = ("selected", "not_selected")
STALL_PREFIX = "smsp__average_warps_issue_stalled_"
STALL_SUFFIX = "_per_issue_active.ratio"
UNITS = {
    **{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "second": 1e9, "msecond": 1e6, "usecond": 1e3},
    **{"nsecond": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12},
}


def under(ncu: Tool) -> Under:
    """How the driver runs under ncu: every counter of every kernel in our range, clocks as they are."""
    options = (
        *("--nvtx", "--nvtx-include", "hotlap/", "--set", "full", "--clock-control", "none"),
        *("--launch-count", MOST_LAUNCHES, "-f", "-o", f"{{out}}/{REPORT.removesuffix('.ncu-rep')}"),
    )
    return Under(inner=(ncu.path, *options), shown=ncu.shown, talks=True, counters=True)


def reader(ncu: Tool) -> list[str]:
    """The command that prints a report's raw metrics as CSV."""
    return [ncu.path, "-i", "{given}", "--csv", "--page", "raw"]


def parse(text: str) -> tuple[KernelCounters, ...]:
    """The launches of ncu's raw page: a row of names, a row of units, then a row a launch."""
    rows = list(csv.reader(io.StringIO(text)))
    first = next((i for i, row in enumerate(rows) if row and row[0] == "ID"), None)
    if first is None or len(rows) < first + 3:
        return ()
    names, units = rows[first], rows[first + 1]
    return tuple(_launch(_Row(names, units, row)) for row in rows[first + 2 :] if len(row) == len(names))


class _Row:
    """One launch: metrics by name, in nanoseconds, bytes and fractions of 1."""

    def __init__(self, names: Sequence[str], units: Sequence[str], values: Sequence[str]):
        self.texts = dict(zip(names, values, strict=True))
        self.units = dict(zip(names, units, strict=False))

    def number(self, *names: str) -> float | None:
        """The largest of the metrics that are there."""
        found = [value for name in names if (value := self._one(name)) is not None]
        return max(found, default=None)

    def _one(self, name: str) -> float | None:
        try:
            value = float(self.texts.get(name, "").replace(",", ""))
        except ValueError:
            return None  # empty, n/a, no data
        unit = self.units.get(name, "").partition("/")[0]
        return value * UNITS.get(unit, 0.01 if unit == "%" else 1.0)

    def share_of(self, part: float | None, name: str) -> float | None:
        whole = self.number(name)
        return None if part is None or whole is None else (part / whole if whole else 0.0)


def _launch(row: _Row) -> KernelCounters:
    registers = row.number("launch__registers_per_thread")
    return KernelCounters(
        name=row.texts.get("Kernel Name", "unknown"),
        grid=row.texts.get("Grid Size", ""),
        block=row.texts.get("Block Size", ""),
        time_ns=row.number("gpu__time_duration.sum"),
        dram_read_bytes=row.number("dram__bytes_read.sum"),
        dram_write_bytes=row.number("dram__bytes_write.sum"),
        dram_share=row.number("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
        l2_share=row.number("lts__throughput.avg.pct_of_peak_sustained_elapsed"),
        l1_share=row.number("l1tex__throughput.avg.pct_of_peak_sustained_elapsed"),
        l2_hit_share=row.number("lts__t_sector_hit_rate.pct"),
        l1_hit_share=row.number("l1tex__t_sector_hit_rate.pct"),
        compute_share=row.number("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        issue_share=row.number("sm__issue_active.avg.pct_of_peak_sustained_elapsed"),
        pipes={pipe: share for pipe, names in PIPES.items() if (share := row.number(*names)) is not None},
        occupancy=row.number("sm__warps_active.avg.pct_of_peak_sustained_active"),
        occupancy_possible=row.number("sm__maximum_warps_per_active_cycle_pct"),
        occupancy_limits=_limits(row),
        waves=row.number("launch__waves_per_multiprocessor"),
        registers=None if registers is None else int(registers),
        shared_bytes=_plain_sum(
            row, "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"
        ),
        local_requests=_plain_sum(
            row, "smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum"
        ),
        stalls=_stalls(row),
        threads_per_instruction=row.number("smsp__thread_inst_executed_per_inst_executed.ratio"),
        excess_sectors_share=row.share_of(
            row.number("derived__memory_l2_theoretical_sectors_global_excessive"),
            "memory_l2_theoretical_sectors_global",
        ),
        excess_wavefronts_share=row.share_of(
            row.number("derived__memory_l1_wavefronts_shared_excessive"), "memory_l1_wavefronts_shared"
        ),
    )


def _plain_sum(row: _Row, *names: str) -> float | None:
    found = [value for name in names if (value := row.number(name)) is not None]
    return sum(found) if found else None


def _limits(row: _Row) -> tuple[str, ...]:
    """What allows the fewest blocks at a time on a multiprocessor."""
    blocks = {what: count for what, name in LIMITS.items() if (count := row.number(name)) is not None}
    fewest = min(blocks.values(), default=None)
    return tuple(what for what, count in blocks.items() if count == fewest)


def _stalls(row: _Row) -> Mapping[str, float]:
    """What warps waited for, as shares of the time between two instructions; issuing, and being ready to, are
    no stalls."""
    waits = {
        name.removeprefix(STALL_PREFIX).removesuffix(STALL_SUFFIX): value
        for name in row.texts
        if name.startswith(STALL_PREFIX) and name.endswith(STALL_SUFFIX)
        if (value := row.number(name)) is not None
    }
    total = sum(waits.values())
    shares = {
        reason: value / total for reason, value in waits.items() if reason not in NO_STALLS and value > 0
    }
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
