#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/utf8.hpp"
#include "kernel/codegen/names.hpp"
#include "kernel/codegen/prelude.hpp"
#include "kernel/lint/builtins.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1 {

namespace {

using detail::line_marker;

constexpr std::array<std::string_view, 6> dialect_names = {"opencl-c",    "cuda-c++",    "hip-c++",
                                                           "glsl-vulkan", "glsl-webgpu", "wgsl"};

[[noreturn]] void throw_invalid_source(const KernelSource& source, const std::string& what) {
  throw Error(ErrorCode::invalid_input, "print", fmt::format("kernel {}: {}", source.name, what));
}

void check_names(const KernelSource& source) {
  if (source.name.size() > detail::kernel_name_size_max) {
    throw Error(ErrorCode::invalid_input, "print",
                fmt::format("the name of kernel {}... has {} characters, the limit is {}; shorten it",
                            detail::cut_utf8(source.name, 32), source.name.size(), detail::kernel_name_size_max));
  }
  const bool lower = source.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (source.name.empty() || source.name[0] < 'a' || source.name[0] > 'z' || !lower ||
      source.name.find("__") != std::string::npos) {
    throw_invalid_source(source,
                         fmt::format("\"{}\" is no name of a kernel; use small letters, digits and single underscores, "
                                     "beginning with a letter",
                                     source.name));
  }
  std::set<std::string> seen;
  const auto check = [&](const std::string& parameter) {
    const std::string reason = detail::judge_name(parameter);
    if (!reason.empty()) throw_invalid_source(source, fmt::format("parameter \"{}\": {}", parameter, reason));
    if (!seen.insert(parameter).second)
      throw_invalid_source(source, fmt::format("two parameters are called {}", parameter));
  };
  for (const BufferParameter& buffer : source.buffers) check(buffer.name);
  for (const ScalarParameter& scalar : source.scalars) check(scalar.name);
  for (const SharedArray& array : source.shared) check(array.name);
  for (const auto& define : source.defines) check(define.first.substr(0, define.first.find('(')));
}

void check_parameters(const KernelSource& source) {
  for (const ScalarParameter& scalar : source.scalars) {
    if (lanes(scalar.element) != 1) {
      throw_invalid_source(
          source, fmt::format("scalar {} is {}; scalars are f32, i32 or u32", scalar.name, short_name(scalar.element)));
    }
  }
  for (const SharedArray& array : source.shared) {
    if (lanes(array.element) != 1 || array.count == 0) {
      throw_invalid_source(source, fmt::format("shared array {} has {} elements of {}; at least one of f32, i32 or u32",
                                               array.name, array.count, short_name(array.element)));
    }
  }
  std::uint64_t items = 1;
  for (const std::uint32_t extent : source.group) items = items > 1024 ? items : items * extent;
  if (items == 0 || items > 1024) {
    throw_invalid_source(source, fmt::format("a group of {} x {} x {} work-items; the limit is 1 to 1024 in all",
                                             source.group[0], source.group[1], source.group[2]));
  }
  for (const auto& [name, replacement] : source.defines) {
    if (replacement.find('\n') != std::string::npos)
      throw_invalid_source(source, fmt::format("define {} has several lines", name));
  }
}

// Throws InvalidInput naming the parameter, or line, column and rule of the first place that is not in the subset.
void check_source(const KernelSource& source, Dialect dialect) {
  check_names(source);
  check_parameters(source);
  const bool overridden = source.overrides.contains(dialect);
  for (const LintFinding& finding : lint(source)) {
    if (overridden && !finding.in_functions) continue;
    throw_invalid_source(
        source, fmt::format("{} line {} column {}, {}: {}", finding.in_functions ? "functions," : "body,", finding.line,
                            finding.column, finding.rule, finding.message));
  }
}

bool is_glsl(Dialect dialect) noexcept { return dialect == Dialect::glsl_vulkan || dialect == Dialect::glsl_webgpu; }

// How a value of the element is declared: what a body sees of it.
std::string_view value_type(DType element) noexcept {
  switch (element) {
    case DType::int32:
    case DType::int8:
      return "int";
    case DType::uint32:
      return "uint";
    default:
      return "float";
  }
}

// How the array in memory is declared.
std::string_view storage_type(DType element) noexcept { return lanes(element) > 1 ? "uint" : value_type(element); }

// The built-ins of a buffer, LOAD_x and so on. Each evaluates its arguments once. `words` passes the buffer to the
// helper function; in GLSL buffers are global.
std::string buffer_builtins(const BufferParameter& buffer, Dialect dialect) {
  const std::string& x = buffer.name;
  const std::uint32_t lane_count = lanes(buffer.element);
  std::string text = fmt::format("#define LANES_{} {}u\n", x, lane_count);
  text += fmt::format("#define INSERT_{}(word, lane, value) vti_insert_{}(word, lane, value)\n", x,
                      short_name(buffer.element));
  if (lane_count == 1) {
    text += fmt::format(
        "#define LOAD_{0}(i) ({0}[i])\n#define WORD_{0}(w) AS_U32({0}[w])\n#define OLD_WORD_{0}(w) 0u\n", x);
    text += fmt::format("#define STORE_{0}(i, value) ({0}[i] = (value))\n", x);
    const std::string_view bits = buffer.element == DType::float32 ? "AS_F32(word)"
                                  : buffer.element == DType::int32 ? "AS_I32(word)"
                                                                   : "U32(word)";
    return text + fmt::format("#define STORE_WORD_{0}(w, word) ({0}[w] = {1})\n", x, bits);
  }
  text += fmt::format("#define WORD_{0}(w) ({0}[w])\n#define OLD_WORD_{0}(w) ({0}[w])\n", x);
  text += fmt::format("#define STORE_WORD_{0}(w, word) ({0}[w] = (word))\n", x);
  const bool global = is_glsl(dialect);
  text += fmt::format("FUNCTION {} vti_load_{}({}uint i) {{ return vti_lane_{}({}[i / {}u], i); }}\n",
                      value_type(buffer.element), x, global ? "" : "VTI_GLOBAL const uint* words, ",
                      short_name(buffer.element), global ? x : "words", lane_count);
  return text + fmt::format("#define LOAD_{0}(i) vti_load_{0}({1}i)\n", x, global ? "" : x + ", ");
}

// The text between the prelude and the kernel in every dialect: built-ins of the buffers, defines, helper functions.
std::string definitions(const KernelSource& source, Dialect dialect) {
  std::string text;
  for (const BufferParameter& buffer : source.buffers) text += buffer_builtins(buffer, dialect);
  for (const auto& [name, replacement] : source.defines) text += fmt::format("#define {} {}\n", name, replacement);
  if (!source.functions.empty()) {
    text += line_marker(body_file(source) + ".functions");
    text += source.functions + "\n";
    text += line_marker("generated");
  }
  return text;
}

// The body in a block of its own, so that it may reuse the names of parameters.
std::string body(const KernelSource& source, Dialect dialect) {
  const auto own = source.overrides.find(dialect);
  return fmt::format("{{\n{}{}\n{}}}\n}}\n", line_marker(body_file(source)),
                     own == source.overrides.end() ? source.body : own->second, line_marker("generated"));
}

// OpenCL C, CUDA and HIP: a function with parameters.
std::string c_kernel(const KernelSource& source, Dialect dialect, std::string_view head) {
  std::string text = definitions(source, dialect);
  std::vector<std::string> parameters;
  parameters.reserve(source.buffers.size() + source.scalars.size());
  for (const BufferParameter& buffer : source.buffers) {
    parameters.push_back(fmt::format("VTI_GLOBAL {}{}* {}", buffer.access == Access::read ? "const " : "",
                                     storage_type(buffer.element), buffer.name));
  }
  for (const ScalarParameter& scalar : source.scalars) {
    parameters.push_back(fmt::format("const {} {}", value_type(scalar.element), scalar.name));
  }
  text += fmt::format("{} {}({}) {{\n", head, entry_point(source), fmt::join(parameters, ", "));
  for (const SharedArray& array : source.shared) {
    text += fmt::format("VTI_SHARED {} {}[{}];\n", value_type(array.element), array.name, array.count);
  }
  return text + body(source, dialect);
}

// A packed output is read too: its words are shared with elements outside the view. For WebGPU every buffer is read and
// written: it refuses a dispatch that binds one buffer both for reading alone and for writing, even where the ranges
// are apart, and memories are cut from buffers they share.
std::string_view glsl_access(const BufferParameter& buffer, Dialect dialect) noexcept {
  if (dialect == Dialect::glsl_webgpu) return "";
  if (buffer.access == Access::read) return "readonly ";
  return buffer.access == Access::write && lanes(buffer.element) == 1 ? "writeonly " : "";
}

// GLSL: parameters are global. Scalars travel as push constants, or, where there are none, in a uniform block behind
// the buffers.
std::string glsl_kernel(const KernelSource& source, Dialect dialect) {
  std::string text = fmt::format("layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\n",
                                 source.group[0], source.group[1], source.group[2]);
  for (std::size_t i = 0; i < source.buffers.size(); ++i) {
    const BufferParameter& buffer = source.buffers[i];
    text += fmt::format("layout(std430, set = 0, binding = {0}) {1}buffer vti_buffer_{0} {{ {2} {3}[]; }};\n", i,
                        glsl_access(buffer, dialect), storage_type(buffer.element), buffer.name);
  }
  if (!source.scalars.empty()) {
    text += dialect == Dialect::glsl_vulkan
                ? std::string("layout(push_constant, std430) uniform vti_scalars {")
                : fmt::format("layout(std140, set = 0, binding = {}) uniform vti_scalars {{", source.buffers.size());
    for (const ScalarParameter& scalar : source.scalars) {
      text += fmt::format(" {} {};", value_type(scalar.element), scalar.name);
    }
    text += " };\n";
  }
  for (const SharedArray& array : source.shared) {
    text += fmt::format("shared {} {}[{}];\n", value_type(array.element), array.name, array.count);
  }
  return text + definitions(source, dialect) + "void main() {\n" + body(source, dialect);
}

// A kernel may define the minimum number of its groups per compute unit. Without it, CUDA's compiler may rather
// keep values in memory than hold fewer; HIP's second number means something else.
std::string launch_bounds(const KernelSource& source, Dialect dialect) {
  const std::uint32_t items = source.group[0] * source.group[1] * source.group[2];
  const auto resident = std::ranges::find(source.defines, std::string_view("RESIDENT_GROUPS"),
                                          [](const auto& define) { return define.first; });
  if (dialect != Dialect::cuda || resident == source.defines.end()) return fmt::to_string(items);
  return fmt::format("{}, {}", items, resident->second);
}

}  // namespace

