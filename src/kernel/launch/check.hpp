// What every operation and every device refuse alike.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "device/cores.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::size_t operands_max = 8;
inline constexpr std::size_t parameters_max = 8;

// The numbers of a call with the standards of those that were not given, integers in both of a Number's forms.
class CallNumbers {
 public:
  // InvalidInput for too many numbers, one out of range, or a fraction where the operation takes an integer.
  CallNumbers(const Operation& operation, std::span<const Number> given);
  [[nodiscard]] std::span<const Number> get() const noexcept { return {values_.data(), count_}; }

 private:
  std::array<Number, parameters_max> values_{0, 0, 0, 0, 0, 0, 0, 0};
  std::size_t count_;
};

// InvalidInput unless views are of the operation's number and types, lie in memories of `context`, and no written one
// overlaps another; then the operation's own check.
void check_call(const OperationCall& call, const ContextCore& context);

// InvalidInput for a view that 32-bit indices do not reach.
void check_portable(const OperationCall& call);

}  // namespace vectis::inline v0_1::detail
