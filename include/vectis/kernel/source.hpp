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

// The languages in which kernels are printed. DeviceInfo::dialects lists the names of those that a device compiles.
enum class Dialect : std::uint8_t { opencl_c, cuda, hip, glsl_vulkan, glsl_webgpu, wgsl };

// Returns the name that DeviceInfo::dialects uses for the dialect. Does not throw.
VECTIS_API std::string_view name(Dialect dialect) noexcept;  // "opencl-c", "cuda-c++", "hip-c++", "glsl-vulkan", ...
// Returns the dialect whose name(Dialect) equals `name`, such as "opencl-c", in the same case; empty if none does.
VECTIS_API std::optional<Dialect> parse_dialect(std::string_view name);

// Returns true for the types that a kernel's buffer can hold: float32, int32, uint32, float16, bfloat16 and int8.
// The last three are packed into 32-bit words, so no device needs an extension for them; a kernel body sees their
// elements as float (float16, bfloat16) or int (int8). Does not throw.
VECTIS_API bool is_kernel_type(DType type) noexcept;
// Returns how many elements of the type a 32-bit word of a kernel's buffer holds. Requires is_kernel_type(type); for
// any other type returns 1. Does not throw.
VECTIS_API std::uint32_t lanes(DType type) noexcept;  // elements of one 32-bit word: 1, 2 or 4

// How a kernel uses a buffer.
enum class Access : std::uint8_t { read, write, read_write };

// A buffer parameter of a portable kernel. print() throws InvalidInput if `name` is not an identifier, is reserved
// in some dialect, or is used twice. `element` must be a type for which is_kernel_type holds.
struct BufferParameter {
  std::string name;
  DType element = DType::float32;
  Access access = Access::read;
};

// A scalar parameter of a portable kernel, passed by value. print() throws InvalidInput if `name` is not an
// identifier, is reserved in some dialect or used twice, and if `element` is float16, bfloat16 or int8.
struct ScalarParameter {
  std::string name;
  DType element = DType::uint32;  // float32, int32 or uint32
};

// An array in the shared (local) memory of each work-group. print() throws InvalidInput if `name` is invalid or used
// twice, `count` is 0, or `element` is float16, bfloat16 or int8.
struct SharedArray {
  std::string name;
  DType element = DType::float32;  // float32, int32 or uint32
  std::uint32_t count = 1;
};

// A portable kernel. A launch takes the buffers in order, then the scalars in order; shared arrays are not
// arguments. Nothing is checked until print(), which throws InvalidInput for invalid names, parameters, work-group
// sizes or bodies.
struct KernelSource {
  std::string name;  // [a-z][a-z0-9_]*, at most 128 characters; the entry point is "vt_" and the name
  std::vector<BufferParameter> buffers{};
  std::vector<ScalarParameter> scalars{};
  std::vector<SharedArray> shared{};
  std::array<std::uint32_t, 3> group{64, 1, 1};                // work-group size; at most 1024 work-items in all
  std::vector<std::pair<std::string, std::string>> defines{};  // macros: name and one-line replacement
  std::string functions{};                                     // helper functions, in the subset
  std::string body{};
  std::map<Dialect, std::string> overrides{};  // a separate body for one dialect, not linted
};

// Returns the kernel as text for a compiler of the dialect. Throws InvalidInput if a name, parameter or work-group
// size is invalid; with line, column and rule, if the body or functions are not in the subset of docs/kernels.md;
// and for wgsl, in which only IR functions are printed.
VECTIS_API std::string print(const KernelSource& source, Dialect dialect);
// Returns the name of the kernel function in OpenCL C, CUDA and HIP text: "vt_" followed by the kernel's name. Does
// not check the name.
VECTIS_API std::string entry_point(const KernelSource& source);
// Returns the name of the kernel function in text of the dialect: "main" in GLSL, else "vt_" followed by the
// kernel's name, which is not checked.
VECTIS_API std::string entry_point(const KernelSource& source, Dialect dialect);

// Returns the compiler options, separated by spaces, with which a printed kernel must be compiled: the language
// version, and no contraction of a*b+c or inexact optimization. Empty for wgsl, which needs none. Does not throw.
VECTIS_API std::string_view compiler_options(Dialect dialect) noexcept;

// Returns the file name under which compilers report errors in the body, with lines counted from the start of the
// body: the kernel's name, which is not checked. Errors in the helper functions have body_file() + ".functions".
VECTIS_API std::string body_file(const KernelSource& source);

// A place in the body or functions of a KernelSource that some dialect would reject, and how to fix it.
struct LintFinding {
  std::uint32_t line = 1;  // of the body, or of `functions`, from 1
  std::uint32_t column = 1;
  bool in_functions = false;
  std::string rule;     // "pointer", "cast", "int-condition", ...
  std::string message;  // what was found, and what to write instead
};

// Returns the places in the functions and then in the body that are not in the subset of docs/kernels.md; empty if
// every dialect takes both. Does not check the kernel's name, or its parameters, which print() checks, nor its
// overrides. Malformed text gives findings and does not throw.
VECTIS_API std::vector<LintFinding> lint(const KernelSource& source);

}  // namespace vectis::inline v0_1
