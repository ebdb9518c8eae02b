"""What the driver's management library says of a GPU: who uses it, how fast it is clocked."""

from typing import Any

SM_CLOCK = 1


class Nvml:
    """One GPU by its UUID. Without nvidia-ml-py, or where it does not answer, `gap` says what is not seen."""

    def __init__(self, uuid: str):
        self.gap: str | None = None
        self._handle: Any = None
        try:
            import pynvml
        except ImportError:
            self.gap = "nvidia-ml-py is not installed: other users of the GPU and its clocks are not seen"
            return
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        except pynvml.NVMLError as error:
            self.gap = f"NVML does not answer ({error}): other users of the GPU and its clocks are not seen"

    def compute_processes(self) -> set[int]:
        """Processes that have a compute context on the GPU, by our numbers; empty if unknown."""
        return {p.pid for p in self._ask("nvmlDeviceGetComputeRunningProcesses") or ()}

    def graphics_processes(self) -> set[int]:
        return {p.pid for p in self._ask("nvmlDeviceGetGraphicsRunningProcesses") or ()}

    def sm_clock_mhz(self) -> int | None:
        found: int | None = self._ask("nvmlDeviceGetClockInfo", SM_CLOCK)
        return found

    def minor(self) -> int | None:
        """N of the GPU's device node /dev/nvidiaN."""
        found: int | None = self._ask("nvmlDeviceGetMinorNumber")
        return found

    def driver_version(self) -> str | None:
        if self._handle is None:
            return None
        import pynvml

        return str(pynvml.nvmlSystemGetDriverVersion())

    def _ask(self, name: str, *arguments: Any) -> Any:
        if self._handle is None:
            return None
        import pynvml

        try:
            return getattr(pynvml, name)(self._handle, *arguments)
        except pynvml.NVMLError:
            return None  # not every GPU answers everything
