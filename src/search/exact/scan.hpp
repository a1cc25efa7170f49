// Ways to scan: one function for a precision and an instruction set.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "search/exact/bound.hpp"
#include "search/exact/segment.hpp"

namespace vectis::inline v0_1::exact {

// Takes what a scan could not rule out. Called rarely.
class Survivors {
 public:
  Survivors() = default;
  Survivors(const Survivors&) = delete;
  Survivors& operator=(const Survivors&) = delete;
  // The key of this row is between `lower` and `lower + width`, or unknown when either is not a number. May lower the
  // query's limit.
  virtual void take(std::size_t query, std::size_t row, float lower, float width) = 0;

 protected:
  ~Survivors() = default;
};

// Groups of a segment; for originals, blocks of 16 rows.
struct ScanPiece {
  const SegmentView* segment = nullptr;
  const CodeRun* run = nullptr;
  std::size_t first_group = 0;  // of the run
  std::size_t last_group = 0;   // one past

  [[nodiscard]] const Frame& frame() const noexcept { return *segment->frame; }
};

struct Way {
  std::string_view name;  // "amx-int8"
  Precision precision = Precision::fp32;
  QueryForm form = QueryForm::f32;
  std::size_t queries_min = 1;  // fewer are left to the next way
  bool (*usable)() = nullptr;
  // For every row of the piece and every query whose lower bound is not above the limit: take. Limits that fall
  // meanwhile count from then on.
  void (*scan)(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors) = nullptr;
};

// All of them, for each precision the preferred first.
[[nodiscard]] std::span<const Way> all_ways() noexcept;

// The first usable one for so many queries, or the one of this name. InvalidInput, naming those that exist, for a name
// that is none of this precision or cannot be used here.
[[nodiscard]] const Way& choose_way(Precision precision, std::size_t queries, std::string_view name);

}  // namespace vectis::inline v0_1::exact
