// Converts launches and operation calls to the C types of the backend ABI, and checks them equally for every device.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "device/cores.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/device/backend.h"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// Throws InvalidInput unless both are the same context.
void check_same_context(std::string_view op, const ContextCore& stream, const ContextCore& other);

// Throws InvalidInput unless the range lies inside the memory.
void check_range(std::string_view op, const MemoryCore& memory, std::uint64_t offset, std::uint64_t bytes);

// Throws InvalidInput if a dimension of the grid or block is 0 or the block is larger than the device allows.
void check_shape(const LaunchShape& shape, const DeviceLimits& limits);

// Throws InvalidInput if the shared-memory arguments together exceed what a work-group has.
void check_shared(std::span<const VectisArgument> arguments, const DeviceLimits& limits);

// A list of `size` elements, stored inline up to `InlineCapacity` elements, so that a launch allocates nothing.
template <class T, std::size_t InlineCapacity>
class InlinedVector {
 public:
  explicit InlinedVector(std::size_t size) : size_(size) {
    if (size > InlineCapacity) heap_.resize(size);
  }
  [[nodiscard]] std::span<T> get() noexcept { return {size_ > InlineCapacity ? heap_.data() : inline_.data(), size_}; }

 private:
  std::size_t size_;
  std::array<T, InlineCapacity> inline_;  // trivial elements stay uninitialized until written
  std::vector<T> heap_;
};

// Converts the arguments of a launch. The result points into `argument`, which must outlive it.
struct LoweredArgument {
  static VectisArgument from(const LaunchArgument& argument) noexcept;
};

// The returned launch points to `arguments`.
VectisLaunch lower(const LaunchShape& shape, std::span<const VectisArgument> arguments) noexcept;

// Calls the backend's `launch`. The caller has checked the stream's sticky error, the shape and the contexts.
// Throws Forked, DeviceLost, or the Error for the backend's status.
void enqueue_launch(const StreamCore& stream, const KernelCore& kernel, const VectisLaunch& launch);

// A view of a named operation. `memory` must outlive the call.
struct OpView {
  const DeviceMemory* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t stride = 0;
  DType type = DType::float32;
};

// Calls the backend's `run_op`. Returns false if the backend has no such slot or answers VECTIS_UNSUPPORTED: nothing
// was enqueued, and the portable kernels have to run. The caller has checked the views. Throws the stream's sticky
// error, Forked, DeviceLost, or the Error for the backend's status.
[[nodiscard]] bool run_op(Stream& stream, const char* name, std::span<const OpView> views,
                          std::span<const VectisNumber> numbers);

}  // namespace vectis::inline v0_1::detail
