// Answers of queries, brought into the form users see.
#pragma once

#include <vector>

#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

[[nodiscard]] SearchResult joined_result(std::vector<std::vector<Hit>> hits, SearchExplanation explanation);

}  // namespace vectis::inline v0_1::exact
