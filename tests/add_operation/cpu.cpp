// halve on the CPU: tools/add_operation.py puts this into backends/cpu/operations/halve.cpp of a copy of the tree.
#include <array>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

VectisStatus halve(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  call.threads.parallel_for(x.rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      const float* from = row_as<const float>(x, row);
      float* to = row_as<float>(out, row);
      for (std::uint64_t column = 0; column < x.columns; ++column) to[column] = 0.5F * from[column];
    }
  });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 1> operations{{{"halve", halve}}};

}  // namespace

std::span<const NamedOperation> halve_operations() { return operations; }

}  // namespace vectis::cpu
