#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis {
namespace {

KernelSource sample(std::string body, std::string functions = {}) {
  return {.name = "sample",
          .buffers = {{"x", DType::float16, Access::read},
                      {"y", DType::float32, Access::write},
                      {"z", DType::int8, Access::read_write},
                      {"n", DType::int32, Access::read_write}},
          .scalars = {{"count", DType::uint32}, {"scale", DType::float32}},
          .shared = {{"part", DType::float32, 64}},
          .defines = {{"TILE", "16"}},
          .functions = std::move(functions),
          .body = std::move(body)};
}

std::string describe(const std::vector<LintFinding>& findings) {
  std::string text;
  for (const LintFinding& finding : findings) {
    text += fmt::format("{}:{} {}: {}\n", finding.line, finding.column, finding.rule, finding.message);
  }
  return text;
}

// Lines of the subset, each complete, which leave the names i, k, v and ok declared.
const std::vector<std::string> clean = {
    "float a0 = 1.0f + 2.5e-3f * F32(i) - 1e5f;",
    "if (i < count && !(v > 0.0f || IS_NAN(v))) { v = -v; } else { v += 1.0f; }",
    "for (uint j = 0u; j < TILE; j++) { v = v * 0.5f + LOAD_x(j); }",
    "int b0 = k > 3 ? 1 : 0;",
    "uint c0 = (i & 3u) << 2 | 0xffffffffu;",
    "float acc0[4]; acc0[k & 3] = v; v += acc0[1];",
    "while (k != 0) { k >>= 1; if (k == 7) { break; } }",
    "BARRIER(); part[LOCAL_ID(0)] = v * v; /* float *p; */ // (int)v and double",
    "STORE_WORD_z(i, INSERT_z(OLD_WORD_z(i), 1u, k * 2));",
    "ok = ok == (v < 2.0f); bool d0 = !ok; if (d0) { k = 0; } if (count == 0u) { return; }",
    "float i0 = UNIFORM_LOAD(part, count & 3u); if (i0 > 1.0f) { BARRIER(); }",
    "int e0 = I32_SATURATED(ROUND(v)) % 7; n[i] = e0 & 1;",
    "float min = 0.0f; float sign = min * scale; v = MAX(sign, v);",
    "do { k--; } while (k > 0);",
    "switch (k) { case 0: v = 1.0f; break; default: v = 2.0f; }",
    "ATOMIC_ADD_I32(n, i, k); STORE_y(i, F32(k) * v);",
    "\n#define TWICE(q) ((q) + (q))\nv = TWICE(v);\n#undef TWICE",
    "uint f0 = 0, g0 = UMIN(i, 4u); f0 += g0 * 2;",
    "const float h0 = FMA(v, v, -1.0f); v = h0 < 0.0f ? h0 : (k == 1 ? v : 0.0f);",
};

TEST(Lint, AcceptsTheWholeSubset) {
  std::string body = "uint i = GLOBAL_ID(0);\nint k = 5;\nfloat v = scale;\nbool ok = true;\n";
  for (const std::string& line : clean) body += line + "\n";
  const auto findings = lint(sample(body,
                                    "FUNCTION float cube(float q) {\n  return q * q * q;\n}\n"
                                    "FUNCTION void nothing(int q, bool r) { if (r) { q = 1; } }"));
  EXPECT_TRUE(findings.empty()) << describe(findings);
}

struct Planted {
  std::string text;
  std::string rule;
  std::uint32_t column;
};

const std::vector<Planted> violations = {
    {"float *p = 0;", "pointer", 7},
    {"v = *part;", "pointer", 5},
    {"k = I32(&i);", "pointer", 9},
    {"v = part->q;", "pointer", 9},
    {"v = (float)k;", "cast", 6},
    {"v = float(k);", "cast", 5},
    {"k = static_cast<int>(v);", "cast", 5},
    {"double q = 1.0f;", "type", 1},
    {"half q;", "type", 1},
    {"long q = 1;", "type", 1},
    {"unsigned int q = 1u;", "type", 1},
    {"size_t q = 0;", "type", 1},
    {"float4 q;", "vector", 1},
    {"ivec2 q;", "vector", 1},
    {"v = q.x;", "member", 6},
    {"struct Q { int a; };", "struct", 1},
    {"float q[2] = {0};", "initializer", 14},
    {"static float q = 1.0f;", "static", 1},
    {"__local float q[4];", "shared", 1},
    {"shared float q[4];", "shared", 1},
    {"goto end;", "jump", 1},
    {"v = 1.0;", "literal", 5},
    {"v = .5;", "literal", 5},
    {"v = 1e3;", "literal", 5},
    {"v = 0x1p3f;", "literal", 5},
    {"i = 0x80000000;", "literal", 5},
    {"i = 10ul;", "literal", 5},
    {"k = 017;", "literal", 5},
    {"float vt_q = 1.0f;", "name", 7},
    {"float gl_q = 1.0f;", "name", 7},
    {"float a__b = 1.0f;", "name", 7},
    {"float in = 1.0f;", "reserved", 7},
    {"v = max(v, 1.0f);", "function", 5},
    {"v = native_exp(v);", "function", 5},
    {"i = get_global_id(0);", "function", 5},
    {"v = INFINITY;", "function", 5},
    {"v = x[i];", "packed", 5},
    {"STORE_z(i, k);", "packed", 1},
    {"v = LOAD_q(i);", "unknown-buffer", 5},
    {"STORE_WORD_x(i, 0u);", "access", 1},
    {"v = LOAD_y(i);", "access", 5},
    {"#include <math.h>", "directive", 1},
    {"#pragma unroll", "directive", 1},
    {"v = 'a';", "text", 5},
    {"k = std::abs(k);", "syntax", 8},
    {"if (k) { v = 1.0f; }", "int-condition", 5},
    {"while (i & 1u) { i = 0u; }", "int-condition", 8},
    {"v = k ? 1.0f : 2.0f;", "int-condition", 5},
    {"ok = !k;", "int-condition", 7},
    {"ok = ok && i;", "int-condition", 12},
    {"for (; i - 1u;) { }", "int-condition", 8},
    {"k = i;", "narrowing", 5},
    {"int q = v;", "narrowing", 9},
    {"k += 1u;", "narrowing", 6},
    {"k = IMAX(i, 3);", "narrowing", 10},
    {"i = v * 2.0f;", "narrowing", 5},
    {"v = part[v];", "narrowing", 10},
    {"k = v < 1.0f;", "bool-arithmetic", 5},
    {"k = ok + 1;", "bool-arithmetic", 8},
    {"ok = ok & ok;", "bool-arithmetic", 9},
    {"k = 7 % v;", "float-bits", 7},
    {"v = MAX(v);", "arguments", 5},
    {"v = UNIFORM_LOAD(part);", "arguments", 5},
    {"v = UNIFORM_LOAD(n, 0u);", "arguments", 18},
    {"i = UNIFORM_LOAD(part, 0u);", "narrowing", 5},
    {"if (LOCAL_ID(0) == 0u) { BARRIER(); }", "barrier", 26},
    {"if (part[0] > 0.0f) { BARRIER(); }", "barrier", 23},
    {"if (LOAD_x(0u) > 0.0f) { v = UNIFORM_LOAD(part, 0u); }", "barrier", 30},
    {"uint q = LOCAL_ID(0); uint r = q; for (uint j = 0u; j < r; j++) { BARRIER(); }", "barrier", 67},
    {"uint q = 0u; while (q < 4u) { BARRIER(); if (n[0] == 0) { q = 4u; } }", "barrier", 31},
    {"while (count > 1u) { BARRIER(); if (n[0] == 0) { break; } }", "barrier", 22},
    {"float q = UNIFORM_LOAD(part, LOCAL_ID(0)); if (q > 0.0f) { BARRIER(); }", "barrier", 60},
    {"if (n[0] > 0) { return; } BARRIER();", "barrier", 27},
    {"uint q[2]; q[0] = 0u; q[LOCAL_ID(0) & 1u] = 1u; if (q[1] > 0u) { BARRIER(); }", "barrier", 66},
    {"float part = 1.0f;", "hides", 7},
    {"uint x = 1u;", "hides", 6},
    {"float q(float r) { return r; }", "nested-function", 7},
};

// One violation among random lines of the subset is found, alone, at its place.
TEST(Lint, ReportsPlantedErrorsWithLineAndColumn) {
  Random random(test::seed());
  for (const Planted& planted : violations) {
    std::string body = "uint i = GLOBAL_ID(0);\nint k = 5;\nfloat v = scale;\nbool ok = true;\n";
    std::vector<std::string> lines;
    for (std::uint64_t left = random.below(8); left > 0; --left) {
      lines.push_back("{ " + clean[random.below(clean.size())] + " }");
    }
    // A work-item that may have returned is missing at all later barriers, which are findings too.
    const bool is_last = planted.text.find("return; }") != std::string::npos;
    const std::uint64_t place = is_last ? lines.size() : random.below(lines.size() + 1);
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(place), planted.text);
    std::uint32_t line = 0;
    for (const std::string& text : lines) {
      if (text == planted.text) line = 1 + static_cast<std::uint32_t>(std::ranges::count(body, '\n'));
      body += text + "\n";
    }
    const auto findings = lint(sample(body));
    ASSERT_FALSE(findings.empty()) << planted.text;
    EXPECT_EQ(findings.front().rule, planted.rule) << planted.text << "\n" << describe(findings);
    EXPECT_EQ(findings.front().line, line) << planted.text << "\n" << body;
    EXPECT_EQ(findings.front().column, planted.column) << planted.text << "\n" << describe(findings);
    EXPECT_TRUE(std::ranges::all_of(findings, [&](auto& finding) { return finding.line == line; }))
        << planted.text << "\n"
        << describe(findings);
    EXPECT_FALSE(findings.front().in_functions);
    EXPECT_GT(findings.front().message.size(), 10U);
  }
}

