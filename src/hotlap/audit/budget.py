"""How much memory and time an audit of one problem may take.

The memory limit binds: an allocation beyond it fails. The time limit is looked at between calls of the
reference; one slow call can exceed it.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic


@dataclass(frozen=True)
class Budget:
    """Until when, by the monotonic clock, and with how many bytes."""

    ends_s: float
    memory_bytes: int

    @property
    def left_s(self) -> float:
        return self.ends_s - monotonic()

    def allows(self, seconds: float = 0.0) -> bool:
        """Whether something that takes so long can still be begun."""
        return seconds < self.left_s


@contextmanager
def memory_limit(extra_bytes: int) -> Iterator[None]:
    """Let this process take so many bytes more than it has now, and no more, until the block ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + extra_bytes
    allowed = min(limit for limit in (wanted, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def is_memory_error(error: BaseException) -> bool:
    """Whether an error, or one that it came from, is an allocation that failed."""
    seen: BaseException | None = error
    while seen is not None:
        text = str(seen)
        if isinstance(seen, MemoryError) or "can't allocate memory" in text or "bad_alloc" in text:
            return True
        seen = seen.__cause__
    return False


def _data_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0
