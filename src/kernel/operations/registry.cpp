#include <algorithm>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1 {

#define VECTIS_PART(file) void define_##file(std::vector<Operation>& operations);
#include "operations_parts.inc"
#undef VECTIS_PART

namespace {

std::vector<Operation> define_all() {
  std::vector<Operation> all;
#define VECTIS_PART(file) define_##file(all);
#include "operations_parts.inc"
#undef VECTIS_PART
  std::ranges::sort(all, {}, &Operation::name);
  return all;
}

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> all = define_all();
  return all;
}

const Operation* find_operation(std::string_view name) noexcept {
  const auto all = operations();
  const auto found = std::ranges::lower_bound(all, name, {}, &Operation::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace vectis::inline v0_1
