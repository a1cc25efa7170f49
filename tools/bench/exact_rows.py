"""The rows of `./dev bench exact`: workloads, data and aims."""

from dataclasses import dataclass, replace

MILLION = 1_000_000


@dataclass(frozen=True)
class Row:
    key: str
    title: str
    threads: int = 1
    rows: int = MILLION
    dim: int = 128
    queries: int = 1000  # of one round
    batch: int = 1000  # of one call; 0: the workload is add()
    precision: str = "int8"
    yardstick: str = "AMX peak"  # or "read bandwidth"; empty: none
    peers: tuple[str, ...] = ("faiss", "torch", "usearch", "numpy")
    aims: tuple[tuple[str, float], ...] = ()  # ratio to "best peer" or a peer, or percent of the yardstick
    rounds: int = 9

    @property
    def data(self) -> tuple[int, int, int]:
        """Rows of one group share processes, data and threads."""
        return self.rows, self.dim, self.threads


SINGLE = {"queries": 20, "batch": 1, "yardstick": "read bandwidth"}
ROWS = (
    Row("batch-1000", "1M × 128, batch 1,000, one thread", aims=(("best peer", 12),)),
    Row("batch-100", "1M × 128, batch 100, one thread", queries=200, batch=100, aims=(("best peer", 8),)),
    Row("single", "1M × 128, single query, one thread", peers=("faiss", "torch", "usearch", "numpy", "faiss-sq8"),
        aims=(("best peer", 3), ("faiss-sq8 SQ8", 1.5)), **SINGLE),
    Row("single-fp32", "1M × 128, single query, fp32 alone, one thread", precision="fp32", peers=("faiss",),
        aims=(("read bandwidth", 85),), **SINGLE),
    Row("add", "adding 1M × 128, one thread", batch=0, yardstick="", peers=("faiss",), aims=(("best peer", 0.3),)),
    Row("batch-1000-two", "1M × 128, batch 1,000, two threads", threads=2, aims=(("best peer", 10),)),
    Row("batch-1000-768", "1M × 768, batch 1,000, one thread", dim=768, rounds=5,
        peers=("faiss", "torch"), aims=(("best peer", 6),)),
)


def chosen(keys: list[str], quick: bool, rounds: int | None) -> list[Row]:
    """The rows of those keys, or all; quick ones have a tenth of the vectors and no second data set."""
    rows = [row for row in ROWS if not keys or row.key in keys]
    if quick:
        rows = [replace(row, rows=row.rows // 10, rounds=5, title=row.title.replace("1M", "100 k"))
                for row in rows if row.dim == 128]
    return [replace(row, rounds=rounds) if rounds else row for row in rows]
