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

// --- Moving and converting elements ---

// Enqueues setting every element of `out` to `value`, rounded to nearest and saturated to the type of `out`. Throws
// InvalidInput if `out` exceeds its memory, belongs to another context than the stream, or is not float32, float16,
// bfloat16, int8 or int32; NoCompiler if the device can neither run the operation nor compile kernels.
inline void fill(Stream& stream, const View& out, double value) { run(stream, "fill", {out}, {value}); }
// Enqueues a bitwise copy of `x` to `out`. Throws InvalidInput if type or shape of `out` differ from `x`, or `out`
// overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void copy(Stream& stream, const View& x, const View& out) { run(stream, "copy", {x, out}); }
// Enqueues the conversion of `x` to the type of `out`: rounded to nearest, ties to even; integers saturate, NaN
// becomes 0 in integers, and floats overflow to infinity. Throws InvalidInput if the shapes differ or `out` overlaps
// `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void cast(Stream& stream, const View& x, const View& out) { run(stream, "cast", {x, out}); }
// Enqueues writing the transpose of `x` to `out`. Throws InvalidInput if `out` has another type than `x`, is not
// columns of `x` by rows of `x`, or overlaps `x`; NoCompiler if the device can neither run the operation nor compile
// kernels.
inline void transpose(Stream& stream, const View& x, const View& out) { run(stream, "transpose", {x, out}); }
// Enqueues copying row index[m] of `x` to row m of `out`; zeros for an index that is no row of `x`. `index` is
// int32, one row with an element per row of `out`. Throws InvalidInput if types or columns of `x` and `out` differ,
// or `out` overlaps another view; NoCompiler if the device can neither run the operation nor compile kernels.
inline void gather(Stream& stream, const View& x, const View& index, const View& out) {
  run(stream, "gather", {x, index, out});
}
// Enqueues copying row m of `x` to row index[m] of `out`; the highest m wins among equal indices, indices that are
// no row of `out` are skipped, and rows without an index keep their elements. `index` is int32, one row with an
// element per row of `x`. Throws InvalidInput if types or columns of `x` and `out` differ, or `out` overlaps another
// view; NoCompiler if the device can neither run the operation nor compile kernels.
inline void scatter(Stream& stream, const View& x, const View& index, const View& out) {
  run(stream, "scatter", {x, index, out});
}

// --- Reductions of a whole view to 1 x 1, and of each row to a column ---

// Enqueues writing the sum of all elements of `x` to `out`, which must be 1 x 1 and float32. The sum of no elements
// is 0. Throws InvalidInput if `out` has another shape or type, or `out` overlaps `x`; NoCompiler if the device can
// neither run the operation nor compile kernels.
inline void sum(Stream& stream, const View& x, const View& out) { run(stream, "sum", {x, out}); }
// Enqueues writing the sum of each row of `x` to that row of `out`, which must be one column of float32. The sum of
// no elements is 0. Throws InvalidInput if `out` has another shape or type, or `out` overlaps `x`; NoCompiler if the
// device can neither run the operation nor compile kernels.
inline void sum_rows(Stream& stream, const View& x, const View& out) { run(stream, "sum_rows", {x, out}); }
// Enqueues writing the mean of all elements of `x` to `out`, which must be 1 x 1 and float32. Throws InvalidInput if
// `x` has no elements, `out` has another shape or type, or `out` overlaps `x`; NoCompiler if the device can neither
// run the operation nor compile kernels.
inline void mean(Stream& stream, const View& x, const View& out) { run(stream, "mean", {x, out}); }
// Enqueues writing the mean of each row of `x` to that row of `out`, which must be one column of float32. Throws
// InvalidInput if `x` has rows without columns, `out` has another shape or type, or `out` overlaps `x`; NoCompiler
// if the device can neither run the operation nor compile kernels.
inline void mean_rows(Stream& stream, const View& x, const View& out) { run(stream, "mean_rows", {x, out}); }
// Enqueues writing the largest element of all elements of `x` to `out`, which must be 1 x 1 and float32. The result
// is NaN if any element is NaN. Throws InvalidInput if `x` has no elements, `out` has another shape or type, or
// `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void max(Stream& stream, const View& x, const View& out) { run(stream, "max", {x, out}); }
// Enqueues writing the largest element of each row of `x` to that row of `out`, which must be one column of float32.
// The result is NaN if any element is NaN. Throws InvalidInput if `x` has rows without columns, `out` has another
// shape or type, or `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void max_rows(Stream& stream, const View& x, const View& out) { run(stream, "max_rows", {x, out}); }
// Enqueues writing the smallest element of all elements of `x` to `out`, which must be 1 x 1 and float32. The result
// is NaN if any element is NaN. Throws InvalidInput if `x` has no elements, `out` has another shape or type, or
// `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void min(Stream& stream, const View& x, const View& out) { run(stream, "min", {x, out}); }
// Enqueues writing the smallest element of each row of `x` to that row of `out`, which must be one column of
// float32. The result is NaN if any element is NaN. Throws InvalidInput if `x` has rows without columns, `out` has
// another shape or type, or `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile
// kernels.
inline void min_rows(Stream& stream, const View& x, const View& out) { run(stream, "min_rows", {x, out}); }
// Enqueues writing the Euclidean norm, the square root of the sum of squares, of all elements of `x` to `out`, which
// must be 1 x 1 and float32. The norm of no elements is 0. Throws InvalidInput if `out` has another shape or type,
// or `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void norm(Stream& stream, const View& x, const View& out) { run(stream, "norm", {x, out}); }
// Enqueues writing the Euclidean norm, the square root of the sum of squares, of each row of `x` to that row of
// `out`, which must be one column of float32. The norm of no elements is 0. Throws InvalidInput if `out` has another
// shape or type, or `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void norm_rows(Stream& stream, const View& x, const View& out) { run(stream, "norm_rows", {x, out}); }
// Enqueues writing the index of the largest element of all elements of `x` to `out`, which must be 1 x 1 and int32.
// The lowest index wins among equals, and NaN counts as largest. Throws InvalidInput if `x` has no or over 2^31 - 1
// elements, `out` has another shape or type, or `out` overlaps `x`; NoCompiler if the device can neither run the
// operation nor compile kernels.
inline void argmax(Stream& stream, const View& x, const View& out) { run(stream, "argmax", {x, out}); }
// Enqueues writing the index of the largest element of each row of `x` to that row of `out`, which must be one
// column of int32. The lowest index wins among equals, and NaN counts as largest. Throws InvalidInput if `x` has no
// or over 2^31 - 1 columns, `out` has another shape or type, or `out` overlaps `x`; NoCompiler if the device can
// neither run the operation nor compile kernels.
inline void argmax_rows(Stream& stream, const View& x, const View& out) { run(stream, "argmax_rows", {x, out}); }

