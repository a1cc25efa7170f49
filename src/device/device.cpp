#include "vectis/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/call.hpp"
#include "device/cores.hpp"

namespace vectis::inline v0_1 {

namespace detail {

std::string DeviceCore::label() const { return fmt::format("{}:{}", backend->slots.name, index); }

}  // namespace detail

namespace {

// Calls an optional query slot; false when the backend does not support it.
template <class Slot, class Answer>
bool ask(const detail::DeviceCore& core, std::string_view op, Slot slot, Answer* answer) {
  core.backend->runtime.check_fork(op);
  if (slot == nullptr) return false;
  detail::SlotMessage message;
  const VectisStatus status = slot(core.backend->state, core.index, answer, message.get());
  if (status == VECTIS_OK) return true;
  if (status != VECTIS_UNSUPPORTED) throw detail::slot_error(op, detail::describe(core), status, message);
  return false;
}

}  // namespace

std::string_view name(DeviceKind kind) noexcept {
  constexpr std::array<std::string_view, 3> names = {"cpu", "gpu", "accelerator"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names[index] : "unknown";
}

std::vector<std::string_view> Capabilities::names() const {
  std::vector<std::string_view> result;
  const auto add = [&](bool has, std::string_view word) {
    if (has) result.push_back(word);
  };
  add(fp16, "fp16");
  add(bf16, "bf16");
  add(fp64, "fp64");
  add(int8_dot, "int8_dot");
  add(matrix, "matrix");
  add(int8_matrix, "int8_matrix");
  add(subgroups, "subgroups");
  add(unified_memory, "unified_memory");
  add(timestamps, "timestamps");
  return result;
}

int Device::id() const noexcept { return core_->id; }
std::string Device::label() const { return core_->label(); }
std::string_view Device::backend() const noexcept { return core_->backend->slots.name; }
const DeviceInfo& Device::info() const noexcept { return core_->info; }
bool Device::is_gpu() const noexcept { return core_->info.kind != DeviceKind::cpu && !core_->info.software; }

std::optional<DeviceMemoryState> Device::memory() const {
  VectisMemoryInfo info{};
  info.size = sizeof(info);
  if (!ask(*core_, "memory", core_->backend->slots.device_memory, &info)) return std::nullopt;
  // Drivers report the two values by two calls: free may not exceed total.
  return DeviceMemoryState{info.total_bytes, std::min(info.free_bytes, info.total_bytes)};
}

std::optional<double> Device::utilization() const {
  double share = 0;
  if (!ask(*core_, "utilization", core_->backend->slots.device_utilization, &share)) return std::nullopt;
  return std::clamp(share, 0.0, 1.0);
}

}  // namespace vectis::inline v0_1