TEST(Lint, ReportsErrorsInFunctions) {
  const std::vector<Planted> planted = {
      {"float f(float q) { return q; }", "function-word", 1},
      {"FUNCTION float f(float q) { return f(q - 1.0f); }", "recursion", 16},
      {"FUNCTION float f(float q) { BARRIER(); return q; }", "barrier", 29},
      {"FUNCTION float f(float q);", "prototype", 16},
      {"FUNCTION int f(float q) { return q; }", "narrowing", 34},
      {"FUNCTION float f(float q[4]) { return q[0]; }", "array-parameter", 24},
      {"FUNCTION float f(float* q) { return 1.0f; }", "pointer", 23},
      {"FUNCTION float f(uint i) { return LOAD_x(i); }", "buffer-in-function", 35},
      {"const float table = 1.0f;", "static", 7},
  };
  for (const Planted& one : planted) {
    const auto findings = lint(sample("uint i = 0u;", "FUNCTION int zero() { return 0; }\n" + one.text));
    ASSERT_FALSE(findings.empty()) << one.text;
    EXPECT_EQ(findings.front().rule, one.rule) << one.text << "\n" << describe(findings);
    EXPECT_EQ(findings.front().line, 2U);
    EXPECT_EQ(findings.front().column, one.column) << one.text;
    EXPECT_TRUE(findings.front().in_functions);
  }
}