// Whether a prefix sum includes the element itself (inclusive) or ends before it (exclusive).
enum class Scan : std::uint8_t { inclusive, exclusive };
// Enqueues writing the prefix sums of each row of `x` to `out`: including the element itself (inclusive) or not
// (exclusive); int32 wraps. Both views must be float32 or both int32. Throws InvalidInput if types or shapes differ
// or `out` overlaps `x`; NoCompiler if the device can neither run the operation nor compile kernels.
inline void prefix_sum(Stream& stream, const View& x, const View& out, Scan scan = Scan::inclusive) {
  run(stream, "prefix_sum", {x, out}, {scan == Scan::exclusive ? 1 : 0});
}

// Which elements of a row top_k() selects.
enum class Order : std::uint8_t { largest, smallest };
// Enqueues writing the k best elements of each row of `x`, best first, to `values` (float32) and their columns to
// `index` (int32); the lower column comes first among equals, NaN last. k is the columns of `values` and `index`.
// Throws InvalidInput unless k is from 1 to 1024 and at most the columns of `x`, which is float32, and if views
// overlap; NoCompiler if the device can neither run the operation nor compile kernels.
inline void top_k(Stream& stream, const View& x, const View& values, const View& index, Order order = Order::largest) {
  run(stream, "top_k", {x, values, index}, {order == Order::largest ? 1 : 0});
}

// --- Products and distances ---

// Options of matmul(): transposition of the factors, and the scalars of alpha * op(a) * op(b) + beta * c.
struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;  // 0: `c` is not read
};
// Enqueues c = alpha * op(a) * op(b) + beta * c, where op() transposes if the option is set; `c` is float32, for
// int8 factors int32. Throws InvalidInput if the types of `a` and `b` differ, the shapes do not fit, factors are
// int8 and alpha is not 1 or beta not 0, or `c` overlaps a factor; NoCompiler if the device can neither run the
// operation nor compile kernels.
inline void matmul(Stream& stream, const View& a, const View& b, const View& c, const MatmulOptions& options = {}) {
  run(stream, "matmul", {a, b, c},
      {options.transpose_a ? 1 : 0, options.transpose_b ? 1 : 0, options.alpha, options.beta});
}
// Enqueues setting out(i, j) to the squared Euclidean distance of row i of `q` to row j of `x` (Metric::l2_squared).
// Throws InvalidInput if types or columns of `q` and `x` differ, `out` is not float32 with rows of `q` by rows of
// `x`, or `out` overlaps another view; NoCompiler if the device can neither run the operation nor compile kernels.
inline void l2_squared(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "l2_squared", {q, x, out});
}
// Enqueues setting out(i, j) to the dot product of row i of `q` and row j of `x`; Metric::inner_product is its
// negative. Throws InvalidInput if types or columns of `q` and `x` differ, `out` is not float32 with rows of `q` by
// rows of `x`, or `out` overlaps another view; NoCompiler if the device can neither run the operation nor compile
// kernels.
inline void dot_product(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "dot_product", {q, x, out});
}
// Enqueues setting out(i, j) to 1 minus the cosine between row i of `q` and row j of `x`, and to 1 if either row is
// zero (Metric::cosine). Throws InvalidInput if types or columns of `q` and `x` differ, `out` is not float32 with
// rows of `q` by rows of `x`, or `out` overlaps another view; NoCompiler if the device can neither run the operation
// nor compile kernels.
inline void cosine_distance(Stream& stream, const View& q, const View& x, const View& out) {
  run(stream, "cosine_distance", {q, x, out});
}

