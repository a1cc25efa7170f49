// Argument checks shared by all operations and devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cores.hpp"
#include "vectis/device/context.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Maximum number of operands of an operation.
inline constexpr std::size_t operands_max = 8;
// Maximum number of parameters of an operation.
inline constexpr std::size_t parameters_max = 8;

// The parameters of a call of an operation, with defaults for those left out. An integer parameter has both
// `integer` and `real` set.
class CallParameters {
 public:
  // Checks the given parameters and fills in defaults. Throws InvalidInput if there are more than the operation
  // takes, one is out of its range, or an integer parameter is given a fraction or NaN.
  CallParameters(const Operation& operation, std::span<const ParameterValue> given);
  [[nodiscard]] std::span<const ParameterValue> get() const noexcept { return {values_.data(), count_}; }

 private:
  std::array<ParameterValue, parameters_max> values_{0, 0, 0, 0, 0, 0, 0, 0};
  std::size_t count_;
};

// Checks a call completely. Throws InvalidInput unless there are as many views as the operation has operands, all
// views lie inside memories of `context`, no written view overlaps another, and types, shapes and parameters suit
// the operation. The parameters must come from CallParameters.
void check_call(const OperationCall& call, const ContextCore& context);

// Checks the part of a repeated call that depends on its memories. Throws InvalidInput unless all views lie inside
// memories of `context` and no written view overlaps another. Number, types and shapes must have passed check_call()
// before.
void check_memory(const OperationCall& call, const ContextCore& context);

// Throws InvalidInput if a view of the call ends beyond element 2^32 - 1 of its memory, which the 32-bit indices of
// portable kernels cannot address. The views must lie inside their memories.
void check_portable(const OperationCall& call);

// The bytes [begin, end) of a device allocation that an operand covers, counted from the start of the allocation even
// if the operand's memory is a slice of it.
struct ByteRange {
  const MemoryCore* allocation;
  std::uint64_t begin;
  std::uint64_t end;
};

// Returns the bytes [begin, end) of `memory` as a range of the whole allocation that it is, or is a slice of. Checks
// no bounds.
inline ByteRange byte_range(const DeviceMemory& memory, std::uint64_t begin, std::uint64_t end) {
  const MemoryCore& core = *memory.core();
  return {core.whole ? core.whole.get() : &core, core.offset + begin, core.offset + end};
}

// Returns whether two ranges share a byte. Both must be non-empty.
inline bool overlaps(const ByteRange& a, const ByteRange& b) {
  return a.allocation == b.allocation && a.begin < b.end && b.begin < a.end;
}

}  // namespace vectis::inline v0_1::detail
