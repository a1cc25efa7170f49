#include "shader_interface.hpp"

#include <algorithm>
#include <numeric>

namespace vectis::webgpu {

std::uint32_t ShaderInterface::storage_count() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(bindings.begin(), bindings.end(), [](const Binding& each) { return !each.uniform; }));
}

bool ShaderInterface::has_uniform() const noexcept {
  return std::any_of(bindings.begin(), bindings.end(), [](const Binding& each) { return each.uniform; });
}

std::uint64_t ShaderInterface::shared_bytes() const noexcept {
  if (shared.empty()) return 0;
  if (entries.size() > 1) return *std::max_element(shared.begin(), shared.end());
  return std::accumulate(shared.begin(), shared.end(), std::uint64_t{0});
}

namespace {

// Constants of the SPIR-V specification.
constexpr std::uint32_t op_entry_point = 15;
constexpr std::uint32_t op_execution_mode = 16;
constexpr std::uint32_t op_variable = 59;
constexpr std::uint32_t op_decorate = 71;
constexpr std::uint32_t mode_local_size = 17;
constexpr std::uint32_t decoration_binding = 33;
constexpr std::uint32_t class_uniform = 2;
constexpr std::uint32_t class_storage_buffer = 12;
constexpr std::size_t header_words = 5;

struct BindingDecoration {
  std::uint32_t id;
  std::uint32_t binding;
};

void read_instruction(std::span<const std::uint32_t> words, std::vector<BindingDecoration>& decorations,
                      ShaderInterface& found) {
  const std::uint32_t op = words[0] & 0xFFFFU;
  if (op == op_entry_point) {
    found.entries.push_back({reinterpret_cast<const char*>(&words[3]), {}});
  } else if (op == op_execution_mode && words.size() == 6 && words[2] == mode_local_size) {
    std::copy_n(words.begin() + 3, 3, found.entries.back().block.begin());
  } else if (op == op_decorate && words.size() == 4 && words[2] == decoration_binding) {
    decorations.push_back({words[1], words[3]});
  } else if (op == op_variable && (words[3] == class_uniform || words[3] == class_storage_buffer)) {
    for (const BindingDecoration& each : decorations) {
      if (each.id == words[2]) found.bindings.push_back({each.binding, words[3] == class_uniform});
    }
  }
}

}  // namespace

ShaderInterface read_spirv(std::span<const std::uint32_t> words) {
  ShaderInterface found;
  std::vector<BindingDecoration> decorations;
  for (std::size_t at = header_words; at < words.size();) {
    const std::size_t length = words[at] >> 16U;
    read_instruction(words.subspan(at, length), decorations, found);
    at += length;
  }
  return found;
}

}  // namespace vectis::webgpu
