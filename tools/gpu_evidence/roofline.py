"""A model, no measurement: what the compiled search could reach on a card if nothing stalled.

The time of a search is the largest of three: the rows read once for each batch at the memory's peak rate; every
instruction issued; every multiply-add through its unit. Kernels compute whole tiles, also beyond the last query. Added to
it is what the host asks for: launches, copies and waits, as counted on the test driver. What the hardware allows is the
larger of reading the rows once, and the multiply-adds of the vectors' type at the peak that the maker states (matrix units
included). `src/search/report/model.cpp` computes the same for `vectis report`; a test compares them.
"""

from dataclasses import dataclass

ROWS, COLUMNS = 1_000_000, 128
BATCHES = (1, 100, 10_000)
BATCH = 1000  # queries at a time, the default of gpu.batch_size
LAUNCHES, COPIES = 8, 3  # of a batch, with one wait
LAUNCH, COPY, WAIT = 2.5, 5.0, 10.0  # microseconds, assumed: what users of current cards report for small ones


@dataclass(frozen=True)
class Card:
    """As its maker states it. Rates count a multiply-add as two."""
    name: str
    architecture: str
    units: int
    clock: float  # GHz, boost
    memory: float  # GB/s
    fused: int  # FFMA of lanes that a unit does in a cycle
    dots: int  # dot products of four bytes, of lanes
    peaks: dict[str, float]  # Tera-operations a second by element
    issue: int = 128  # instructions of lanes that a unit issues in a cycle
    mma: bool = True  # this code uses its matrix units


CARDS = (
    Card("RTX 4090", "sm_89", 128, 2.52, 1008, 128, 64, {"f32": 82.6, "f16": 165, "i8": 661}),
    Card("A100 SXM 80 GB", "sm_80", 108, 1.41, 2039, 64, 64, {"f32": 19.5, "f16": 312, "i8": 624}),
    Card("H100 SXM", "sm_90", 132, 1.83, 3350, 128, 64, {"f32": 66.9, "f16": 989, "i8": 1979}),
    Card("B200", "sm_100", 148, 1.85, 8000, 128, 64, {"f32": 75, "f16": 2250, "i8": 4500}),
    Card("MI300X", "sm_90", 304, 2.1, 5300, 64, 64, {"f32": 163, "f16": 1307, "i8": 2615}, 64),
    Card("M3 Max, 40 cores", "sm_90", 40, 1.4, 400, 128, 32, {"f32": 14.3, "f16": 14.3, "i8": 14.3}, 128, False),
)
BYTES = {"f32": 4, "f16": 2, "i8": 1}
SCANNED = {"f32": "f32", "f16": "f16 by f32", "i8": "i8"}  # elements of the kernel that searches such rows
TERMS = 16  # bytes of bounds that are read with each row


@dataclass(frozen=True)
class Estimate:
    milliseconds: float  # what the code allows
    limit: float  # what the hardware allows
    wall: str  # "memory", "issue", "FFMA", "dp4a", "mma", "host"

    @property
    def share(self) -> float:
        return self.limit / self.milliseconds


def batches(queries: int) -> list[int]:
    """The queries of each batch."""
    return [min(BATCH, queries - first) for first in range(0, queries, BATCH)]


def asked(queries: int) -> float:
    """Seconds that launches, copies and waits add: those of later batches overlap, but for the gaps between launches."""
    return (len(batches(queries)) * LAUNCHES * LAUNCH + COPIES * COPY + WAIT) * 1e-6


@dataclass(frozen=True)
class Scan:
    """How a search is computed. Instructions and steps are those of one distance, of one lane."""
    label: str
    instructions: float
    steps: float
    rows: int  # of a tile
    queries: int
    mma: bool = False  # matrix units do the steps, at the peak that the maker states

    def distances(self, queries: int) -> int:
        """Of whole tiles."""
        return sum(-(-ROWS // self.rows) * self.rows * -(-one // self.queries) * self.queries for one in batches(queries))


def estimate(card: Card, element: str, queries: int, scan: Scan) -> Estimate:
    reading = ROWS * (COLUMNS * BYTES[element] + TERMS) / (card.memory * 1e9)
    cycles = card.units * card.clock * 1e9
    distances = scan.distances(queries)
    by_matrix_units = 2 * COLUMNS / (card.peaks[element] * 1e12)
    pipe, wide = ("dp4a", card.dots) if element == "i8" else ("FFMA", card.fused)
    times = {"memory": reading * len(batches(queries)), "issue": distances * scan.instructions / (cycles * card.issue)}
    times |= {"mma": distances * by_matrix_units} if scan.mma else {pipe: distances * scan.steps / (cycles * wide)}
    wall = max(times, key=times.get)
    host = asked(queries)
    limit = max(reading, ROWS * queries * by_matrix_units)
    return Estimate((times[wall] + host) * 1e3, limit * 1e3, "host" if host > times[wall] else wall)
