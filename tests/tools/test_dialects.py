"""The proof of the dialects: what it makes of texts, compilers' words and logs."""

import json

import pytest

from tools.dialects.kernels import Manifest, Text, batches, module
from tools.dialects.metal import pinned
from tools.dialects.oclgrind import findings
from tools.dialects.programs import build_failures


def text(tmp_path, kernel, entry, source=""):
    file = tmp_path / kernel
    file.write_text(source)
    return Text(kernel, "built-in", "cuda-c++", entry, file)


def test_a_batch_holds_each_entry_point_once(tmp_path):
    texts = [text(tmp_path, f"k{i}", f"vt_{i % 3}") for i in range(7)]
    made = batches(texts, 2)
    assert sorted(t.kernel for batch in made for t in batch) == sorted(t.kernel for t in texts)
    for batch in made:
        assert len(batch) <= 2
        assert len({t.entry for t in batch}) == len(batch)


def test_a_module_keeps_the_macros_of_kernels_apart(tmp_path):
    made = module([text(tmp_path, "a", "vt_a", "#define LOAD_x(i) 1\nint a;"), text(tmp_path, "b", "vt_b", "int b;")])
    assert made.index("#define LOAD_x") < made.index("#undef LOAD_x") < made.index("int b;")
    assert "namespace kernel_1 {\nint b;\n}" in made


def test_the_manifest_names_texts_by_dialect(tmp_path):
    entry = {"kernel": "a", "kind": "random", "entry": "vt_a", "file": "a.wgsl"}
    content = {"options": {"wgsl": "-x  -y"}, "texts": [{**entry, "dialect": "wgsl"}, {**entry, "dialect": "hip-c++"}]}
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    manifest = Manifest(tmp_path)
    assert [t.file for t in manifest.of("wgsl")] == [tmp_path / "a.wgsl"]
    assert manifest.options("wgsl") == ["-x", "-y"]
    with pytest.raises(KeyError):
        manifest.options("msl")


def test_every_finding_of_oclgrind_counts():
    log = "\nWrite-write data race at global memory\n\tKernel: a\n\n\tFirst entity\n\nInvalid read of size 4\n\tKernel: b\n"
    assert [found.splitlines()[0] for found in findings(log)] == ["Write-write data race at global memory",
                                                                 "Invalid read of size 4"]
    assert findings("\n \n") == []


def test_failures_of_a_build_are_told_apart():
    said = "noise\na\t[compile] failed\n  line 1\nb\t[compile] failed too\nmore\n"
    assert build_failures(said, {"a", "b"}) == [("a", "[compile] failed\n  line 1"),
                                                ("b", "[compile] failed too\nmore")]
    assert build_failures("", {"a"}) == []


def test_buffers_of_metal_keep_the_numbers_of_their_bindings():
    glsl = ("layout(std430, set = 0, binding = 0) buffer a { uint x[]; };\n"
            "layout(std140, set = 0, binding = 1) uniform vti_scalars { uint n; };\n")
    metal = "kernel void main0(device A& a [[buffer({})]], constant S& s [[buffer({})]])"
    assert pinned(glsl, metal.format(0, 1)) is None
    assert pinned(glsl, metal.format(1, 2)) == "bindings [0, 1] became buffers [1, 2]"
    assert pinned(glsl, "void main0()") == "the text has no kernel"
