"""A model, no measurement: what the compiled search could reach on a device if nothing ever waited.

The time of a search is the largest of three: the rows read once at the memory's peak rate; every instruction issued, one
for each of four warps and cycle; every multiply-add through its unit. What the hardware allows is the larger of the
first, and the multiply-adds of the vectors' type at the peak that the maker states (tensor cores included).
"""

from dataclasses import dataclass

ROWS, COLUMNS = 1_000_000, 128
BATCHES = (1, 100, 10_000)
ISSUE_LANES = 128  # instructions of lanes that a multiprocessor issues in a cycle


@dataclass(frozen=True)
class Card:
    """As its maker states it. Rates count a multiply-add as two."""
    name: str
    architecture: str
    units: int
    clock: float  # GHz, boost
    memory: float  # GB/s
    fused: int  # FFMA of lanes that a unit does in a cycle
    dots: int  # IDP of lanes
    peaks: dict[str, float]  # Tera-operations a second by element


CARDS = (
    Card("A100 SXM 80 GB", "sm_80", 108, 1.41, 2039, 64, 64, {"f32": 19.5, "f16": 312, "i8": 624}),
    Card("H100 SXM", "sm_90", 132, 1.83, 3350, 128, 64, {"f32": 66.9, "f16": 989, "i8": 1979}),
    Card("B200", "sm_100", 148, 1.85, 8000, 128, 64, {"f32": 75, "f16": 2250, "i8": 4500}),
)
BYTES = {"f32": 4, "f16": 2, "i8": 1}
TERMS = 16  # bytes of bounds that are read with each row


@dataclass(frozen=True)
class Estimate:
    milliseconds: float  # what the code allows
    limit: float  # what the hardware allows
    wall: str  # "memory", "issue", "FFMA", "dp4a", "mma"


def estimate(card: Card, element: str, queries: int, instructions: float, steps: float, mma: bool = False) -> Estimate:
    """`instructions` and `steps` are those of one distance, of one lane. `mma`: matrix units do the steps, at the peak that
    the maker states."""
    distances = ROWS * queries
    memory = ROWS * (COLUMNS * BYTES[element] + TERMS) / (card.memory * 1e9)
    cycles = card.units * card.clock * 1e9
    matrix_units = 2 * distances * COLUMNS / (card.peaks[element] * 1e12)
    pipe, wide = ("dp4a", card.dots) if element == "i8" else ("FFMA", card.fused)
    times = {"memory": memory, "issue": distances * instructions / (cycles * ISSUE_LANES)}
    times |= {"mma": matrix_units} if mma else {pipe: distances * steps / (cycles * wide)}
    wall = max(times, key=times.get)
    limit = max(memory, matrix_units)
    return Estimate(times[wall] * 1e3, limit * 1e3, wall)
