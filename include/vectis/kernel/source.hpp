// A kernel written once: data, and a body in a common subset of C that every dialect's printer can put its own
// signature around. docs/kernels.md describes the subset and the words a body may use.
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

// The languages kernels are printed in. A backend lists the names of those it compiles.
enum class Dialect : std::uint8_t { opencl_c, cuda, hip, glsl_vulkan, glsl_webgpu, wgsl };

VECTIS_API std::string_view name(Dialect dialect) noexcept;  // "opencl-c", "cuda-c++", "hip-c++", "glsl-vulkan", ...
VECTIS_API std::optional<Dialect> parse_dialect(std::string_view name);

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
  DType element = DType::uint32;  // f32, i32 or u32
};

struct SharedArray {
  std::string name;
  DType element = DType::float32;  // f32, i32 or u32
  std::uint32_t count = 1;
};

// Arguments of a launch: the buffers in order, then the scalars in order. Shared arrays are printed into the kernel.
struct KernelSource {
  std::string name;  // [a-z][a-z0-9_]*; printed with the prefix "vt_", which is also the entry point's name
  std::vector<BufferParameter> buffers{};
  std::vector<ScalarParameter> scalars{};
  std::vector<SharedArray> shared{};
  std::array<std::uint32_t, 3> group{64, 1, 1};  // work-items of a group; printed where the dialect wants it
  std::vector<std::pair<std::string, std::string>> defines{};  // NAME and replacement, printed as macros
  std::string functions{};                                     // helper functions in the subset, before the kernel
  std::string body{};
  std::map<Dialect, std::string> overrides{};  // a body of its own for one dialect
};

// The whole text for a compiler of the dialect; GLSL's entry point is always `main`. InvalidInput, naming line and
// rule, when the source is no kernel of the subset (an override is taken as it is), or for wgsl, which is printed from
// the IR alone.
VECTIS_API std::string print(const KernelSource& source, Dialect dialect);
// "vt_" and the name.
VECTIS_API std::string entry_point(const KernelSource& source);
// What the printed text calls it: "main" in GLSL.
VECTIS_API std::string entry_point(const KernelSource& source, Dialect dialect);

// What a compiler of the dialect must be told, so that it neither contracts a*b+c nor takes short cuts. Separated by
// blanks; empty when the text says it itself.
VECTIS_API std::string_view compiler_options(Dialect dialect) noexcept;

// Compilers name the place of an error as the user wrote it: the line of the body (column where they tell one) in a
// file of this name, and of the helper functions in body_file + ".functions".
VECTIS_API std::string body_file(const KernelSource& source);

// A place of the body or functions that not every dialect would take.
struct LintFinding {
  std::uint32_t line = 1;  // of the body, or of `functions`, from 1
  std::uint32_t column = 1;
  bool in_functions = false;
  std::string rule;     // "pointer", "cast", "int-condition", ...
  std::string message;  // what is there, and what to write instead
};

VECTIS_API std::vector<LintFinding> lint(const KernelSource& source);

}  // namespace vectis::inline v0_1