constexpr const char* helpers =
    "#define ITEM LOCAL_ID(0)\n"
    "FUNCTION uint Own() { return ITEM; }\n"
    "FUNCTION uint next_own() { return Own() + 1u; }\n"
    "FUNCTION uint twice(uint x) { return x + x; }\n";

// In each of these bodies some work-items reach a barrier that others do not reach, or reach in another round.
TEST(Lint, FindsBarriersThatNotAllWorkItemsReach) {
  const std::vector<std::string> bodies = {
      "uint q = LOCAL_ID(0); if (q == 0u && UNIFORM_LOAD(part, 0u) > 0.0f) { q = 1u; }",
      "uint q = LOCAL_ID(0); bool r = q == 0u || UNIFORM_LOAD(part, 0u) > 0.0f;",
      "float q = LOCAL_ID(0) == 0u ? UNIFORM_LOAD(part, 0u) : 1.0f;",
      "float q = count > 1u ? 2.0f : LOCAL_ID(0) == 0u ? 1.0f : UNIFORM_LOAD(part, 0u);",
      "uint q = 0u; bool r = LOCAL_ID(0) == 0u && (q = 1u) > 0u; if (q > 0u) { BARRIER(); }",
      "uint q = 0u; uint r = LOCAL_ID(0) == 0u ? q++ : 0u; if (q > 0u) { BARRIER(); }",
      "uint q = 9u; while (q-- > LOCAL_ID(0)) { } if (q > 3u) { BARRIER(); }",
      "uint q = 9u; do { } while (q-- > LOCAL_ID(0)); if (q > 3u) { BARRIER(); }",
      "uint q = 0u; for (; q++ < LOCAL_ID(0);) { } if (q > 3u) { BARRIER(); }",
      "float q = scale; while (UNIFORM_LOAD(part, 0u) > LOAD_x(0u)) { q += 1.0f; }",
      "uint q = LOCAL_ID(0); while (UNIFORM_LOAD(part, 0u) > 0.0f) { if (q == 0u) { break; } }",
      "uint q = LOCAL_ID(0); do { q += 1u; } while (q < 9u && UNIFORM_LOAD(part, 0u) > 0.0f);",
      "switch (count) { case 0u: if (LOCAL_ID(0) == 0u) { BARRIER(); } break; default: break; }",
      "switch (count) { case 0u: if (LOCAL_ID(0) == 0u) { break; } BARRIER(); }",
      "switch (LOCAL_ID(0)) { case 0u: return; default: break; } BARRIER();",
      "switch (LOCAL_ID(0)) { default: BARRIER(); }",
      "for (uint j = 0u; j < 4u; j++) { switch (LOCAL_ID(0)) { case 0u: continue; default: break; } BARRIER(); }",
      "#define GO(c) if (c) { BARRIER(); }\nGO(LOCAL_ID(0) == 0u)",
      "#define WHEN(c) if (c)\nWHEN(LOCAL_ID(0) == 0u) { BARRIER(); }",
      "#define ROUNDS for (uint j = 0u; j < LOCAL_ID(0); j++)\nROUNDS { BARRIER(); }",
      "#define LEAVE return;\nif (LOCAL_ID(0) == 0u) { LEAVE }\nBARRIER();",
      "uint q = LOCAL_ID(0);\n#define FIRST (q == 0u)\nif (FIRST) { BARRIER(); }",
      "#define OWN MINE\n#define MINE LOCAL_ID(0)\nif (OWN == 0u) { BARRIER(); }",
      "uint q = 0u;\n#define SET(to, from) to = from\nSET(q, LOCAL_ID(0));\nif (q == 0u) { BARRIER(); }",
      "#define SYNC \\\n  BARRIER()\nif (LOCAL_ID(0) == 0u) { SYNC; }",
      "if (ITEM == 0u) { BARRIER(); }",
      "if (Own() == 0u) { BARRIER(); }",
      "if (twice(next_own()) == 0u) { BARRIER(); }",
      std::string(300, '{') + "if (LOCAL_ID(0) == 0u) { BARRIER(); }" + std::string(300, '}'),
  };
  for (const std::string& body : bodies) {
    const auto findings = lint(sample(body, helpers));
    EXPECT_TRUE(std::ranges::any_of(findings, [](auto& finding) { return finding.rule == "barrier"; }))
        << body << "\n"
        << describe(findings);
  }
}

