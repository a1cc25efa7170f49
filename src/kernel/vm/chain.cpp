#include <algorithm>
#include <utility>

#include "kernel/vm/draft.hpp"

namespace vectis::inline v0_1::executor {

namespace {

// A single operation as a chain of one link.
void begin_chain(DraftStep& step) {
  if (!step.links.empty()) return;
  LinkKind link{step.op, Link::Form::operand_last};
  if (step.in.size() == 1) link.form = Link::Form::alone;
  if (step.in.size() == 2 && step.in[0] == step.in[1]) link.form = Link::Form::twice;
  if (link.form != Link::Form::operand_last) step.in = {step.in[0], no_holder};
  step.links = {link};
  step.kernel = chain_kernel();
}

void append(DraftStep& chain, const DraftStep& next) {
  const Holder before = chain.out;
  LinkKind link{next.op, Link::Form::alone};
  Holder operand = no_holder;
  if (next.in.size() == 2) {
    if (next.in[0] == before && next.in[1] == before) {
      link.form = Link::Form::twice;
    } else {
      link.form = next.in[0] == before ? Link::Form::operand_last : Link::Form::operand_first;
      operand = next.in[0] == before ? next.in[1] : next.in[0];
    }
  }
  chain.links.push_back(link);
  chain.in.push_back(operand);
  chain.out = next.out;
}

}  // namespace

void link_chains(Draft& draft) {
  std::vector<std::size_t> uses(draft.places.size(), 0);
  for (const DraftStep& step : draft.steps) {
    for (const Holder holder : step.in) ++uses[holder];
  }
  std::vector<DraftStep> steps;
  std::vector<std::size_t> place_of;  // of each old step, and of the end
  for (DraftStep& step : draft.steps) {
    place_of.push_back(steps.size());
    // The value before is in this step's scope: a value of a loop's body is used nowhere else.
    if (!steps.empty() && steps.back().linkable && step.linkable) {
      const Holder before = steps.back().out;
      const auto wanted = static_cast<std::size_t>(std::ranges::count(step.in, before));
      if (wanted > 0 && wanted == uses[before]) {
        begin_chain(steps.back());
        append(steps.back(), step);
        continue;
      }
    }
    steps.push_back(std::move(step));
  }
  place_of.push_back(steps.size());
  for (DraftStep& step : steps) {
    if (step.kernel == nullptr) step.end = place_of[step.end];
  }
  draft.steps = std::move(steps);
}

}  // namespace vectis::inline v0_1::executor
