#include "vectis/search/index.hpp"

#include <fmt/format.h>

#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::string SearchExplanation::text() const {
  std::string lines =
      fmt::format("device    {} ({})\nscanned   {} rows as {}\nsurvivors {} computed in double precision\n", device,
                  way, rows_scanned, name(precision), survivors);
  if (!reason.empty()) lines += fmt::format("because   {}\n", reason);
  lines += fmt::format("took      {:.3f} ms\n", seconds * 1e3);
  return lines;
}

SearchResult::SearchResult(std::vector<std::size_t> ends, std::vector<Hit> hits, SearchExplanation explanation)
    : ends_(std::move(ends)), hits_(std::move(hits)), explanation_(std::move(explanation)) {}

std::span<const Hit> SearchResult::operator[](std::size_t query) const {
  if (query >= ends_.size()) {
    throw Error(ErrorCode::invalid_input, "SearchResult",
                fmt::format("query {} of an answer to {}; ask for one that was searched", query, ends_.size()));
  }
  const std::size_t begin = query == 0 ? 0 : ends_[query - 1];
  return std::span(hits_).subspan(begin, ends_[query] - begin);
}

IndexDevices Index::devices() const { return {{}, "the index searches on this processor"}; }

}  // namespace vectis::inline v0_1
