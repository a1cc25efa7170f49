// Rows and their links: what is walked, and what building changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "search/graph/codes.hpp"
#include "search/graph/links.hpp"
#include "search/graph/rows.hpp"
#include "search/graph/scores.hpp"

namespace vectis::inline v0_1::graph {

struct GraphShape {
  std::size_t degree = 30;        // most links of a row
  std::size_t kept = 26;          // links that are left when a full list is pruned
  std::size_t build_width = 160;  // of the walks that look for neighbours
  float build_slack = 1.1F;       // theirs, as Effort has it
  float reach = 1.05F;            // a link is left out when another neighbour is this many times nearer to it
  std::uint64_t seed = 1;         // of the order in which rows are linked
};

struct Graph {
  // Slots of links have so many bytes.
  Graph(Frame made_frame, const GraphShape& made_shape, std::size_t slot_bytes)
      : frame(std::move(made_frame)), shape(made_shape), codes(frame.row_bytes), links(made_shape.degree, slot_bytes) {}

  Frame frame;
  GraphShape shape;
  Rows codes;
  Links links;
  ScoreRows score_rows = best_score_rows();
};

}  // namespace vectis::inline v0_1::graph
