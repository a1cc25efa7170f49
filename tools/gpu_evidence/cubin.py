"""Reads NVIDIA's machine code: sections of a cubin (64-bit ELF), its 16-byte instructions, and what ptxas reports about
registers and spills.

An instruction's operation is in its lowest bits; bits 9 to 11 only say where operands come from. Loads and stores have
their width in bits 73 to 75.
"""

import re
import struct
from collections import Counter
from dataclasses import dataclass, field

SIZE = 16
OPERATIONS = {0x03c: "HMMA", 0x037: "IMMA", 0x181: "LDG", 0x1ae: "LDGSTS", 0x03b: "LDSM", 0x184: "LDS", 0x188: "STS",
              0x186: "STG", 0x023: "FFMA", 0x024: "IMAD", 0x026: "IDP", 0x183: "LDL", 0x187: "STL", 0x147: "BRA",
              0x14d: "EXIT", 0x118: "NOP", 0x11d: "BAR", 0x1a8: "ATOMG"}
_WIDTHS = {0: 8, 1: 8, 2: 16, 3: 16, 4: 32, 5: 64, 6: 128}
_ELF = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True)
class Instruction:
    word: int  # 128 bits

    @property
    def operation(self) -> str:
        return OPERATIONS.get(self.word & 0x1ff, "")

    @property
    def bits(self) -> int:
        """How wide a load or store is."""
        return _WIDTHS.get(self.word >> 73 & 7, 0)


def sections(cubin: bytes) -> dict[str, bytes]:
    """Contents by name."""
    head = _ELF.unpack_from(cubin)
    if head[0][:5] != b"\x7fELF\x02":
        raise ValueError("no ELF of 64 bits")
    start, count, names_at = head[6], head[12], head[13]
    headers = [_SECTION.unpack_from(cubin, start + number * _SECTION.size) for number in range(count)]
    names = headers[names_at][4]

    def name(header: tuple) -> str:
        begin = names + header[0]
        return cubin[begin:cubin.index(b"\0", begin)].decode()

    nobits = 8
    return {name(header): b"" if header[1] == nobits else cubin[header[4]:header[4] + header[5]] for header in headers}


def instructions(code: bytes) -> list[Instruction]:
    """Without the padding at the end: a jump to itself, and NOPs."""
    found = [Instruction(int.from_bytes(code[at:at + SIZE], "little")) for at in range(0, len(code), SIZE)]
    while found and found[-1].operation in ("NOP", "BRA"):
        found.pop()
    return found


@dataclass(frozen=True)
class Loop:
    """Instructions `begin` to `end`, both of them in it; the last jumps back to the first."""
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin + 1

    def __contains__(self, other: "Loop | int") -> bool:
        """A place, or another loop as a whole."""
        if isinstance(other, Loop):
            return other != self and self.begin <= other.begin and other.end <= self.end
        return self.begin <= other <= self.end


def jumps(code: list[Instruction], split: bool) -> dict[int, int]:
    """Where each jump leads. The distance counts 4 bytes from the next instruction; from sm_90 on its lowest 8 bits stand
    apart."""
    found = {}
    for place, one in enumerate(code):
        if one.operation != "BRA":
            continue
        distance = one.word >> 34 & (1 << 48) - 1
        distance -= (distance & 1 << 47) << 1
        if split:
            distance = distance << 8 | one.word >> 16 & 0xff
        target = place + 1 + distance // 4
        if distance % 4 != 0 or not 0 <= target <= len(code):
            raise ValueError(f"the jump at {place} has no target")
        found[place] = target
    return found


def loops(code: list[Instruction], split: bool) -> list[Loop]:
    """From the jumps backward."""
    ends: dict[int, int] = {}
    for place, target in jumps(code, split).items():
        if target <= place:
            ends[target] = max(place, ends.get(target, 0))
    return [Loop(begin, end) for begin, end in sorted(ends.items())]


@dataclass
class Kernel:
    """One kernel for one architecture."""
    entry: str
    registers: int = 0
    shared: int = 0  # bytes
    stack: int = 0  # bytes of local memory, spills among them
    spilled: int = 0  # bytes stored and loaded
    code: list[Instruction] = field(default_factory=list)

    def count(self, *operations: str) -> int:
        return sum(one.operation in operations for one in self.code)

    def widths(self, operation: str) -> dict[int, int]:
        """How many instructions there are of each width."""
        return dict(sorted(Counter(one.bits for one in self.code if one.operation == operation).items()))


_COMPILING = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def kernels(cubin: bytes, log: str) -> dict[str, Kernel]:
    """By entry point. `log` is the output of ptxas -v."""
    found: dict[str, Kernel] = {}
    for name, content in sections(cubin).items():
        if name.startswith(".text."):
            entry = name.removeprefix(".text.")
            found[entry] = Kernel(entry, code=instructions(content))
    reported = set()
    for part in re.split(r"(?=ptxas info\s+: Compiling entry function)", log):
        match = _COMPILING.search(part)
        if not match:
            continue
        kernel, spills, used = found[match.group(1)], _SPILLS.search(part), _USED.search(part)
        kernel.stack = int(spills.group(1))
        kernel.spilled = int(spills.group(2)) + int(spills.group(3))
        kernel.registers = int(used.group(1))
        shared = _SHARED.search(part)
        kernel.shared = int(shared.group(1)) if shared else 0
        reported.add(kernel.entry)
    if reported != set(found):
        raise ValueError(f"ptxas reports nothing about {sorted(set(found) - reported)}")
    return found
