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

// Throws InvalidInput, naming `op` and both devices, when `other`, the context of an argument, is not the stream's
// context `stream`. Otherwise does nothing.
void check_same_context(std::string_view op, const ContextCore& stream, const ContextCore& other);

// Throws InvalidInput, naming `op` and the sizes, when the `bytes` bytes from `offset` on exceed `memory`. Otherwise
// does nothing; an empty range at the end is valid.
void check_range(std::string_view op, const MemoryCore& memory, std::uint64_t offset, std::uint64_t bytes);

// Throws InvalidInput when a dimension of the grid or block of `shape` is 0, the block exceeds group_size_max or
// group_items_max of `limits`, or the grid has more than 2^32 - 1 work-groups. Otherwise does nothing.
void check_shape(const LaunchShape& shape, const DeviceLimits& limits);

// Throws InvalidInput when the shared-memory arguments together exceed limits.shared_bytes_max, the shared memory of
// one work-group. Otherwise does nothing.
void check_shared(std::span<const VectisArgument> arguments, const DeviceLimits& limits);

// A list of `size` elements, stored inline up to `InlineCapacity` elements, so that a launch with few arguments
// allocates nothing. Elements of trivial types stay uninitialized until written. One thread at a time.
template <class T, std::size_t InlineCapacity>
class InlinedVector {
 public:
  // Makes a list of `size` elements; elements of trivial types must be written before they are read. Throws
  // std::bad_alloc when it needs the heap and memory runs out.
  explicit InlinedVector(std::size_t size) : size_(size) {
    if (size > InlineCapacity) heap_.resize(size);
  }
  // Returns all elements, valid as long as this object is not moved or destroyed. Does not throw.
  [[nodiscard]] std::span<T> get() noexcept { return {size_ > InlineCapacity ? heap_.data() : inline_.data(), size_}; }

 private:
  std::size_t size_;
  std::array<T, InlineCapacity> inline_;  // trivial elements stay uninitialized until written
  std::vector<T> heap_;
};

// Converts a LaunchArgument, whose private fields it may read, to the VectisArgument of the backend ABI.
struct LoweredArgument {
  // Returns `argument` as a VectisArgument, which points into `argument`: that must outlive the result. Does not
  // throw.
  static VectisArgument from(const LaunchArgument& argument) noexcept;
};

// Returns the launch of the backend ABI for `shape`, which check_shape() must have accepted, and `arguments`. The
// result points to `arguments`, which must outlive it. Does not throw.
VectisLaunch lower(const LaunchShape& shape, std::span<const VectisArgument> arguments) noexcept;

// Enqueues `launch` of `kernel` by the backend's slot `launch`. The caller must have checked the stream's earlier
// error, the shape and the contexts. Throws Forked in a child process, DeviceLost when the context is lost, or the
// Error of the backend's status when the slot fails.
void enqueue_launch(const StreamCore& stream, const KernelCore& kernel, const VectisLaunch& launch);

// One operand of run_op(): a row-major matrix in `memory`, which must outlive the call of run_op(). `offset` and
// `stride` count elements.
struct OpView {
  const DeviceMemory* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t stride = 0;
  DType type = DType::float32;
};

// Enqueues the named operation `name` by the backend's slot `run_op`. Returns false, with nothing enqueued, when the
// backend lacks the slot or returns VECTIS_UNSUPPORTED: run the portable kernels then. The views' ranges must be
// valid. Throws InvalidInput for memory of another context, the stream's earlier error, Forked, DeviceLost, or the
// backend's error.
[[nodiscard]] bool run_op(Stream& stream, const char* name, std::span<const OpView> views,
                          std::span<const VectisNumber> numbers);

}  // namespace vectis::inline v0_1::detail
