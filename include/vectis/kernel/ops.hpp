// Typed functions for the named operations: ops::matmul(stream, a, b, c) is run(stream, "matmul", {a, b, c}).
// docs/operations.md states for each operation the element types and shapes it takes.
//
//   ops::l2_squared(stream, {queries, DType::float32, 16, 128}, {rows, DType::float32, 1000, 128},
//                   {distances, DType::float32, 16, 1000});
//   ops::top_k(stream, {distances, DType::float32, 16, 1000}, values, index, ops::Order::smallest);
//
// Every function enqueues the operation on the stream and returns; results are there once the stream has passed it. All
// throw what run() throws: InvalidInput for types, shapes or parameters the operation does not take, for views outside
// their memory or of another context, and for an output that overlaps another view; NoCompiler if the device neither
// runs the operation itself nor compiles kernels. As thread-safe as the stream: one thread at a time.
#pragma once

#include <cstdint>

#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::ops {

// --- Moving and converting elements
// -----------------------------------------------------------------------------------

// Sets every element of `out` to `value`, rounded to nearest and saturated to the type.
inline void fill(Stream& stream, const View& out, double value) { run(stream, "fill", {out}, {value}); }
// Copies `x` to `out`, which has the same type and shape.
inline void copy(Stream& stream, const View& x, const View& out) { run(stream, "copy", {x, out}); }
// Converts `x` to the type of `out`: rounded to nearest, ties to even; integers saturate, and NaN becomes 0.
inline void cast(Stream& stream, const View& x, const View& out) { run(stream, "cast", {x, out}); }
// Writes the transpose of `x`.
inline void transpose(Stream& stream, const View& x, const View& out) { run(stream, "transpose", {x, out}); }
// Copies row index[m] of `x` to row m of `out`; zeros for an index that is no row of `x`.
inline void gather(Stream& stream, const View& x, const View& index, const View& out) {
  run(stream, "gather", {x, index, out});
}
// Copies row m of `x` to row index[m] of `out`. The highest m wins among equal indices; indices that are no row of
// `out` are skipped, and rows without an index keep their elements.
inline void scatter(Stream& stream, const View& x, const View& index, const View& out) {
  run(stream, "scatter", {x, index, out});
}

// --- Reductions of a whole view to 1 x 1, and of each row to a column
// -------------------------------------------------

inline void sum(Stream& stream, const View& x, const View& out) { run(stream, "sum", {x, out}); }
inline void sum_rows(Stream& stream, const View& x, const View& out) { run(stream, "sum_rows", {x, out}); }
inline void mean(Stream& stream, const View& x, const View& out) { run(stream, "mean", {x, out}); }
inline void mean_rows(Stream& stream, const View& x, const View& out) { run(stream, "mean_rows", {x, out}); }
// The largest element; NaN if any element is NaN.
inline void max(Stream& stream, const View& x, const View& out) { run(stream, "max", {x, out}); }
inline void max_rows(Stream& stream, const View& x, const View& out) { run(stream, "max_rows", {x, out}); }
// The smallest element; NaN if any element is NaN.
inline void min(Stream& stream, const View& x, const View& out) { run(stream, "min", {x, out}); }
inline void min_rows(Stream& stream, const View& x, const View& out) { run(stream, "min_rows", {x, out}); }
// The Euclidean norm: the square root of the sum of squares.
inline void norm(Stream& stream, const View& x, const View& out) { run(stream, "norm", {x, out}); }
inline void norm_rows(Stream& stream, const View& x, const View& out) { run(stream, "norm_rows", {x, out}); }
// The int32 index of the largest element, the lowest index of equals; NaN counts as largest.
inline void argmax(Stream& stream, const View& x, const View& out) { run(stream, "argmax", {x, out}); }
inline void argmax_rows(Stream& stream, const View& x, const View& out) { run(stream, "argmax_rows", {x, out}); }

