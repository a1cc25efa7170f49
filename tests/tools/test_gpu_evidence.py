"""The evidence from machine code: how it is read, and that docs/gpu-evidence.md is true of today's kernels."""

import dataclasses
import re

import pytest

from tools.dialects import environment
from tools.dialects.kernels import Text
from tools.dialects.nvrtc import Nvrtc
from tools.gpu_evidence import amd, collect, cubin, page, roofline, table
from tools.gpu_evidence.hot import Hot, hot_kernels
from tools.gpu_evidence.occupancy import AMD, NVIDIA, occupancy

ROOT = environment.ROOT
# One of each family; all of them are compiled by `./dev soak cuda-hip`.
SAMPLED = ("scan_bounds i8, 128 x 128", "scan_bounds i8, 128 x 128, mma", "l2_squared f32", "matmul f16", "top_k, room 256", "reduce_sum f32")


@pytest.fixture(scope="module")
def nvrtc():
    return Nvrtc(environment.nvrtc_library())


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    programs = [ROOT / "build" / preset / "bin" / "vectis-kernels" for preset in ("release", "dev")]
    program = next((one for one in programs if one.is_file()), None)
    if program is None:
        pytest.skip("vectis-kernels is not built; run ./dev build")
    return collect.printed(program, tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def written():
    return (ROOT / "docs" / "gpu-evidence.md").read_text()


def compiled(nvrtc, body, architecture, bounds="64"):
    text = f'extern "C" __global__ void __launch_bounds__({bounds}) k(float4* x, int* n) {{ {body} }}'
    words = [f"--gpu-architecture={architecture}", "--ptxas-options=-v"]
    return cubin.kernels(*nvrtc.machine_code(text, words))["k"]


@pytest.mark.parametrize("architecture", collect.READ)
def test_widths_and_dot_products_are_seen(nvrtc, architecture):
    kernel = compiled(nvrtc, "x[threadIdx.x] = x[threadIdx.x + 64]; n[0] = __dp4a(n[1], n[2], n[3]);", architecture)
    widths = kernel.widths("LDG")
    assert widths[128] == 1 and widths[32] >= 1
    assert kernel.count("IDP") == 1
    assert kernel.spilled == 0 and kernel.count("LDL", "STL") == 0
    assert kernel.registers >= 8


@pytest.mark.parametrize("architecture", collect.READ)
def test_spills_are_seen(nvrtc, architecture):
    """More values live at once than the registers allowed."""
    body = ("float a[64];\n#pragma unroll\nfor (int i = 0; i < 64; i++) a[i] = ((volatile float*)x)[i];\n"
            "__syncthreads();\n#pragma unroll\nfor (int i = 0; i < 64; i++) ((volatile float*)x)[i] = a[63 - i];")
    kernel = compiled(nvrtc, body, architecture, bounds="1024, 2")  # leaves 32 of the 65,536
    assert kernel.spilled > 0 and kernel.stack > 0
    assert kernel.count("LDL") > 0 and kernel.count("STL") > 0
    row = collect.nvidia_row(Hot("reductions", Text("k", "built-in", "cuda-c++", "vt_reduce_sum", ROOT, ["f32"], 64)),
                             architecture, kernel)
    assert collect.Evidence("", [], [row]).unexplained() == [row]


@pytest.mark.parametrize("architecture", collect.READ)
def test_loops_are_found(nvrtc, architecture):
    """One in the other, with shared memory in the inner one alone."""
    body = ("__shared__ float part[64];\n#pragma unroll 1\nfor (int i = 0; i < n[0]; i++) {\n"
            "part[threadIdx.x] = x[i].x;\n__syncthreads();\nfloat sum = 0;\n#pragma unroll 1\n"
            "for (int k = 0; k < n[1]; k++) sum = fmaf(part[k], part[k + 1], sum);\n__syncthreads();\nx[i].y = sum; }")
    kernel = compiled(nvrtc, body, architecture)
    found = cubin.loops(kernel.code, split=int(architecture[3:]) >= 90)

    def has(loop, operation):
        return any(one.operation == operation for one in kernel.code[loop.begin:loop.end + 1])

    outer = [loop for loop in found if has(loop, "BAR")]
    inner = [loop for loop in found if not has(loop, "BAR")]
    assert len(outer) == 1 and len(inner) >= 1
    assert all(loop in outer[0] and has(loop, "LDS") and has(loop, "FFMA") for loop in inner)


def test_what_is_no_cubin_is_refused():
    with pytest.raises(ValueError, match="no ELF"):
        cubin.sections(b"nothing" * 20)


# Figures of NVIDIA's occupancy calculator, and of LLVM's notes for AMD.
@pytest.mark.parametrize("unit, registers, shared, items, share", [
    (NVIDIA["sm_80"], 32, 0, 256, 1.0), (NVIDIA["sm_80"], 40, 8320, 256, 0.75), (NVIDIA["sm_80"], 72, 0, 256, 0.375),
    (NVIDIA["sm_80"], 255, 0, 256, 0.125), (NVIDIA["sm_80"], 16, 48 << 10, 256, 0.375),
    (NVIDIA["sm_90"], 16, 48 << 10, 256, 0.5), (NVIDIA["sm_90"], 16, 0, 32, 0.5), (NVIDIA["sm_70"], 32, 0, 1024, 1.0),
    (AMD["gfx90a"], 64, 0, 256, 1.0), (AMD["gfx90a"], 128, 0, 256, 0.5), (AMD["gfx90a"], 129, 0, 256, 0.375),
    (AMD["gfx90a"], 24, 32 << 10, 256, 0.25), (AMD["gfx1030"], 64, 0, 256, 1.0), (AMD["gfx1030"], 128, 0, 256, 0.5),
    (AMD["gfx942"], 128, 0, 256, 0.5), (AMD["gfx1100"], 96, 0, 256, 1.0), (AMD["gfx1201"], 192, 0, 256, 0.5),
])
def test_occupancy_is_the_makers(unit, registers, shared, items, share):
    assert occupancy(unit, registers, shared, items) == share


def test_notes_of_amd_are_read():
    kernel = ("  - .agpr_count:     0\n    .args:\n      - .offset:         0\n        .size:           8\n"
              "    .group_segment_fixed_size: {lds}\n    .name:           {name}\n    .private_segment_fixed_size: 12\n"
              "    .sgpr_count:     72\n    .sgpr_spill_count: 1\n    .symbol:         {name}.kd\n"
              "    .vgpr_count:     52\n    .vgpr_spill_count: 2\n    .wavefront_size: 64\n")
    notes = ("AMDGPU Metadata:\n        ---\namdhsa.kernels:\n" + kernel.format(lds=8320, name="vt_a") +
             kernel.format(lds=0, name="vt_b") + "amdhsa.target:   amdgcn-amd-amdhsa--gfx90a\n")
    found = amd.parse(notes)
    assert found["vt_a"] == amd.CodeObject("vt_a", vgprs=52, sgprs=72, lds=8320, scratch=12, spilled=3, wave=64)
    assert list(found) == ["vt_a", "vt_b"] and found["vt_b"].lds == 0


def test_the_model_has_walls():
    card = roofline.Card("card", "sm_80", 100, 1.0, 1000, 64, 64, {"f32": 10, "f16": 20, "i8": 40})
    host = roofline.asked(1) * 1e3

    def estimate(element, queries, instructions, steps, mma=False, on=card):
        return roofline.estimate(on, element, queries, roofline.Scan("", instructions, steps, 10, 10, mma))

    few = estimate("f32", 1, instructions=300, steps=128)
    assert few.wall == "memory" and few.milliseconds == pytest.approx(1e6 * 528 / 1e12 * 1e3 + host)
    issue = estimate("f32", 1000, instructions=300, steps=128)
    assert issue.wall == "issue" and issue.milliseconds == pytest.approx(1e9 * 300 / (1e11 * 128) * 1e3 + host)
    pipe = estimate("i8", 1000, instructions=40, steps=32)
    assert pipe.wall == "dp4a" and pipe.milliseconds == pytest.approx(1e9 * 32 / (1e11 * 64) * 1e3 + host)
    assert pipe.share == pytest.approx(pipe.limit / pipe.milliseconds)
    assert pipe.limit == pytest.approx(2e9 * 128 / 40e12 * 1e3)
    units = estimate("i8", 1000, instructions=20, steps=1, mma=True)
    assert units.wall == "mma" and units.limit == pipe.limit
    assert units.milliseconds == pytest.approx(units.limit + host)
    fast = dataclasses.replace(card, memory=100_000)
    assert estimate("i8", 1, instructions=20, steps=1, on=fast).wall == "host"
    assert roofline.asked(10_000) > roofline.asked(1000) == roofline.asked(1)
    assert estimate("i8", 1000, instructions=100, steps=1, mma=True).wall == "issue"


def test_whole_tiles_of_each_batch_are_computed():
    scan = roofline.Scan("", 1, 1, rows=128, queries=128)
    rows = 1_000_064  # the next multiple of 128
    assert scan.distances(1) == scan.distances(128) == rows * 128
    assert scan.distances(1000) == rows * 1024
    assert scan.distances(2100) == rows * (1024 + 1024 + 128)
    assert roofline.batches(2100) == [1000, 1000, 100]


def test_the_page_is_of_todays_texts(manifest, written):
    assert f"texts: {collect.checksum(manifest)}\n" in written, "run python3 -m tools.gpu_evidence"


def test_the_report_predicts_with_the_counts_of_the_page(written):
    """Rows of the table that `vectis report` uses add up to the column "per distance"."""
    lines = (ROOT / table.FOLDER / "counted_kernels.inc").read_text().splitlines()[3:]
    assert len(lines) >= 40
    page_rows = {cells[0]: cells[10] for cells in (line.strip("| ").split(" | ") for line in written.splitlines()) if len(cells) == 12}
    for line in lines:
        label = re.match(r'\{"([^"]+)"', line)[1]
        pairs = re.findall(r"\{(\d+\.\d+), (\d+\.\d+)\}", line)
        counted = [float(loop) + float(rest) for loop, rest in pairs]
        stated = [float(cell) for cell in page_rows[label].split(" / ")]
        stated = stated * len(counted) if len(stated) == 1 else stated
        assert counted == pytest.approx(stated, abs=0.52), label


def test_the_report_knows_the_cards_of_the_roofline():
    assert (ROOT / table.FOLDER / "cards.inc").read_text() == table.cards(), "run python3 -m tools.gpu_evidence"
    assert set(table.DRIVER_NAMES) == {card.name for card in roofline.CARDS}


def test_no_hot_kernel_spills(written):
    """No kernel in the table has spills, except those the page explains."""
    rows = [re.split(r" \| ", line.strip("| ")) for line in written.splitlines() if re.match(r"\| (\w+_\w+|matmul)", line)]
    spills = [(row[0], row[3]) for row in rows]
    assert len(spills) >= 2 * 60
    assert [row for row in spills if row[1] != "0"] == []
    assert ", 0 with spills that have no reason." in written


def test_sampled_kernels_compile_to_what_the_page_says(manifest, written, nvrtc):
    kernels = [one for one in hot_kernels(manifest, "cuda-c++") if one.label in SAMPLED]
    assert len(kernels) == len(SAMPLED)
    rows = [collect.nvidia(manifest, kernels, architecture, nvrtc) for architecture in collect.READ]
    for of_kernel in zip(*rows):
        assert f"| {' | '.join(page.nvidia_line(list(of_kernel)))} |" in written, "run python3 -m tools.gpu_evidence"
        assert not any(row.spilled for row in of_kernel)


def test_int8_is_scanned_by_dot_products(manifest, nvrtc):
    kernels = [one for one in hot_kernels(manifest, "cuda-c++") if one.label == SAMPLED[0]]
    row = collect.nvidia(manifest, kernels, "sm_80", nvrtc)[0]
    assert row.counts["IDP"] >= 16 and row.cost.steps == 32


@pytest.mark.parametrize("architecture", collect.READ)
def test_int8_is_scanned_by_matrix_units(manifest, nvrtc, architecture):
    """One instruction for the 32 dot products of four bytes that a distance takes otherwise."""
    kernels = {one.label: one for one in hot_kernels(manifest, "cuda-c++")}
    by_dots = collect.nvidia(manifest, [kernels[SAMPLED[0]]], architecture, nvrtc)[0]
    row = collect.nvidia(manifest, [kernels[SAMPLED[1]]], architecture, nvrtc)[0]
    assert row.counts["IDP"] == 0 and row.counts["IMMA"] >= 16 and row.cost.steps == 1
    assert row.spilled == 0 and 3 * row.cost.loop < by_dots.cost.loop


def test_matrix_units_are_not_used_on_older_architectures(manifest):
    mma = [one for one in hot_kernels(manifest, "cuda-c++") if one.uses_mma]
    assert len(mma) == 4
    assert all(one.text.runs_on("sm_75") and not one.text.runs_on("sm_70") for one in mma)


def test_amds_matrix_units_are_used_on_cdna_alone(manifest):
    mma = [one for one in hot_kernels(manifest, "hip-c++") if one.uses_mma]
    assert len(mma) == 4
    assert all(one.text.runs_on("gfx90a") and one.text.runs_on("gfx942") and not one.text.runs_on("gfx1100") for one in mma)


@pytest.mark.parametrize("architecture, instruction, steps", [("gfx90a", "v_mfma_i32_16x16x16i8", 2),
                                                              ("gfx942", "v_mfma_i32_16x16x32_i8", 1)])
def test_int8_is_scanned_by_amds_matrix_units(manifest, architecture, instruction, steps):
    """Eight fragments of queries by two of rows in each round; one instruction or two multiply a pair of fragments."""
    if not amd.available():
        pytest.skip("no compiler for AMD's GPUs")
    one = next(one for one in hot_kernels(manifest, "hip-c++") if one.label == SAMPLED[1])
    made = amd.assembly(manifest, one.text, architecture)
    assert made.count(instruction) == 16 * steps and "v_dot4" not in made
    assert amd.parse(made)[one.text.entry].spilled == 0
