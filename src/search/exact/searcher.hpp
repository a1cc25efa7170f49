// Who computes the answer: the seam between an exact index and the devices that scan it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/exact/task.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

struct ExactAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, ties by lower id
  SearchExplanation explanation;       // all but precision and seconds
};

// Thread-safe: any number of searches beside one prepare.
class Searcher {
 public:
  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;

  // The nearest rows by exact_distance, whatever was scanned to find them.
  [[nodiscard]] virtual ExactAnswer search(const SearchTask& task) const = 0;
  // How a search like this would be done, a few lines for people; its queries may be missing.
  [[nodiscard]] virtual std::string explain(const SearchTask& task, std::size_t queries) const = 0;
  // Who may compute besides this processor, and why.
  [[nodiscard]] virtual IndexDevices devices() const = 0;
  // What its devices keep of segments they scanned.
  [[nodiscard]] virtual std::uint64_t resident_bytes() const { return 0; }
  // These are the segments from now on; called by the writer before readers see them, so that the first search finds
  // everything in place.
  virtual void prepare(std::span<const SegmentView> /*segments*/) {}
};

// This processor. `reason` says why it was chosen.
[[nodiscard]] std::unique_ptr<Searcher> make_host_searcher(Executor& executor, std::string reason);

}  // namespace vectis::inline v0_1::exact