// --- Steps of exact and graph search; docs/operations.md has their formulas ---

// Options of scan_bounds(). `beta_margin` and `margin` widen the upper bound by beta_margin * |beta| + margin, where
// beta is the first of the row's x_terms.
struct ScanBoundsOptions {
  std::int64_t first_row = 0;  // added to the row numbers written to `candidates`
  double beta_margin = 0x1p-19;
  double margin = 0;
  bool masked = false;  // leaves out the rows whose bit in `excluded` is set
};
// Enqueues appending to row i of `candidates` every row of `x` whose lower bound on the distance to row i of `q` is
// not above that query's limit in `q_terms`, with (lower, upper) to `bounds`; counts(i) grows even if `candidates`
// is full. `excluded` is one row of int32 words with a bit for each row number, lowest first; 1 x 1 when nothing is
// masked. Throws InvalidInput if columns of `x` and `q` differ, a shape does not fit, int8 has over 131,071 columns,
// or row numbers exceed int32; NoCompiler if the device can neither run the operation nor compile kernels.
inline void scan_bounds(Stream& stream, const View& x, const View& q, const View& x_terms, const View& q_terms,
                        const View& candidates, const View& bounds, const View& counts, const View& excluded,
                        const ScanBoundsOptions& options = {}) {
  run(stream, "scan_bounds", {x, q, x_terms, q_terms, candidates, bounds, counts, excluded},
      {options.first_row, options.beta_margin, options.margin, std::int64_t{options.masked}});
}
// Enqueues lowering each query's limit to the k-th smallest upper bound of its candidates, and copying the
// candidates whose lower bound is not above it to `kept` and `kept_bounds`. If a count exceeds the columns of
// `candidates`, only the limit is lowered. Throws InvalidInput if k < 1, `kept` has no columns or more than
// `candidates`, or a shape does not fit; NoCompiler if the device can neither run the operation nor compile kernels.
inline void tighten_bounds(Stream& stream, const View& candidates, const View& bounds, const View& counts,
                           const View& limits, const View& kept, const View& kept_bounds, std::int64_t k) {
  run(stream, "tighten_bounds", {candidates, bounds, counts, limits, kept, kept_bounds}, {k});
}

// Options of graph_search(): the search stops when the nearest unvisited row is farther than `epsilon` times the
// distance of the k-th best.
struct GraphSearchOptions {
  std::int64_t k = 1;
  double epsilon = 0;  // 0: no early stop
};
// Enqueues a best-first beam search over the graph `links` for each row of `q`; the columns of `found` are the beam
// width. Writes rows of `x`, nearest first, and squared distances, padded with -1 and infinity. Throws InvalidInput
// if `found` has over 512 columns, `links` or `entry_points` over 256, or a shape does not fit; Unsupported if
// shared memory is too small; NoCompiler if the device can neither run it nor compile kernels.
inline void graph_search(Stream& stream, const View& x, const View& q, const View& links, const View& entry_points,
                         const View& found, const View& distances, const View& scored,
                         const GraphSearchOptions& options = {}) {
  run(stream, "graph_search", {x, q, links, entry_points, found, distances, scored}, {options.k, options.epsilon});
}
// Enqueues RobustPrune (Vamana) of each row of `candidates`, which must be sorted by `distances`; writes the chosen
// rows and their squared distances, padded with -1 and infinity. Throws InvalidInput if `candidates` or `chosen` has
// more than 512 columns or a shape does not fit; Unsupported if the device has too little shared memory; NoCompiler
// if the device can neither run the operation nor compile kernels.
inline void graph_prune(Stream& stream, const View& x, const View& candidates, const View& distances,
                        const View& chosen, const View& chosen_distances, double alpha = 1) {
  run(stream, "graph_prune", {x, candidates, distances, chosen, chosen_distances}, {alpha});
}

}  // namespace vectis::inline v0_1::ops
