// The order in which devices are preferred, and which of them are one card.
#pragma once

#include <string>
#include <vector>

#include "vectis/device/device.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"

namespace vectis::inline v0_1::detail {

// Returns whether kernels can run on the device: it is a CPU, or its backend compiles or embeds kernels for it. Does
// not throw.
[[nodiscard]] bool runs_kernels(const DeviceInfo& info) noexcept;

// Returns the rank of a device in the order of ids, before the order of its backend: real GPUs and accelerators, the
// CPU, GPUs that can run no kernels, software drivers. Does not throw.
[[nodiscard]] int use_rank(const DeviceInfo& info) noexcept;

// Returns whether two devices of different backends are one card: they have one physical id. Does not throw.
[[nodiscard]] bool is_same_card(const Device& one, const Device& other) noexcept;

// Returns `devices`, in order, without those that are the same card as an earlier one of another backend.
[[nodiscard]] std::vector<Device> best_per_card(const std::vector<Device>& devices);

// Returns every device that `request` allows as allowed_devices() does, but a card once for each backend that sees it:
// when one backend fails to open a card, the next may succeed. Throws as allowed_devices() does.
[[nodiscard]] std::vector<Device> candidate_devices(Runtime& runtime, const DeviceRequest& request = {});

// Returns why the device can run no kernels: "hip:0 can run no kernels: <the note of its backend>". `status` must be
// that of its backend, and runs_kernels() false.
[[nodiscard]] std::string why_no_kernels(const Device& device, const BackendStatus& status);

}  // namespace vectis::inline v0_1::detail