TEST(Lint, AcceptsBarriersThatAllWorkItemsReach) {
  const std::vector<std::string> bodies = {
      "if (count > 1u && UNIFORM_LOAD(part, 0u) > 0.0f) { BARRIER(); }",
      "float q = count > 1u ? UNIFORM_LOAD(part, 0u) : 1.0f; if (q > 0.0f) { BARRIER(); }",
      "uint q = 4u; while (q-- > 0u && UNIFORM_LOAD(part, q) > 0.0f) { BARRIER(); }",
      "for (uint j = 0u; j < 4u; j++) { switch (LOCAL_ID(0)) { case 0u: break; default: break; } BARRIER(); }",
      "switch (count) { case 0u: BARRIER(); break; default: if (scale > 0.0f) { break; } BARRIER(); }",
      "if (count > 1u) { if (LOCAL_ID(0) == 0u) { return; } } else { BARRIER(); }",
      "uint q = count;\n#define LARGE (q > 3u)\nif (LARGE) { BARRIER(); }",
      "#define ROUNDS(n) for (uint j = 0u; j < n; j++)\nROUNDS(count) { BARRIER(); }",
      "#define MINE LOCAL_ID(0)\n#undef MINE\n#define MINE count\nif (MINE > 0u) { BARRIER(); }",
      "if (twice(count) > 3u) { BARRIER(); }",
  };
  for (const std::string& body : bodies) {
    const auto findings = lint(sample(body, helpers));
    EXPECT_TRUE(std::ranges::none_of(findings, [](auto& finding) { return finding.rule == "barrier"; }))
        << body << "\n"
        << describe(findings);
  }
  const auto in_function = lint(sample("", "#define SYNC BARRIER()\nFUNCTION float f(float q) { SYNC; return q; }"));
  EXPECT_FALSE(in_function.empty()) << "a macro hides the barrier of a helper function";
}

