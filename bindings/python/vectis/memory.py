"""Device memory: statistics of the memory pool, scopes that measure, and snapshots that a notebook draws.

    with vectis.memory.scope("forward") as scope:
        array = vectis.kernel.to_device(values)
    print(scope.peak_bytes)
    vectis.memory.snapshot()
"""

from ._vectis import MemoryBlock, MemorySnapshot, MemoryStats, MemoryUsage, TagUsage
from ._vectis import MemoryScope as scope
from ._vectis import memory_cleanup as cleanup
from ._vectis import memory_leak_report as leak_report
from ._vectis import memory_pressure as pressure
from ._vectis import memory_set_limit as set_limit
from ._vectis import memory_snapshot as snapshot
from ._vectis import memory_stats as stats
from ._vectis import memory_total_usage as total_usage
from ._vectis import memory_usage as usage

__all__ = [
    "MemoryBlock",
    "MemorySnapshot",
    "MemoryStats",
    "MemoryUsage",
    "TagUsage",
    "cleanup",
    "leak_report",
    "pressure",
    "scope",
    "set_limit",
    "snapshot",
    "stats",
    "total_usage",
    "usage",
]
