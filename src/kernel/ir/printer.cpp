#include "kernel/ir/printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernel/ir/body_printer.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

struct BufferText {
  std::string name;
  DType element;
  bool written;
};

std::vector<BufferText> buffers_of(const Function& function) {
  std::vector<BufferText> list;
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    list.push_back({fmt::format("in{}", i), function.inputs[i], false});
  for (std::size_t i = 0; i < function.tables.size(); ++i)
    list.push_back({fmt::format("table{}", i), function.tables[i], false});
  for (std::size_t i = 0; i < function.outputs.size(); ++i)
    list.push_back({fmt::format("out{}", i), function.outputs[i].element, true});
  return list;
}

struct ScalarText {
  std::string name;
  DType type;
};

std::vector<ScalarText> scalars_of(const Function& function) {
  std::vector<ScalarText> list = {{"count", DType::uint32}};
  for (std::size_t i = 0; i < function.tables.size(); ++i) list.push_back({fmt::format("size{}", i), DType::uint32});
  for (std::size_t i = 0; i < function.arguments.size(); ++i)
    list.push_back({fmt::format("p{}", i), function.arguments[i]});
  return list;
}

// Packed elements are stored in words of uint.
DType word_type(DType element) { return lanes(element) > 1 ? DType::uint32 : loaded_type(element); }

// --- The frame around the statements, by dialect --------------------------------------------------------------------

std::string c_signature(const Function& function, const Spelling& spelling, std::uint32_t group) {
  const bool opencl = spelling.dialect == Dialect::opencl_c;
  std::string parameters;
  for (const BufferText& buffer : buffers_of(function))
    parameters += fmt::format("{}{}{}{}* {}", parameters.empty() ? "" : ", ", opencl ? "__global " : "",
                              buffer.written ? "" : "const ", spelling.type(word_type(buffer.element)), buffer.name);
  for (const ScalarText& scalar : scalars_of(function))
    parameters += fmt::format(", {} {}", spelling.type(scalar.type), scalar.name);
  const std::string prefix = opencl
                                 ? fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void", group)
                                 : fmt::format("extern \"C\" __global__ void __launch_bounds__({})", group);
  return fmt::format("{} {}({}) {{\n", prefix, entry_point(function), parameters);
}

// Buffers are bindings from 0. Scalars are push constants, or for WebGPU, which has none, a uniform buffer after the
// other bindings. WebGPU rejects a dispatch that binds one buffer both read-only and writable, in place or as different
// ranges, so inputs are declared writable there.
std::string glsl_frame(const Function& function, const Spelling& spelling, std::uint32_t group) {
  std::string text = fmt::format("layout(local_size_x = {}) in;\n", group);
  std::size_t binding = 0;
  for (const BufferText& buffer : buffers_of(function)) {
    const bool writable = buffer.written || spelling.dialect == Dialect::glsl_webgpu;
    text += fmt::format("layout(std430, set = 0, binding = {}) {}buffer B{} {{ {} {}[]; }};\n", binding,
                        writable ? "" : "readonly ", binding, spelling.type(word_type(buffer.element)), buffer.name);
    ++binding;
  }
  text += spelling.dialect == Dialect::glsl_vulkan
              ? std::string("layout(push_constant) uniform Scalars {")
              : fmt::format("layout(std140, set = 0, binding = {}) uniform Scalars {{", binding);
  for (const ScalarText& scalar : scalars_of(function))
    text += fmt::format(" {} {};", spelling.type(scalar.type), scalar.name);
  return text + " };\n";
}

std::string wgsl_frame(const Function& function, const Spelling& spelling) {
  std::string text = "var<private> vti_zero: u32 = 0u;\nstruct Scalars {\n";
  for (const ScalarText& scalar : scalars_of(function))
    text += fmt::format("  {}: {},\n", scalar.name, spelling.type(scalar.type));
  text += "}\n";
  std::size_t binding = 0;
  for (const BufferText& buffer : buffers_of(function)) {
    text += fmt::format("@group(0) @binding({}) var<storage, read_write> {}: array<{}>;\n", binding++, buffer.name,
                        spelling.type(word_type(buffer.element)));
  }
  return text + fmt::format("@group(0) @binding({}) var<uniform> scalars: Scalars;\n", binding);
}

std::string wgsl_entry(const Function& function, std::uint32_t group) {
  std::string text = fmt::format(
      "@compute @workgroup_size({})\nfn {}(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(num_workgroups) "
      "group_count: vec3<u32>,\n    @builtin(local_invocation_id) local_id: vec3<u32>) {{\n",
      group, entry_point(function));
  for (const ScalarText& scalar : scalars_of(function))
    text += fmt::format("  let {} = scalars.{};\n", scalar.name, scalar.name);
  return text;
}

// The index of the work-group, and of the work-item in it.
std::pair<std::string_view, std::string_view> position(Dialect dialect) {
  switch (dialect) {
    case Dialect::opencl_c:
      return {"(uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0)", "(uint)get_local_id(0)"};
    case Dialect::cuda:
    case Dialect::hip:
      return {"blockIdx.y * gridDim.x + blockIdx.x", "threadIdx.x"};
    case Dialect::wgsl:
      return {"group_id.y * group_count.x + group_id.x", "local_id.x"};
    default:
      return {"gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x", "gl_LocalInvocationID.x"};
  }
}

// --- Items ----------------------------------------------------------------------------------------------------------

