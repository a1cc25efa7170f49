// The first half of planning: a function as steps over numbered holders of values, before they have places.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/vm/plan.hpp"

namespace vectis::inline v0_1::executor {

// Something that has a place: an instruction's value, a loop's carried value, or a copy.
using Holder = std::uint32_t;
inline constexpr Holder no_holder = UINT32_MAX;

struct DraftStep {
  Kernel kernel = nullptr;      // null: a loop up to `end`
  Holder out = no_holder;       // an iteration's number for a loop
  std::vector<Holder> in = {};  // up to three; of a chain the first value and one of each link, or no_holder
  ir::Op op = ir::Op::constant;
  std::uint32_t table = 0;
  std::size_t end = 0;
  bool linkable = false;
  std::vector<LinkKind> links = {};
};

struct Draft {
  std::vector<Place> places;  // of each holder; `none` where a slot is still to be found
  std::vector<Scalar> scalars;
  std::vector<DraftStep> once;
  std::vector<DraftStep> steps;  // stores to outputs come last
  std::uint32_t uniforms = 0;
};

Draft make_draft(const ir::Function& function);

// Makes chains of linkable steps that follow one another, where nothing else wants the value between them.
void link_chains(Draft& draft);

}  // namespace vectis::inline v0_1::executor
