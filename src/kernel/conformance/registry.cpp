// Every file of this folder is a part of the suite; the build writes the list.
#include <algorithm>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

#define VECTIS_PART(name) void add_##name(Suite& suite);
#include "conformance_parts.inc"
#undef VECTIS_PART

const Suite& whole_suite() {
  static const Suite suite = [] {
    Suite made;
#define VECTIS_PART(name) add_##name(made);
#include "conformance_parts.inc"
#undef VECTIS_PART
    std::ranges::sort(made.subjects, [](const Subject& a, const Subject& b) {
      return std::tie(a.operation, a.type_sets.front().label) < std::tie(b.operation, b.type_sets.front().label);
    });
    std::ranges::sort(made.behaviours, {}, &Behaviour::name);
    return made;
  }();
  return suite;
}

}  // namespace vectis::inline v0_1::conformance