// Stores a packed output's word after its last lane. Elements from `count` on keep their bits.
std::string finish_word(std::size_t number, DType element, const Spelling& spelling) {
  const std::uint32_t each = lanes(element);
  return fmt::format(
      "    if ((lane & {0}u) == {0}u && i - {0}u < count) {{\n"
      "      {1} = count - (i - {0}u);\n"
      "      if (inside < {2}u) {{ w{3} = w{3} | (out{3}[i / {2}u] & (0xffffffffu << (inside * {4}u))); }}\n"
      "      out{3}[i / {2}u] = w{3};\n"
      "      w{3} = 0u;\n"
      "    }}\n",
      each - 1, spelling.declare(DType::uint32, "inside"), each, number, 32 / each);
}

std::string several_elements(const Function& function, BodyPrinter& printer, const Spelling& spelling) {
  const std::uint32_t each = elements_per_item(function);
  std::string text = fmt::format("  {} = item * {}u;\n", spelling.declare(DType::uint32, "first"), each);
  std::string stores;
  std::string finishes;
  for (std::size_t o = 0; o < function.outputs.size(); ++o) {
    const Output& output = function.outputs[o];
    if (lanes(output.element) == 1) {
      stores += fmt::format("      out{}[i] = {};\n", o, printer.stored(output));
      continue;
    }
    text += fmt::format("  {} = 0u;\n", spelling.declare(DType::uint32, fmt::format("w{}", o), true));
    stores += fmt::format("      w{0} = w{0} | ({1} << ((lane & {2}u) * {3}u));\n", o, printer.stored(output),
                          lanes(output.element) - 1, 32 / lanes(output.element));
    finishes += finish_word(o, output.element, spelling);
  }
  text += fmt::format("  for ({} = 0u; lane < {}u; lane++) {{\n", spelling.declare(DType::uint32, "lane", true), each);
  text += fmt::format("    {} = first + lane;\n    if (i < count) {{\n", spelling.declare(DType::uint32, "i"));
  return text + printer.body(6) + stores + "    }\n" + finishes + "  }\n";
}

std::string one_element(const Function& function, BodyPrinter& printer, const Spelling& spelling) {
  std::string text =
      fmt::format("  {} = item;\n  if (i >= count) {{ return; }}\n", spelling.declare(DType::uint32, "i"));
  text += printer.body(2);
  for (std::size_t o = 0; o < function.outputs.size(); ++o)
    text += fmt::format("  out{}[i] = {};\n", o, printer.stored(function.outputs[o]));
  return text;
}

// Work-groups form a two-dimensional grid, since some devices allow at most 65535 in one dimension. Work-groups beyond
// the last element return, before any product can wrap.
std::string statements(const Function& function, const Spelling& spelling, std::uint32_t group,
                       std::set<std::string_view>& helpers) {
  const std::uint32_t each = elements_per_item(function);
  const auto [group_number, local] = position(spelling.dialect);
  std::string text = fmt::format("  {} = {};\n", spelling.declare(DType::uint32, "number"), group_number);
  text += fmt::format("  if (number > (count - 1u) / {}u) {{ return; }}\n", group * each);
  text += fmt::format("  {} = number * {}u + {};\n", spelling.declare(DType::uint32, "item"), group, local);
  BodyPrinter printer(function, spelling, helpers);
  return text + (each > 1 ? several_elements(function, printer, spelling) : one_element(function, printer, spelling)) +
         "}\n";
}

std::string prologue(Dialect dialect) {
  constexpr std::string_view choose = "#define VT_SELECT(no, yes, condition) ((condition) ? (yes) : (no))\n";
  switch (dialect) {
    case Dialect::opencl_c:
      return fmt::format("#pragma OPENCL FP_CONTRACT OFF\n{}", choose);
    case Dialect::hip:
      // hipRTC includes its header implicitly, hipcc does not.
      return fmt::format(
          "#if !defined(__HIPCC_RTC__)\n#include <hip/hip_runtime.h>\n#endif\n#pragma clang fp contract(off)\n{}",
          choose);
    case Dialect::cuda:
      return std::string(choose);
    case Dialect::wgsl:
      return {};
    default:
      return fmt::format("#version 450\n{}", choose);
  }
}

}  // namespace

std::string entry_point(const Function& function) { return "vt_" + function.name; }

std::uint32_t elements_per_item(const Function& function) noexcept {
  std::uint32_t widest = 1;
  for (const Output& output : function.outputs) widest = std::max(widest, lanes(output.element));
  return widest;
}

std::string print_module(std::span<const Function> functions, Dialect dialect, std::uint32_t group) {
  const Spelling& spelling = spelling_of(dialect);
  std::set<std::string_view> helpers;
  std::string frame;
  std::string kernels;
  for (const Function& function : functions) {
    const std::string body = statements(function, spelling, group, helpers);
    switch (dialect) {
      case Dialect::opencl_c:
      case Dialect::cuda:
      case Dialect::hip:
        kernels += c_signature(function, spelling, group) + body;
        break;
      case Dialect::wgsl:
        frame += wgsl_frame(function, spelling);
        kernels += wgsl_entry(function, group) + body;
        break;
      default:
        frame += glsl_frame(function, spelling, group);
        kernels += "void main() {\n" + body;
    }
  }
  return prologue(dialect) + frame + print_helpers(helpers, spelling) + kernels;
}

std::string print(const Function& function, Dialect dialect, std::uint32_t group) {
  return print_module({&function, 1}, dialect, group);
}

}  // namespace vectis::inline v0_1::ir
