"""What the profilers of one device brought together, before it is a profile."""

from dataclasses import dataclass, field
from pathlib import Path

from hotlap.model import Failure
from hotlap.profiling.report import (
    CpuProfile,
    KernelCounters,
    KernelResources,
    SanitizerReport,
    Timeline,
)


@dataclass
class Findings:
    """Filled tool by tool. missing: one line for each that could not be used. files: how to look at each."""

    failure: Failure | None = None
    cpu: CpuProfile | None = None
    timeline: Timeline | None = None
    kernels: tuple[KernelCounters, ...] = ()
    resources: tuple[KernelResources, ...] = ()
    sanitizer: list[SanitizerReport] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def keep(self, path: Path | None, how: str) -> None:
        """Name an artefact and how to look at it."""
        if path is not None:
            self.files[path.name] = how
