#include "kernel/launch/compile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vectis {
namespace {

using detail::CompilerError;
using detail::explain_compile_error;
using detail::first_error;

TEST(CompileError, IsParsedForEveryCompiler) {
  EXPECT_EQ(first_error("noise\nfile.cl:12:5: error: use of 'y'\nmore"),
            (CompilerError{"file.cl", 12, 5, "use of 'y'"}));
  EXPECT_EQ(first_error("a/b.comp:7: error: no"), (CompilerError{"a/b.comp", 7, 0, "no"}));
  EXPECT_EQ(first_error("default_program(3): error: expected a \";\""),
            (CompilerError{"default_program", 3, 0, "expected a \";\""}));
  EXPECT_EQ(first_error("error: /tmp/a b.cl:3:10: use of 'm': gone\nDevice x failed"),
            (CompilerError{"/tmp/a b.cl", 3, 10, "use of 'm': gone"}));
  EXPECT_EQ(first_error("error: k:3:2 <Spelling=k:3:13>: use of 'm'"), (CompilerError{"k", 3, 13, "use of 'm'"}));
  EXPECT_EQ(first_error("wgsl:4:10: error: no definition"), (CompilerError{"wgsl", 4, 10, "no definition"}));
  EXPECT_EQ(first_error("f:1:2: fatal error: gone"), (CompilerError{"f", 1, 2, "gone"}));
}

TEST(CompileError, IsLocatedInsideMacroArguments) {
  EXPECT_EQ(first_error("error: square:2:3 <Spelling=square:2:26>: use of 'm'\nDevice x failed"),
            (CompilerError{"square", 2, 26, "use of 'm'"}));
  EXPECT_EQ(first_error("error: square:2:3 <Spelling=generated:90:40>: no match"),
            (CompilerError{"square", 2, 3, "no match"}));
  EXPECT_EQ(first_error("error: square:2:3 <Spelling=nowhere>: no match"), (CompilerError{"square", 2, 3, "no match"}));
}

TEST(CompileError, OtherLinesAreIgnored) {
  for (const char* const text :
       {"", "\n\n", "1 error generated.", "x: error: y", "f:1:2: warning: w", "error: link", "error: link: failed",
        ":: error: x", "(): error: z", "f:99999999999999999999: error: too large", "3: error: no file"}) {
    EXPECT_EQ(first_error(text), std::nullopt) << text;
  }
  EXPECT_EQ(first_error("f:1:2: warning: w\nf:3:4: error: e"), (CompilerError{"f", 3, 4, "e"}));
}

TEST(CompileError, ErrorsInTheUsersTextComeFirst) {
  const char* const output = "generated:4:1: error: first\nmine:2:3: error: second\nmine.functions:1:1: error: third\n";
  EXPECT_EQ(first_error(output, "mine")->message, "second");
  EXPECT_EQ(first_error(output, "other")->message, "first");
}

TEST(CompileError, IsExplainedInTermsOfTheKernel) {
  const auto explained = [](const char* output, const char* file) {
    return std::string(
        explain_compile_error({ErrorCode::compile_failed, "compile", "failed", output}, "k", file).what());
  };
  EXPECT_EQ(explained("k:2:3: error: no 'z'", "k"), "[compile_kernel] kernel 'k', line 2, column 3: no 'z'");
  EXPECT_EQ(explained("k.functions:2:3: error: no 'z'", "k"),
            "[compile_kernel] kernel 'k', functions, line 2, column 3: no 'z'");
  EXPECT_EQ(explained("x(9): error: no", ""), "[compile_kernel] kernel 'k', line 9: no");
  EXPECT_EQ(explained("prelude:9:1: error: no", "k"), "[compile_kernel] kernel 'k', in prelude, line 9, column 1: no");
  EXPECT_THAT(explained("out of registers", "k"), testing::HasSubstr("kernel 'k': [compile] failed"));
  const Error whole = explain_compile_error({ErrorCode::compile_failed, "compile", "failed", "a\nb"}, "k", "");
  EXPECT_EQ(whole.detail(), "a\nb");
}

}  // namespace
}  // namespace vectis