// Macros that double each other end at the limit of the expansion.
TEST(Lint, ExpandsNestedMacrosToALimit) {
  std::string body = "#define M0 v\n";
  for (int i = 1; i < 40; ++i) body += fmt::format("#define M{0} M{1} + M{1}\n", i, i - 1);
  EXPECT_NO_THROW(static_cast<void>(lint(sample(body + "float v = 1.0f; v = M39;"))));
  EXPECT_NO_THROW(static_cast<void>(lint(sample("#define A B\n#define B A\n#define F(x) F(x\nA; F(F(1u)); F("))));
}

TEST(Lint, KnowsTheParametersOfHelperFunctions) {
  const auto findings =
      lint(sample("float k = half_of(1);\nint j = half_of(2u);", "FUNCTION float half_of(int q) { return 1.0f; }"));
  ASSERT_EQ(findings.size(), 2U) << describe(findings);
  EXPECT_EQ(findings[0].line, 2U);
  EXPECT_EQ(findings[0].column, 9U);
  EXPECT_EQ(findings[1].column, 17U);
}

// Whatever the text, the linter comes to an end.
TEST(Lint, NeverFailsOnMalformedText) {
  Random random(test::seed());
  const std::array<std::string_view, 30> pieces = {
      "(", ")", "{", "}", "[",      "]",  ";", ",", "float ", "int ",   "if",  "?",  ":", "=",         "+",
      "-", "*", "&", "x", "LOAD_x", "1u", ".", "!", "/*",     "\n#if ", "for", "\"", "'", "FUNCTION ", "1.0f"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t left = random.below(60); left > 0; --left) text += pieces[random.below(pieces.size())];
    EXPECT_NO_THROW(static_cast<void>(lint(sample(text, text)))) << text;
  }
  EXPECT_NO_THROW(static_cast<void>(lint(sample("v = " + std::string(100'000, '(') + ";"))));
  EXPECT_NO_THROW(static_cast<void>(lint(sample("v = " + std::string(100'000, '-') + "1;"))));
}

}  // namespace
}  // namespace vectis
