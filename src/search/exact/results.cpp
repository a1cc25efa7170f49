#include "search/exact/results.hpp"

#include <utility>

namespace vectis::inline v0_1::exact {

SearchResult joined_result(std::vector<std::vector<Hit>> hits, SearchExplanation explanation) {
  std::vector<std::size_t> ends;
  std::vector<Hit> all;
  ends.reserve(hits.size());
  std::size_t count = 0;
  for (const auto& found : hits) ends.push_back(count += found.size());
  all.reserve(count);
  for (const auto& found : hits) all.insert(all.end(), found.begin(), found.end());
  return {std::move(ends), std::move(all), std::move(explanation)};
}

}  // namespace vectis::inline v0_1::exact
