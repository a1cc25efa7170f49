"""Lanes of a warp store blocks of matrices to different banks of shared memory."""

import re
from collections import defaultdict

import pytest

from tools.dialects import environment
from tools.gpu_evidence import collect
from tools.gpu_evidence.hot import hot_kernels

ROOT = environment.ROOT
LANES = BANKS = 32  # of NVIDIA's GPUs; AMD's have as many banks


@pytest.fixture(scope="module")
def of_dialects(tmp_path_factory):
    program = ROOT / "build" / "release" / "bin" / "vectis-kernels"
    if not program.is_file():
        pytest.skip("vectis-kernels is not built; run ./dev build")
    manifest = collect.printed(program, tmp_path_factory.mktemp("texts"))
    return {dialect: hot_kernels(manifest, dialect) for dialect in ("cuda-c++", "hip-c++")}


@pytest.fixture(scope="module")
def kernels(of_dialects):
    return of_dialects["cuda-c++"]


def conflicts(words):
    """The most words of one bank that lanes access at once."""
    by_bank = defaultdict(set)
    for word in words:
        by_bank[word % BANKS].add(word)
    return max(len(found) for found in by_bank.values())


def stored(pitch, depth):
    """The words that the first warp stores at once, where lanes follow the depth of a row."""
    return [lane % depth * pitch + lane // depth for lane in range(LANES)]


def test_conflicts_are_counted():
    assert conflicts(range(32)) == 1 and conflicts([7] * 32) == 1
    assert conflicts(range(0, 64, 2)) == 2 and conflicts(range(0, 1024, 32)) == 32
    assert conflicts(stored(65, 16)) == 2 and conflicts(stored(66, 16)) == 1


def test_tiles_store_without_conflicts(kernels):
    found = [one for one in kernels if "TILE" in one.text.defines]
    assert len(found) >= 16
    for one in found:
        pitch, depth, tile = (int(one.text.defines[name].rstrip("u")) for name in ("PITCH", "DEPTH", "TILE"))
        assert conflicts(stored(pitch, depth)) == 1, one.label
        assert conflicts(range(tile)[:LANES]) == 1


def test_scans_store_without_conflicts(kernels):
    """The queries of narrow tiles are few, and read four at a time, which leaves no pitch without conflicts."""
    seen = set()
    for one in kernels:
        if one.operation != "scan_bounds":
            continue
        text = one.text.file.read_text()
        for side in ("x", "q"):
            pitches = set(re.findall(rf"{side}_to = \(LOCAL_ID\(0\) % DEPTH\) \* (\d+)u", text)
                          + re.findall(rf"{side}_part\[\(i % DEPTH\) \* (\d+)u", text))
            for pitch in map(int, pitches):
                seen.add((side, pitch))
                narrow = one.depth == 16 and side == "q"
                assert conflicts(stored(pitch, one.depth)) <= (4 if narrow else 1), (one.label, side, pitch)
    assert {side for side, _ in seen} == {"x", "q"} and len(seen) >= 5


def test_quads_of_matrix_units_have_no_conflicts(kernels):
    """Eight lanes access 16 bytes each at a time: four depths of two quads."""
    found = [one for one in kernels if one.label.endswith(", mma")]
    assert len(found) == 2
    for one in found:
        text = one.text.file.read_text()
        pitches = [int(pitch) for pitch in re.findall(r"_quads\[item % 4u \* (\d+)u \+ own_quad\]", text)]
        assert len(pitches) == 2
        for pitch in pitches:
            assert f"_depth * {pitch}u;" in text
            quads = [lane % 4 * pitch + lane // 4 for lane in range(8)]
            assert conflicts([4 * quad + word for quad in quads for word in range(4)]) == 1


def test_pairs_of_amds_matrix_units_have_no_conflicts(of_dialects):
    """16 lanes access 8 bytes each at a time: they store four depths of four rows, and read one depth of 16."""
    found = [one for one in of_dialects["hip-c++"] if one.label.endswith(", mma")]
    assert len(found) == 2
    for one in found:
        text = one.text.file.read_text()
        pitches = {int(pitch) for pitch in re.findall(r"_block\[item % 4u \* (\d+)u \+ own_row", text)}
        assert pitches == {int(pitch) for pitch in re.findall(r"_depth \* (\d+)u;", text)} and pitches
        for pitch in pitches:
            pairs = [lane % 4 * pitch + lane // 4 for lane in range(16)]
            assert conflicts([2 * pair + word for pair in pairs for word in range(2)]) == 1


def test_words_of_amds_matrix_units_are_read_without_conflicts(of_dialects):
    """Half a wave reads words of 16 rows at two depths at a time."""
    found = [one for one in of_dialects["hip-c++"] if one.label.endswith(", mma by words")]
    assert len(found) == 2
    for one in found:
        text = one.text.file.read_text()
        pitches = {int(pitch) for pitch in re.findall(r"_word \* (\d+)u;", text)}
        assert text.count("_word = k_block % 2u * 4u + k_block / 2u * 2u;") == 2 and pitches
        for pitch in pitches:
            for lanes in (range(32), range(32, 64)):
                depths = [lane // 16 % 2 * 4 + lane // 32 * 2 for lane in lanes]
                assert conflicts([depth * pitch + lane % 16 for depth, lane in zip(depths, lanes)]) == 1
