// The kinds of index that a store can be tested with on this machine.
#pragma once

#include <string>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/search/index.hpp"

namespace vectis::test {

// Returns the index kinds that make_index supports here for this metric.
inline std::vector<std::string> kinds_for(Runtime& runtime, Metric metric) {
  std::vector<std::string> kinds;
  for (const char* const kind : {"flat", "gpu", "auto", "graph"}) {
    try {
      (void)make_index(kind, 4, metric, {.runtime = &runtime});
      kinds.emplace_back(kind);
    } catch (const Error&) {  // not supported here
    }
  }
  return kinds;
}

inline bool is_exact(const std::string& kind) { return kind != "graph"; }

}  // namespace vectis::test
