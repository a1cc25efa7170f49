"""Telling code from comments and literals."""

import pytest

from tools.check.source import blank_comments_and_strings, find_includes


@pytest.mark.parametrize("text", ["// keep\\\n keep", "/* keep\nkeep */", '"keep"', '"\\"keep"', "'keep'", 'R"x(keep)" )x"',
                                  'u8R"(keep\n")"', "/* keep"])
def test_comments_and_literals_are_blanked(text):
    blanked = blank_comments_and_strings(f"a {text}\nb")
    assert "keep" not in blanked
    assert blanked.startswith("a ")
    assert blanked.count("\n") == text.count("\n") + 1


@pytest.mark.parametrize("text", ["1'000'000 keep", "a / b keep", "'\"' keep", "x = 0xFF'FF; keep", 'L"x" keep'])
def test_code_is_kept(text):
    assert "keep" in blank_comments_and_strings(text)


def test_includes_are_found_where_the_compiler_finds_them():
    text = ('// #include "a.hpp"\n#include "b.hpp"  // why\n/*\n#include <c>\n*/\n  #  include <d/e.h>\n'
            'auto s = R"(\n#include <f>\n)";\n')
    assert [(include.line, include.target, include.quoted) for include in find_includes(text)] == [
        (2, "b.hpp", True), (6, "d/e.h", False)]
