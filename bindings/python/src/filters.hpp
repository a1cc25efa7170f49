// Which ids a search from Python may return.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vectis/search/id_filter.hpp"

namespace vectis::python {

// A filter with the memory that it refers to. Immutable; copies share the memory.
struct OwnedFilter {
  IdFilter filter;
  std::shared_ptr<const std::vector<std::uint64_t>> values;  // ids of a list, or words of a bitmap
};

// Makes a filter from what `filter=` of a search accepts: None (nothing is filtered), an IdFilter, a range of step 1, a
// boolean mask with an element for each id from 0, ids in any order, or a callable id -> bool. Throws InvalidInput for
// anything else. The callable must live as long as the filter. Needs the GIL.
std::optional<OwnedFilter> make_filter(nanobind::handle object);

}  // namespace vectis::python
