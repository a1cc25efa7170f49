// The operations of this folder by name.

#include <unordered_map>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

#define VECTIS_PART(file) std::span<const NamedOperation> file##_operations();
#include "operations_parts.inc"
#undef VECTIS_PART

namespace {

using Table = std::unordered_map<std::string_view, Run>;

Table make_table() {
  Table table;
  const auto add = [&](std::span<const NamedOperation> part) {
    for (const NamedOperation& operation : part) table.emplace(operation.name, operation.run);
  };
#define VECTIS_PART(file) add(file##_operations());
#include "operations_parts.inc"
#undef VECTIS_PART
  return table;
}

}  // namespace

Run find_operation(std::string_view name) {
  static const Table table = make_table();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace vectis::cpu
