#include "hostile.hpp"

#include <utility>

namespace vectis::test {

namespace {

const std::string head = R"(
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> f: array<f32>;
@group(0) @binding(2) var<storage, read_write> t: array<atomic<u32>>;
var<workgroup> tile: array<u32, 64>;
struct S { x: u32, y: f32 }
fn two(x: u32) -> u32 { return x * 2u; }
fn nothing() {}
)";

const std::string begin = "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n";

std::vector<HostileKernel> around(const std::string& before, const std::vector<std::string>& parts,
                                  const std::string& after) {
  std::vector<HostileKernel> list;
  list.reserve(parts.size());
  for (const std::string& part : parts) list.push_back({part.substr(0, 60), before + part + after});
  return list;
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

}  // namespace

std::vector<HostileKernel> hostile_statements() {
  return around(head + begin,
                {
                    "a[0] = 1.5;",
                    "a[0] = -1;",
                    "a[0] = 1i;",
                    "a[0] = true;",
                    "f[0] = 1u;",
                    "f[0] = a[0];",
                    "a[0] = f[0];",
                    "a[0] = unknown;",
                    "unknown(3u);",
                    "a[0] = unknown(3u);",
                    "a[0] = two();",
                    "a[0] = two(1u, 2u);",
                    "a[0] = two(1.0f);",
                    "a[0] = nothing();",
                    "two = 3u;",
                    "id = vec3<u32>(0u, 0u, 0u);",
                    "let x = 3u; x = 4u;",
                    "const x = 3u; x = 4u;",
                    "let x = 3u; let x = 4u;",
                    "let x: f32 = 3u;",
                    "let x: u32 = -3;",
                    "let x: u32;",
                    "const x = a[0];",
                    "var x: array<u32>;",
                    "var x: S = 3u;",
                    "var s: S; s.z = 1u;",
                    "var s: S; s.x = 1.0f;",
                    "var s = S(1u);",
                    "var s = S(1u, 2u);",
                    "var v = vec3<u32>(1u, 2u); a[0] = v.x;",
                    "var v = vec2<u32>(1u, 2u); a[0] = v.z;",
                    "var v = vec2<u32>(1u, 2u); a[0] = v.xg;",
                    "var v = vec2<u32>(1u, 2.0f); a[0] = v.x;",
                    "var v: array<u32, 4>; v[5] = 1u;",
                    "var v: array<u32, 4>; v[-1] = 1u;",
                    "a[-1] = 1u;",
                    "a[1.0] = 1u;",
                    "a[true] = 1u;",
                    "a = a;",
                    "a[0][0] = 1u;",
                    "if (1u) { a[0] = 1u; }",
                    "if (a[0]) { a[0] = 1u; }",
                    "if (f[0] > 1u) { a[0] = 1u; }",
                    "if (a[0] > -1) { a[0] = 1u; }",
                    "while (1u) { break; }",
                    "for (var i = 0u; i; i++) { a[0] = i; }",
                    "for (var i = 0u; i < 3u; i = i + 1.0f) { a[0] = i; }",
                    "break;",
                    "continue;",
                    "return 3u;",
                    "discard;",
                    "switch (f[0]) { default: { } }",
                    "switch (a[0]) { case 1u: { } case 1u: { } default: { } }",
                    "switch (a[0]) { case 1u: { } }",
                    "switch (a[0]) { case 1.0f: { } default: { } }",
                    "a[0] = 1u + 1.0f;",
                    "a[0] = 1u + 1i;",
                    "a[0] = a[0] && a[1];",
                    "a[0] = !a[0];",
                    "f[0] = ~f[0];",
                    "f[0] = f[0] & f[1];",
                    "f[0] = f[0] << 1u;",
                    "a[0] = a[0] << 1i;",
                    "const x = 1u << 40u;",
                    "const x = 1u / 0u;",
                    "const x = 5 % 0;",
                    "const x = 1.0f / 0.0f;",
                    "a[0] = 4294967296u;",
                    "let x: i32 = 2147483648;",
                    "f[0] = 1e100f;",
                    "f[0] = sqrt(2u);",
                    "f[0] = sqrt();",
                    "f[0] = max(1.0f, 2u);",
                    "f[0] = dot(f[0], f[1]);",
                    "f[0] = fma(1.0f, 2.0f);",
                    "f[0] = f64(1.0);",
                    "a[0] = bitcast<u32>(true);",
                    "a[0] = select(1u, 2.0f, true);",
                    "a[0] = select(1u, 2u, 3u);",
                    "atomicAdd(a[0], 1u);",
                    "atomicAdd(&a[0], 1u);",
                    "atomicAdd(&t[0], 1.0f);",
                    "let p = &a; *p = 1u;",
                    "let p = &id;",
                    "let p = a; let q = *p;",
                    "if (id.x == 0u) { workgroupBarrier(); } a[0] = 1.0;",
                    "workgroupBarrier(3u);",
                    "a[0] = arrayLength(a);",
                    "a[0] = arrayLength(&tile);",
                    "var<private> x: u32 = 3u;",
                    "var<workgroup> x: u32;",
                    "fn inner() {}",
                    "a[0] += 1.0f;",
                    "a[0]++ ++;",
                    "f[0]++;",
                    "a[0] = (1u;",
                    "a[0] = 1u",
                    "a[0] = 1u;}",
                    "{",
                    "let = 3u;",
                    "var 3x = 3u;",
                    "a[0] == 1u;",
                    "1u + 1u;",
                    "a[0] = a[0] < a[1] < a[2];",
                    "loop { continuing { break; } }",
                    "enable f16;",
                    "var h: f16 = 1.0h;",
                    "var m: mat5x5<f32>;",
                    "var m = mat2x2<f32>(1.0, 2.0, 3.0); f[0] = m[0].x;",
                    "f[0] = textureLoad(a, 0, 0);",
                    "f[0] = dpdx(f[0]);",
                    "a[0] = subgroupAdd(1u) + unknown;",
                },
                "\n}\n");
}

std::vector<HostileKernel> hostile_declarations() {
  return around(
      "",
      {
          "fn main() {}\n",
          "@fragment fn main() {}\n",
          "@vertex fn main() -> @builtin(position) vec4<f32> { return vec4<f32>(); }\n",
          "@compute fn main() {}\n",
          "@compute @workgroup_size() fn main() {}\n",
          "@compute @workgroup_size(0) fn main() {}\n",
          "@compute @workgroup_size(-1) fn main() {}\n",
          "@compute @workgroup_size(1.5) fn main() {}\n",
          "@compute @workgroup_size(1) fn main() -> u32 { return 1u; }\n",
          "@compute @workgroup_size(1) fn main(x: u32) {}\n",
          "@compute @workgroup_size(1) fn main(@builtin(position) x: vec4<f32>) {}\n",
          "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) x: vec3<f32>) {}\n",
          "@compute @workgroup_size(1) fn main() { main(); }\n",
          "fn g() { h(); } fn h() { g(); } @compute @workgroup_size(1) fn main() { g(); }\n",
          "fn g() -> u32 {} @compute @workgroup_size(1) fn main() { let x = g(); }\n",
          "fn g() {} fn g() {} @compute @workgroup_size(1) fn main() { g(); }\n",
          "struct S { x: u32, x: u32 } @compute @workgroup_size(1) fn main() { var s: S; }\n",
          "struct S { x: S } @compute @workgroup_size(1) fn main() { var s: S; }\n",
          "struct S { } @compute @workgroup_size(1) fn main() { var s: S; }\n",
          "alias T = T; @compute @workgroup_size(1) fn main() { var s: T; }\n",
          "const c = d; const d = c; @compute @workgroup_size(1) fn main() { var s = c; }\n",
          "const c: u32 = 1.5; @compute @workgroup_size(1) fn main() { var s = c; }\n",
          "override o: u32; @compute @workgroup_size(1) fn main() { var s = o; }\n",
          "@group(0) var<storage, read_write> b: array<u32>; @compute @workgroup_size(1) fn main() { b[0] = 1u; }\n",
          "@binding(0) var<storage, read_write> b: array<u32>; @compute @workgroup_size(1) fn main() { b[0] = 1u; }\n",
          "var<storage, read_write> b: array<u32>; @compute @workgroup_size(1) fn main() { b[0] = 1u; }\n",
          "@group(0) @binding(0) var<storage, write> b: array<u32>; @compute @workgroup_size(1) fn main() { b[0] = 1u; "
          "}\n",
          "@group(0) @binding(0) var<storage, read_write> b: array<bool>; @compute @workgroup_size(1) fn main() {}\n",
          "@group(0) @binding(0) var<uniform> b: array<u32>; @compute @workgroup_size(1) fn main() { let x = b[0]; }\n",
          "@group(0) @binding(0) var<uniform> b: array<u32, 8>; @compute @workgroup_size(1) fn main() { let x = b[0]; "
          "}\n",
          "@group(0) @binding(0) var<uniform> b: bool; @compute @workgroup_size(1) fn main() { let x = b; }\n",
          "@group(0) @binding(0) var<nowhere> b: u32; @compute @workgroup_size(1) fn main() { let x = b; }\n",
          "@group(0) @binding(0) var t: texture_2d<f32>; @compute @workgroup_size(1) fn main() { let x = "
          "textureLoad(t, vec2<i32>(), 0); }\n",
          "@group(1) @binding(0) var<storage, read_write> b: array<u32>; @compute @workgroup_size(1) fn main() { b[0] "
          "= "
          "1u; }\n",
          "@group(0) @binding(0) var<storage, read_write> b: array<u32>; @group(0) @binding(0) var<storage, "
          "read_write> "
          "c: array<u32>; @compute @workgroup_size(1) fn main() { b[0] = c[0]; }\n",
          "@group(0) @binding(0) var<storage, read_write> b: S; struct S { x: array<u32>, y: u32 } @compute "
          "@workgroup_size(1) fn main() { b.y = 1u; }\n",
          "var<workgroup> w: array<u32>; @compute @workgroup_size(1) fn main() { w[0] = 1u; }\n",
          "var<private> p: u32 = f(); fn f() -> u32 { return 1u; } @compute @workgroup_size(1) fn main() { p = 1u; }\n",
          "enable nothing_known; @compute @workgroup_size(1) fn main() {}\n",
          "requires nothing_known; @compute @workgroup_size(1) fn main() {}\n",
          "@unknown @compute @workgroup_size(1) fn main() {}\n",
          "@compute @compute @workgroup_size(1) fn main() {} fn\n",
      },
      "");
}

std::vector<HostileKernel> hostile_texts() {
  std::vector<HostileKernel> list = around("",
                                           {
                                               " ",
                                               "\n\n\n",
                                               "/* never closed",
                                               "// only a comment",
                                               "main",
                                               "{}{}{}",
                                               "\\",
                                               "#version 450\nvoid main() {}\n",
                                               "__kernel void main() {}",
                                               "extern \"C\" __global__ void main() {}",
                                               "<html></html>",
                                               "@",
                                               "@@@@",
                                               "@group",
                                               "var<",
                                               "var<storage",
                                               "var<storage,",
                                               "@group(0) @binding(",
                                               "@binding(99999999999999999999) var<storage> x: u32;",
                                               "@workgroup_size(",
                                               "fn",
                                               "fn main",
                                               "fn main(",
                                               "\"text\"",
                                               "\xF0\x9F\x98\x80",
                                               "fn \xCE\xB1(",
                                               "0x",
                                               "1e",
                                               "1..2",
                                           },
                                           "");
  list.push_back({"a zero byte", std::string("fn main\0() {}", 13)});
  list.push_back({"no UTF-8", "fn main() { \xFF\xFE }"});
  list.push_back({"half a character", "fn main() { } // \xF0\x9F"});
  list.push_back({"many brackets", "@compute @workgroup_size(1) fn main() { let x = " + repeated("(", 5000) + "1u" +
                                       repeated(")", 5000) + "; }"});
  list.push_back({"many blocks", "@compute @workgroup_size(1) fn main() " + repeated("{", 5000) + repeated("}", 5000)});
  list.push_back({"many nots", "@compute @workgroup_size(1) fn main() { let x = " + repeated("!", 5000) + "true; }"});
  list.push_back({"many ifs", "@compute @workgroup_size(1) fn main() { " + repeated("if (true) { ", 5000) + "x" +
                                  repeated("}", 5000) + "}"});
  list.push_back({"deep types", "@compute @workgroup_size(1) fn main() { var x: " + repeated("array<", 5000) + "u32" +
                                    repeated(", 1>", 5000) + "; }"});
  list.push_back({"many comments", repeated("/*", 20000)});
  return list;
}

std::vector<HostileKernel> hostile_sizes() {
  const std::string storage = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;\n";
  std::vector<HostileKernel> list;
  for (const std::string size : {"257", "1024", "65536", "4294967295", "16, 17", "1, 257", "1, 1, 65", "8, 8, 8",
                                 "65536, 65536, 65536", "4294967296", "0, 1", "1, 0, 1"}) {
    list.push_back({"groups of " + size, storage + "@compute @workgroup_size(" + size + ") fn main() { b[0] = 1u; }"});
  }
  for (const std::string count : {"8193", "1000000", "1073741823", "1073741824", "4294967295", "0", "4294967296"}) {
    list.push_back(
        {"shared words " + count, storage + "var<workgroup> w: array<u32, " + count +
                                      ">;\n@compute @workgroup_size(1) fn main() { w[0] = 1u; b[0] = w[0]; }"});
  }
  for (const std::string count : {"0", "-1", "4294967296", "2147483648"}) {
    list.push_back({"local words " + count, storage + "@compute @workgroup_size(1) fn main() { var w: array<u32, " +
                                                count + ">; w[b[0]] = 1u; b[0] = w[b[1]]; }"});
  }
  for (const std::string number : {"65536", "4294967295"}) {
    list.push_back({"binding " + number, "@group(0) @binding(" + number +
                                             ") var<storage, read_write> b: array<u32>;\n@compute @workgroup_size(1) "
                                             "fn main() { b[0] = 1u; }"});
    list.push_back({"group " + number, "@group(" + number +
                                           ") @binding(0) var<storage, read_write> b: array<u32>;\n@compute "
                                           "@workgroup_size(1) fn main() { b[0] = 1u; }"});
  }
  std::string many;
  std::string use;
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    many += "@group(0) @binding(" + n + ") var<storage, read_write> b" + n + ": array<u32>;\n";
    use += "b" + n + "[0] = 1u;\n";
  }
  list.push_back({"2000 buffers", many + "@compute @workgroup_size(1) fn main() {\n" + use + "}"});
  std::string uniforms;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    uniforms += "@group(0) @binding(" + n + ") var<uniform> u" + n + ": vec4<u32>;\n";
  }
  list.push_back({"200 uniforms", uniforms + "@compute @workgroup_size(1) fn main() {}"});
  return list;
}

}  // namespace vectis::test
