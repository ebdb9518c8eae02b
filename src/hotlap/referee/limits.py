"""How long and how much a submission may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds for each phase, bytes and processes for the whole contestant."""

    build_s: float = 120.0
    start_s: float = 60.0
    load_s: float = 60.0
    prepare_s: float = 120.0
    call_s: float = 10.0
    measure_s: float = 20.0  # a workload's timed rounds; slow kernels get fewer rounds
    memory_bytes: int = 6 << 30
    processes: int = 512
    source_bytes: int = 1 << 20
    build_memory_bytes: int = 4 << 30
    build_output_bytes: int = 64 << 20
