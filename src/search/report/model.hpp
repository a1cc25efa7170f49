// The model of docs/gpu-evidence.md: predicts the time of a job from what it enqueues, the instructions counted in the
// machine code of its kernels, and the speeds of the device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/device/device.hpp"
#include "vectis/kernel/source.hpp"
#include "vectis/plan/profile.hpp"
#include "vectis/search/report.hpp"

namespace vectis::inline v0_1::detail {

// The unit of a GPU that multiplies; none: its rate is not modeled, beyond that of all instructions.
enum class Unit : std::uint8_t { none, fused, dots, matrix };

// The architectures of docs/gpu-evidence.md, in its order. The last but one stands for those that were not counted.
constexpr std::size_t counted_architectures = 4;
constexpr std::size_t default_architecture = 2;

// Instructions that a lane issues for one result of a kernel.
struct CountedInstructions {
  double loop = 0;  // in the loop over 128 elements
  double rest = 0;  // outside of it
};

// A kernel whose machine code was counted. Plain data.
struct CountedKernel {
  std::string_view label;  // "scan_bounds f32, 128 x 128"
  Unit unit = Unit::none;
  std::uint32_t round = 1;  // elements of a vector that are multiplied in one round of the loop
  std::array<CountedInstructions, counted_architectures> instructions;
};

// A card as its maker states it, in amounts of lanes per second. Plain data.
struct Card {
  std::string_view name;
  std::string_view driver_name;  // part of the name that the driver reports
  std::uint32_t units = 0;
  std::size_t architecture = 0;
  double memory_bytes = 0;
  double instructions = 0;
  double fused = 0;   // multiply-adds
  double dots = 0;    // dot products of four int8 elements
  double matrix = 0;  // multiply-adds of int8 by matrix units; 0: kernels do not use them
};

// Returns the label of a kernel on docs/gpu-evidence.md. Throws std::bad_alloc.
[[nodiscard]] std::string label_of(const KernelSource& source);
// Returns the counted kernel of that label; nothing when it was not counted. Does not throw.
[[nodiscard]] std::optional<CountedKernel> counted_kernel(std::string_view label) noexcept;
// Returns the card that the device is, by its name and number of compute units; nothing when none is known. Does not
// throw.
[[nodiscard]] std::optional<Card> known_card(const DeviceInfo& info) noexcept;

// What the host's calls cost on a device. Plain data.
struct CallCosts {
  double launch_seconds = 0;     // from one launch to the next
  double copy_seconds = 0;       // from one small copy to the next
  double wait_seconds = 0;       // for work that has finished
  bool native_products = false;  // the backend has a matrix product of its own
};

// Returns the speeds by which times on a device are predicted: those of its maker when the card is known, else those of
// its profile. The profile has no rate of instructions, which is computed from its matrix products. Throws
// std::bad_alloc.
[[nodiscard]] ModelRates model_rates(const DeviceInfo& info, const DeviceProfile& profile, const CallCosts& costs);

// Measures the costs of calls. Throws the error of the device.
[[nodiscard]] CallCosts measure_calls(Runtime& runtime, const Device& device);

// The results of one launch and the length of the sum behind each. Plain data.
struct ResultShape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
};
// Adds the instructions of a launch of the kernel to `counts`: those of whole tiles, since results beyond the last are
// computed as well. Returns false when the kernel was not counted. Throws std::bad_alloc.
bool add_kernel(JobCounts& counts, const KernelSource& source, const ResultShape& shape, const ModelRates& rates);

// Predicts the time of a job: the longest of the times for memory, for all instructions and for the unit that
// multiplies, and the time of the host's calls. Returns a reason instead when the rate of memory or of instructions is
// not known. Throws std::bad_alloc.
[[nodiscard]] JobPrediction predict(const JobCounts& counts, const ModelRates& rates);

}  // namespace vectis::inline v0_1::detail
