// Sets of types that many operations share.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

// What can be stored, and what can be computed with.
inline constexpr std::array stored_types = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};

// One set for each type, that all `count` operands have.
inline std::vector<TypeSet> equal_types(std::size_t count) {
  std::vector<TypeSet> sets;
  sets.reserve(stored_types.size());
  for (const DType type : stored_types) sets.push_back({std::string(name(type)), std::vector<DType>(count, type), 0});
  return sets;
}

// One set for each (type, limit): `inputs` operands of the type and one of `output`.
inline std::vector<TypeSet> reducing_types(std::size_t inputs, DType output,
                                           std::initializer_list<std::pair<DType, double>> limits) {
  std::vector<TypeSet> sets;
  for (const auto& [type, limit] : limits) {
    std::vector<DType> types(inputs, type);
    types.push_back(output);
    sets.push_back({std::string(name(type)), std::move(types), limit});
  }
  return sets;
}

}  // namespace vectis::inline v0_1::conformance
