// What a module declares to the outside: bindings and entry points.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::webgpu {

struct DeclaredBinding {
  std::uint32_t number = 0;
  bool uniform = false;  // otherwise storage
};

struct DeclaredEntry {
  std::string name;
  std::array<std::uint32_t, 3> group{};  // work-items of a group; 0: computed, not written down
};

struct Interface {
  std::vector<DeclaredBinding> bindings;  // of group 0
  std::vector<DeclaredEntry> entries;
  std::vector<std::uint64_t> shared;  // bytes of each variable of a work-group whose type is made of literals alone

  // Of a group, at least. The variables of several entry points may be different ones.
  [[nodiscard]] std::uint64_t shared_bytes() const noexcept;
  [[nodiscard]] std::uint32_t storage_count() const noexcept;
  [[nodiscard]] bool has_uniform() const noexcept;
};

struct WgslModule {
  std::string text;
  Interface interface;
  std::string too_deep;  // where the text is nested so deeply that its compiler would overflow the stack; else empty
};

// Reads a WGSL text and makes every storage buffer of it read_write. wgpu allows one buffer to be bound several times
// in a launch only when all uses are the same, and memories are often slices of one buffer, so an input bound as
// `read` beside an output would be refused. What is no WGSL comes back as it is: its compiler says why.
WgslModule read_wgsl(std::string_view text);

// The interface of a module made by glslc.
Interface read_spirv(std::span<const std::uint32_t> words);

}  // namespace vectis::webgpu
