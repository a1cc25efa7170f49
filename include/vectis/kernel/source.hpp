// Portable kernels as source text: parameters as data, and a body in a subset of C that is printed in several languages
// (dialects). docs/kernels.md describes the subset and the built-ins a body may use, and lists which devices run them.
//
//   KernelSource twice{.name = "twice",
//                      .buffers = {{"x", DType::float16, Access::read}, {"y", DType::float32, Access::write}},
//                      .scalars = {{"count", DType::uint32}},
//                      .body = "uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, 2.0f * LOAD_x(i)); }"};
//   std::string text = print(twice, Dialect::opencl_c);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The languages kernels are printed in. DeviceInfo::dialects lists the names of those a device compiles.
enum class Dialect : std::uint8_t { opencl_c, cuda, hip, glsl_vulkan, glsl_webgpu, wgsl };

VECTIS_API std::string_view name(Dialect dialect) noexcept;  // "opencl-c", "cuda-c++", "hip-c++", "glsl-vulkan", ...
VECTIS_API std::optional<Dialect> parse_dialect(std::string_view name);  // empty: there is no such dialect

// True for the types a kernel's buffer can hold: float32, int32, uint32, float16, bfloat16 and int8. The last three are
// packed into 32-bit words, so that no device needs an extension for them; a kernel body sees their elements as float
// (float16, bfloat16) or int (int8).
VECTIS_API bool is_kernel_type(DType type) noexcept;
VECTIS_API std::uint32_t lanes(DType type) noexcept;  // elements of one 32-bit word: 1, 2 or 4

enum class Access : std::uint8_t { read, write, read_write };

struct BufferParameter {
  std::string name;
  DType element = DType::float32;
  Access access = Access::read;
};

struct ScalarParameter {
  std::string name;
  DType element = DType::uint32;  // float32, int32 or uint32
};

struct SharedArray {
  std::string name;
  DType element = DType::float32;  // float32, int32 or uint32
  std::uint32_t count = 1;
};

// A portable kernel. A launch takes the buffers in order, then the scalars in order; shared arrays are not arguments.
struct KernelSource {
  std::string name;  // [a-z][a-z0-9_]*; printed with the prefix "vt_", which is also the entry point's name
  std::vector<BufferParameter> buffers{};
  std::vector<ScalarParameter> scalars{};
  std::vector<SharedArray> shared{};
  std::array<std::uint32_t, 3> group{64, 1, 1};                // work-group size; at most 1024 work-items in all
  std::vector<std::pair<std::string, std::string>> defines{};  // macros: name and one-line replacement
  std::string functions{};                                     // helper functions, in the subset
  std::string body{};
  std::map<Dialect, std::string> overrides{};  // a separate body for one dialect, not linted
};

// The kernel as text for a compiler of the dialect. Throws InvalidInput, with line, column and rule, if the source is
// not in the subset, and for wgsl, in which only generated kernels are printed.
VECTIS_API std::string print(const KernelSource& source, Dialect dialect);
// The name of the kernel function: "vt_" and the kernel's name.
VECTIS_API std::string entry_point(const KernelSource& source);
// The same in one dialect: always "main" in GLSL.
VECTIS_API std::string entry_point(const KernelSource& source, Dialect dialect);

// The compiler options, separated by spaces, that disable contraction of a*b+c and inexact optimizations. Empty if none
// are needed.
VECTIS_API std::string_view compiler_options(Dialect dialect) noexcept;

// The file name that compiler errors in the body have, with lines counted from the start of the body. Errors in the
// helper functions have body_file + ".functions".
VECTIS_API std::string body_file(const KernelSource& source);

// A place in the body or functions that some dialect would reject.
struct LintFinding {
  std::uint32_t line = 1;  // of the body, or of `functions`, from 1
  std::uint32_t column = 1;
  bool in_functions = false;
  std::string rule;     // "pointer", "cast", "int-condition", ...
  std::string message;  // what was found, and what to write instead
};

// Findings in the order of the text; empty if every dialect takes the kernel. Never throws for a malformed body.
VECTIS_API std::vector<LintFinding> lint(const KernelSource& source);

}  // namespace vectis::inline v0_1