enum class Scan : std::uint8_t { inclusive, exclusive };
// The prefix sums of each row: with the element itself (inclusive) or without it (exclusive). int32 wraps.
inline void prefix_sum(Stream& stream, const View& x, const View& out, Scan scan = Scan::inclusive) {
  run(stream, "prefix_sum", {x, out}, {scan == Scan::exclusive ? 1 : 0});
}

enum class Order : std::uint8_t { largest, smallest };
// The k best elements of each row, best first, and their column indices; k, at most 1024, is the columns of `values`
// and `index`. The lower index comes first among equals, NaN last.
inline void top_k(Stream& stream, const View& x, const View& values, const View& index, Order order = Order::largest) {
  run(stream, "top_k", {x, values, index}, {order == Order::largest ? 1 : 0});
}

// --- Products and distances
// -------------------------------------------------------------------------------------------

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;  // 0: `c` is not read
};
// c = alpha * op(a) * op(b) + beta * c. float16 and bfloat16 give float32; int8 gives int32 and takes alpha 1, beta 0.
inline void matmul(Stream& stream, const View& a, const View& b, const View& c, const MatmulOptions& options = {}) {
  run(stream, "matmul", {a, b, c},
      {options.transpose_a ? 1 : 0, options.transpose_b ? 1 : 0, options.alpha, options.beta});
}
// out(i, j) is the squared Euclidean distance of row i of `q` to row j of `x`: Metric::l2_squared, without the root
// that l2_distance() takes.
inline void l2_squared(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "l2_squared", {q, x, out});
}
// out(i, j) is the dot product of row i of `q` and row j of `x`; Metric::inner_product is its negative.
inline void dot_product(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "dot_product", {q, x, out});
}
// out(i, j) is 1 minus the cosine between row i of `q` and row j of `x`, 1 if either is zero: Metric::cosine.
inline void cosine_distance(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "cosine_distance", {q, x, out});
}

// --- Steps of exact and graph search; docs/operations.md has their formulas
// -------------------------------------------

struct ScanBoundsOptions {
  std::int64_t first_row = 0;  // added to the row numbers written to `candidates`
  double beta_margin = 0x1p-19;
  double margin = 0;
};
// Appends every row of `x` whose lower bound on the distance to a row of `q` is within that query's limit.
inline void scan_bounds(Stream& stream, const View& x, const View& q, const View& x_terms, const View& q_terms,
                        const View& candidates, const View& bounds, const View& counts,
                        const ScanBoundsOptions& options = {}) {
  run(stream, "scan_bounds", {x, q, x_terms, q_terms, candidates, bounds, counts},
      {options.first_row, options.beta_margin, options.margin});
}
// Lowers each query's limit to its k-th smallest upper bound and keeps the candidates still within it.
inline void tighten_bounds(Stream& stream, const View& candidates, const View& bounds, const View& counts,
                           const View& limits, const View& kept, const View& kept_bounds, std::int64_t k) {
  run(stream, "tighten_bounds", {candidates, bounds, counts, limits, kept, kept_bounds}, {k});
}

struct GraphSearchOptions {
  std::int64_t k = 1;
  double epsilon = 0;  // 0: no early stop
};
// Best-first beam search over a neighbor graph; the beam width is the columns of `found`.
inline void graph_search(Stream& stream, const View& x, const View& q, const View& links, const View& entry_points,
                         const View& found, const View& distances, const View& scored,
                         const GraphSearchOptions& options = {}) {
  run(stream, "graph_search", {x, q, links, entry_points, found, distances, scored}, {options.k, options.epsilon});
}
// RobustPrune (Vamana) of sorted candidate lists with the given alpha.
inline void graph_prune(Stream& stream, const View& x, const View& candidates, const View& distances,
                        const View& chosen, const View& chosen_distances, double alpha = 1) {
  run(stream, "graph_prune", {x, candidates, distances, chosen, chosen_distances}, {alpha});
}

}  // namespace vectis::inline v0_1::ops
