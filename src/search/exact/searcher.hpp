// The interface between an exact index and the devices that scan it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "search/exact/search_task.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// Searches on devices, or where the planner says. Thread-safe: any number of searches beside one prepare.
class Searcher {
 public:
  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;

  // The k nearest rows by exact_distance, whatever was scanned to find them. Throws what a device throws.
  [[nodiscard]] virtual ExactAnswer search(const SearchTask& task) const = 0;
  // How a search of `queries` queries would be done: a few lines for people. The task's own queries may be empty.
  [[nodiscard]] virtual std::string explain(const SearchTask& task, std::size_t queries) const = 0;
  // The devices that may compute besides the host, and why these.
  [[nodiscard]] virtual IndexDevices devices() const = 0;
  // Bytes of segments that stay in device memory.
  [[nodiscard]] virtual std::uint64_t resident_bytes() const { return 0; }
  // Copies new segments to the devices. The writer calls it before readers see the segments, so that the first search
  // finds them in place.
  virtual void prepare(std::span<const SegmentView> /*segments*/) {}
};

}  // namespace vectis::inline v0_1::exact