std::string_view name(Dialect dialect) noexcept { return dialect_names[static_cast<std::size_t>(dialect)]; }

std::optional<Dialect> parse_dialect(std::string_view name) {
  const auto* const found = std::ranges::find(dialect_names, name);
  if (found == dialect_names.end()) return std::nullopt;
  return static_cast<Dialect>(found - dialect_names.begin());
}

std::uint32_t lanes(DType type) noexcept {
  switch (type) {
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int8:
      return 4;
    default:
      return 1;
  }
}

bool is_kernel_type(DType type) noexcept {
  switch (type) {
    case DType::float32:
    case DType::int32:
    case DType::uint32:
    case DType::float16:
    case DType::bfloat16:
    case DType::int8:
      return true;
    default:
      return false;
  }
}

std::string entry_point(const KernelSource& source) { return std::string(detail::entry_point_prefix) + source.name; }

std::string entry_point(const KernelSource& source, Dialect dialect) {
  return is_glsl(dialect) ? "main" : entry_point(source);
}

std::string body_file(const KernelSource& source) { return source.name; }

std::string_view compiler_options(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::opencl_c:  // contraction is switched off in the text
      return "-cl-std=CL1.2";
    case Dialect::cuda:
      return "--std=c++17 --fmad=false --ftz=false --prec-div=true --prec-sqrt=true";
    case Dialect::hip:
      return "-std=c++17 -ffp-contract=off -fhip-fp32-correctly-rounded-divide-sqrt";
    case Dialect::glsl_vulkan:
      return "-fshader-stage=compute --target-env=vulkan1.1 -O";
    case Dialect::glsl_webgpu:  // an optimizer would fold the bits of infinity into a literal, which WebGPU refuses
      return "-fshader-stage=compute --target-env=vulkan1.1 -O0";
    case Dialect::wgsl:
      break;
  }
  return {};
}

std::string print(const KernelSource& source, Dialect dialect) {
  check_source(source, dialect);
  std::string text = detail::prelude(dialect) + detail::group_size_define(source.group);
  switch (dialect) {
    case Dialect::opencl_c:
      return text + c_kernel(source, dialect,
                             fmt::format("__kernel __attribute__((reqd_work_group_size({}, {}, {}))) void",
                                         source.group[0], source.group[1], source.group[2]));
    case Dialect::cuda:
    case Dialect::hip:
      return text + c_kernel(source, dialect,
                             fmt::format("extern \"C\" __global__ void __launch_bounds__({})",
                                         launch_bounds(source, dialect)));
    default:
      return text + glsl_kernel(source, dialect);
  }
}

}  // namespace vectis::inline v0_1
