// The interface that a shader module declares: bindings, entry points and workgroup memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::webgpu {

struct Binding {
  std::uint32_t number = 0;
  bool uniform = false;  // otherwise a storage buffer
};

struct EntryPoint {
  std::string name;
  std::array<std::uint32_t, 3> block{};  // workgroup size; 0: not a literal
};

struct ShaderInterface {
  std::vector<Binding> bindings;  // of bind group 0
  std::vector<EntryPoint> entries;
  std::vector<std::uint64_t> shared;  // bytes of each workgroup variable whose type is made of literals alone

  // A lower bound of the workgroup memory of one entry point; which entry point uses which variable is not known.
  [[nodiscard]] std::uint64_t shared_bytes() const noexcept;
  [[nodiscard]] std::uint32_t storage_count() const noexcept;
  [[nodiscard]] bool has_uniform() const noexcept;
};

struct WgslModule {
  std::string text;
  ShaderInterface interface;
  std::string too_complex;  // why wgpu's compiler would overflow the stack on this text; empty: it would not
};

// Reads a WGSL text and makes all its storage buffers read_write: wgpu allows one buffer to be bound several times in a
// launch only when all uses are equal, and memories are often slices of one buffer, so an input bound as `read` beside
// an output would be rejected. Line breaks stay where they are. A text that is not WGSL comes back unchanged, for
// wgpu's compiler to reject.
WgslModule read_wgsl(std::string_view text);

// The offset of the first byte that is not UTF-8; empty when the whole text is.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// The interface of a SPIR-V module made by glslc.
ShaderInterface read_spirv(std::span<const std::uint32_t> words);

}  // namespace vectis::webgpu
