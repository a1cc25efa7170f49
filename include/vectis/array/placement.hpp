// How arrays are computed, and on which device they are computed fastest.
#pragma once

#include <span>
#include <string>

#include "vectis/array/gradient.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1::array {

// Returns text: the steps by which `x` would be computed now, one line for each, with the operations that one kernel
// computes together, the device, whether the host computes instead of it, and the bytes that are read and written.
// Computes nothing.
[[nodiscard]] VECTIS_API std::string explain(const Tensor& x);

// A device, and why it was chosen.
struct FastestDevice {
  Device device;
  Choice choice;
};
// Predicts where `values`, recorded on the CPU, would be computed fastest: there, or on one of the devices that
// `request` allows, with copies of `inputs` to it. Computes nothing. float64 and int64 exclude devices other than the
// CPU. Throws InvalidInput without values, and what the planner throws.
[[nodiscard]] VECTIS_API FastestDevice fastest_device(std::span<const Tensor> values, std::span<const Tensor> inputs,
                                                      const DeviceRequest& request = {});

// A value, and why it was computed where it was.
struct Placed {
  Tensor value;
  Choice choice;
};
// Computes function(arguments) on the device that the planner predicts to be fastest among those that `request` allows,
// and the CPU. Counted are the copies of arguments that are elsewhere and, when all arguments are on the CPU, the copy
// of the value back to it: the value is then on the CPU, else on the chosen device. The measured time improves later
// predictions. `function` is called twice, first to be planned: it must not depend on anything but its arguments.
// float64 and int64 exclude devices other than the CPU. Throws InvalidInput without arguments, and what the function
// and computing throw.
[[nodiscard]] VECTIS_API Placed on_fastest_device(const Function& function, std::span<const Tensor> arguments,
                                                  const DeviceRequest& request = {});

}  // namespace vectis::inline v0_1::array
