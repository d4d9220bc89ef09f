"""What a process really takes on its GPU: the caching allocator's peaks, and the
process's memory as the driver counts it."""

from __future__ import annotations

import dataclasses
import os
import statistics
import subprocess
from typing import Any

MIB = 2**20
# The first steps make the optimizer's states, load kernels and grow the cache.
UNTIMED = 2


class Gpu:
    """The current CUDA device of this process. Requires torch with CUDA."""

    def __init__(self) -> None:
        import torch

        self._cuda: Any = torch.cuda
        self.index = int(self._cuda.current_device())
        self.name = str(self._cuda.get_device_name(self.index))

    @staticmethod
    def is_there() -> bool:
        """Whether torch is installed and sees a device."""
        try:
            import torch
        except ImportError:
            return False
        return torch.cuda.is_available()

    def reset(self) -> None:
        """Begins new peaks."""
        self._cuda.reset_peak_memory_stats(self.index)

    def allocated_mib(self) -> float:
        """The peak of blocks in use."""
        return float(self._cuda.max_memory_allocated(self.index) / MIB)

    def reserved_mib(self) -> float:
        """The peak of segments held."""
        return float(self._cuda.max_memory_reserved(self.index) / MIB)

    def held_mib(self) -> float:
        """The segments that are held now."""
        return float(self._cuda.memory_reserved(self.index) / MIB)

    def synchronize(self) -> None:
        """Waits for all kernels."""
        self._cuda.synchronize(self.index)

    def mark(self) -> Any:
        """An event after the kernels that are queued now."""
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_ms(self, start: Any, end: Any) -> float:
        """Time between two events that have happened."""
        return float(start.elapsed_time(end))

    def process_mib(self) -> tuple[float, str] | None:
        """The memory of this process now by nvidia-smi, which does not know it in some
        containers; then all that is used on the device. With the source."""
        own = _by_nvidia_smi(self._uuid())
        if own is not None:
            return own, "nvidia-smi"
        free, total = self._cuda.mem_get_info(self.index)
        return float((total - free) / MIB), "device, with other processes"

    def _uuid(self) -> str:
        properties = self._cuda.get_device_properties(self.index)
        return str(getattr(properties, "uuid", ""))


def _by_nvidia_smi(uuid: str) -> float | None:
    """MiB of this process on the GPU with that UUID; on all where it is not known."""
    words = ["nvidia-smi", "--query-compute-apps=pid,gpu_uuid,used_memory",
             "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(words, capture_output=True, text=True, timeout=30,
                               check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    found = []
    for line in lines:
        pid, gpu, used = [*(word.strip() for word in line.split(",")), "", ""][:3]
        if pid == str(os.getpid()) and uuid in gpu and used.isdigit():
            found.append(float(used))
    return sum(found) or None


@dataclasses.dataclass(frozen=True)
class Reading:
    """What was measured; sizes are peaks in MiB."""

    device: str
    """The GPU, as it calls itself."""
    steps: int
    allocated_mib: float
    reserved_mib: float
    context_mib: float | None
    """The process's memory outside of the allocator; None if it could not be read."""
    source: str
    """Of context_mib: "nvidia-smi", or that of the whole device."""
    latency_ms: float | None
    """Median between two steps, without the first two; None with fewer than four."""

    @property
    def total_mib(self) -> float | None:
        """Peak of the process, as nvidia-smi shows it."""
        return None if self.context_mib is None else self.context_mib + self.reserved_mib


class Clock:
    """Times of steps, by events on the GPU: the host only queues kernels."""

    def __init__(self, gpu: Gpu | None) -> None:
        self._gpu = gpu
        self._marks: list[Any] = []
        self.steps = 0
        """How many are over."""

    def step(self) -> None:
        """Notes that a step is over."""
        self.steps += 1
        if self._gpu is not None:
            self._marks.append(self._gpu.mark())

    def latency_ms(self) -> float | None:
        """Median between two of the later steps: a mean would count a checkpoint's
        time. Requires that all kernels have run."""
        last = self._marks[UNTIMED - 1:]
        if self._gpu is None or len(last) < 3:
            return None
        return statistics.median(map(self._gpu.between_ms, last, last[1:]))


def read(gpu: Gpu, clock: Clock) -> Reading:
    """The peaks since the last reset, after all kernels have run."""
    gpu.synchronize()
    process = gpu.process_mib()
    context = None if process is None else max(process[0] - gpu.held_mib(), 0.0)
    return Reading(device=gpu.name, steps=clock.steps, allocated_mib=gpu.allocated_mib(),
                   reserved_mib=gpu.reserved_mib(), context_mib=context,
                   source=process[1] if process else "", latency_ms=clock.latency_ms())
