"""Instructions of one distance, counted in the machine code of kernels that make a tile of them.

Such a kernel is a loop over tiles; in it a loop over the depth of the vectors, a part of it a round; in that, between two
barriers, the multiply-adds, perhaps in a loop of their own. Before the first barrier words are stored to shared memory,
in loops that are unrolled or not: they are counted by the words that must be stored, each at its price in those loops.
Kernels that load words ahead load them between the barriers instead.
Behind the loop over the depth stands what is done with sums. Code that appends a result is not counted: it is what
few distances come to.
"""

from dataclasses import dataclass

from tools.gpu_evidence.cubin import Kernel, Loop, jumps, loops
from tools.gpu_evidence.hot import COLUMNS, Hot


@dataclass(frozen=True)
class Cost:
    """Of a lane, for one distance of vectors of 128 elements."""
    steps: float  # multiply-adds, dot products of four bytes, or instructions of matrix units
    loop: float  # instructions of the loop over the depth, those steps among them
    rest: float  # instructions before and behind it: the bound, the comparison, the store

    @property
    def instructions(self) -> float:
        return self.loop + self.rest


def step_operation(one: Hot) -> str:
    if one.uses_mma:
        return "IMMA"
    if one.uses_dp4a:
        return "IDP"
    return "IMAD" if one.text.elements[0] == "i8" else "FFMA"


class _Tile:
    def __init__(self, one: Hot, kernel: Kernel, split: bool):
        self.code, self.step = kernel.code, step_operation(one)
        self.jumps = jumps(kernel.code, split)
        found = loops(kernel.code, split)
        all_barriers = self.places("BAR", Loop(0, len(self.code)))
        over_depth = sorted((loop for loop in found if len(self.places("BAR", loop)) >= 2), key=len)
        around = [loop for loop in over_depth[1:] if all(place in loop for place in all_barriers)]
        if not around or self.count("BAR", over_depth[0]) != 2:
            raise ValueError(f"{one.label} is no loop over tiles around one over the depth with two barriers")
        self.depth, self.tiles = over_depth[0], around[0]
        barriers = self.places("BAR", self.depth)
        self.products = Loop(*barriers)
        self.inner = [loop for loop in found if loop in self.depth]

    def places(self, operation: str, within: Loop) -> list[int]:
        return [place for place, one in enumerate(self.code) if place in within and one.operation == operation]

    def count(self, operation: str, within: Loop) -> int:
        return len(self.places(operation, within))

    def of_products(self, steps: int) -> float:
        """Instructions between the barriers, of a round with so many steps."""
        inside = [loop for loop in self.inner if loop in self.products and self.count(self.step, loop)]
        if not inside:
            return len(self.products)
        loop = max(inside, key=len)
        return len(self.products) + len(loop) * (steps / self.count(self.step, loop) - 1)

    def of_words(self, words: float) -> float:
        """Instructions that store so many words to shared memory."""
        before = Loop(self.depth.begin, self.products.begin)
        filling = [loop for loop in self.inner if loop in before and self.count("STS", loop)]
        parts = filling or [before]
        stored = sum(self.code[place].bits / 32 for part in parts for place in self.places("STS", part))
        return words * sum(len(part) for part in parts) / stored

    def of_rest(self) -> int:
        """Instructions of a tile outside the loop over the depth, without those that append."""
        behind = set(range(self.tiles.begin, self.tiles.end + 1)) - set(range(self.depth.begin, self.depth.end + 1))
        for atomic in self.places("ATOMG", self.tiles):
            over = [(target - place, place, target) for place, target in self.jumps.items()
                    if place < atomic < target and not self.count("BAR", Loop(place, target))]
            _, place, target = max(over)
            behind -= set(range(place + 1, target))
        return len(behind)


def cost(one: Hot, kernel: Kernel, split: bool) -> Cost | None:
    """Nothing for kernels that make no tile."""
    if one.results == 0:
        return None
    tile = _Tile(one, kernel, split)
    rounds = COLUMNS / (one.depth * one.packed)
    behind = tile.depth.end - tile.products.end
    of_round = tile.of_words(one.words_stored) + tile.of_products(one.depth * one.results) + behind
    return Cost(one.steps, of_round * rounds / one.results, tile.of_rest() / one.results)
