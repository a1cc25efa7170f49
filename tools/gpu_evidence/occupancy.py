"""How many groups a compute unit holds at once, from what a kernel takes, by the makers' published rules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """What a multiprocessor (NVIDIA) or compute unit (AMD) has for groups."""
    lanes: int  # of a warp or wavefront
    waves: int  # at most, in each part
    parts: int  # schedulers that waves are spread over, each with its own registers
    registers: int  # of each part, for a lane
    register_step: int  # in which they are given to a wave, for a lane
    shared: int  # bytes
    shared_step: int
    shared_own: int  # bytes that each group takes beside its own
    groups: int  # at most


# CUDA C++ Programming Guide, "Compute Capabilities"; registers are given to warps 256 at a time, 8 for each lane.
NVIDIA = {
    "sm_70": Unit(32, 16, 4, 512, 8, 96 << 10, 256, 0, 32),
    "sm_75": Unit(32, 8, 4, 512, 8, 64 << 10, 256, 0, 16),
    "sm_80": Unit(32, 16, 4, 512, 8, 164 << 10, 128, 1024, 32),
    "sm_89": Unit(32, 12, 4, 512, 8, 100 << 10, 128, 1024, 24),
    "sm_90": Unit(32, 16, 4, 512, 8, 228 << 10, 128, 1024, 32),
    "sm_100": Unit(32, 16, 4, 512, 8, 228 << 10, 128, 1024, 32),
    "sm_120": Unit(32, 12, 4, 512, 8, 100 << 10, 128, 1024, 24),
}
# LLVM's User Guide for AMDGPU: granules of registers; instruction set guides of CDNA2, CDNA3 and RDNA2 to RDNA4: waves,
# LDS. RDNA runs waves of 32 lanes.
AMD = {
    "gfx90a": Unit(64, 8, 4, 512, 8, 64 << 10, 512, 0, 16),
    "gfx942": Unit(64, 8, 4, 512, 8, 64 << 10, 512, 0, 16),
    "gfx1030": Unit(32, 16, 2, 1024, 16, 64 << 10, 512, 0, 16),
    "gfx1100": Unit(32, 16, 2, 1536, 24, 64 << 10, 512, 0, 16),
    "gfx1201": Unit(32, 16, 2, 1536, 24, 64 << 10, 512, 0, 16),
}


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def occupancy(unit: Unit, registers: int, shared: int, items: int) -> float:
    """Waves at work over waves that could be, 0 to 1, for groups of `items` work-items."""
    of_group = _up(items, unit.lanes) // unit.lanes
    of_part = min(unit.waves, unit.registers // _up(max(registers, 1), unit.register_step))
    by_waves = of_part * unit.parts // of_group
    taken = _up(shared, unit.shared_step) + unit.shared_own
    by_shared = unit.shared // taken if taken else unit.groups
    return min(by_waves, by_shared, unit.groups) * of_group / (unit.waves * unit.parts)
