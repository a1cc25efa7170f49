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

inline constexpr std::size_t operands_max = 8;
inline constexpr std::size_t parameters_max = 8;

// The parameters of a call, with defaults for those left out. An integer parameter has both `integer` and `real` set.
class CallParameters {
 public:
  // Throws InvalidInput if there are too many, one is out of range, or a fraction is given for an integer parameter.
  CallParameters(const Operation& operation, std::span<const ParameterValue> given);
  [[nodiscard]] std::span<const ParameterValue> get() const noexcept { return {values_.data(), count_}; }

 private:
  std::array<ParameterValue, parameters_max> values_{0, 0, 0, 0, 0, 0, 0, 0};
  std::size_t count_;
};

// Throws InvalidInput unless there are as many views as the operation has operands, check_memory passes, and types,
// shapes and parameters suit the operation.
void check_call(const OperationCall& call, const ContextCore& context);

// The part of check_call that depends on the memories: throws InvalidInput unless all views lie inside memories of
// `context` and no written view overlaps another.
void check_memory(const OperationCall& call, const ContextCore& context);

// Throws InvalidInput for a view that 32-bit element indices cannot address.
void check_portable(const OperationCall& call);

// The bytes [begin, end) of a device allocation that an operand covers, counted from the start of the allocation even
// if the operand's memory is a slice of it.
struct ByteRange {
  const MemoryCore* allocation;
  std::uint64_t begin;
  std::uint64_t end;
};

inline ByteRange byte_range(const DeviceMemory& memory, std::uint64_t begin, std::uint64_t end) {
  const MemoryCore& core = *memory.core();
  return {core.whole ? core.whole.get() : &core, core.offset + begin, core.offset + end};
}

// Whether two non-empty ranges share a byte.
inline bool overlaps(const ByteRange& a, const ByteRange& b) {
  return a.allocation == b.allocation && a.begin < b.end && b.begin < a.end;
}

}  // namespace vectis::inline v0_1::detail
