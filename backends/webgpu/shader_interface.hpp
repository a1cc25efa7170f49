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

// A buffer that a shader module declares in bind group 0: its binding number, and whether it is uniform.
struct Binding {
  std::uint32_t number = 0;
  bool uniform = false;  // otherwise a storage buffer
};

// A compute entry point of a shader module: its name and workgroup size.
struct EntryPoint {
  std::string name;
  std::array<std::uint32_t, 3> block{};  // workgroup size; 0: not a literal
};

// What a shader module declares: bindings, entry points and workgroup variables.
struct ShaderInterface {
  std::vector<Binding> bindings;  // of bind group 0
  std::vector<EntryPoint> entries;
  std::vector<std::uint64_t> shared;  // bytes of each workgroup variable whose type is made of literals alone

  // Returns a lower bound of the bytes of workgroup memory that one entry point uses: the sum of all variables with
  // one entry point, otherwise the largest one, because which entry point uses which is not known. Does not throw.
  [[nodiscard]] std::uint64_t shared_bytes() const noexcept;
  // Returns the number of storage buffers among the bindings. Does not throw.
  [[nodiscard]] std::uint32_t storage_count() const noexcept;
  // Returns whether a binding is a uniform buffer, which holds the scalars of a launch. Does not throw.
  [[nodiscard]] bool has_uniform() const noexcept;
};

// The result of read_wgsl. `text` and `interface` are empty when `too_complex` is not.
struct WgslModule {
  std::string text;
  ShaderInterface interface;
  std::string too_complex;  // why wgpu's compiler would overflow the stack on this text; empty: it would not
};

// Reads the interface of a WGSL text, and makes its storage buffers read_write, since wgpu rejects a launch that
// binds one buffer (slices share one) as both `read` and `read_write`; line breaks stay. Text that is not WGSL comes
// back for wgpu's compiler to reject. Text that would overflow that compiler's stack only sets `too_complex`. Throws
// no Failure.
WgslModule read_wgsl(std::string_view text);

// Returns the offset of the first byte that is not valid UTF-8, or nothing when the whole text is. Does not throw.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Returns the interface of a SPIR-V module, without workgroup variables. Precondition, unchecked: `words` is a valid
// module of glslc; a corrupt one is undefined behavior. Throws only std::bad_alloc.
ShaderInterface read_spirv(std::span<const std::uint32_t> words);

}  // namespace vectis::webgpu
