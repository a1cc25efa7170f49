// Maps vectors of every metric to points whose squared Euclidean distances order as the metric does, and projects
// them onto their principal components.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/graph/steps.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// Returns `dim` rounded up to a multiple of 16, the floats per row that weighted_sums() takes. Does not throw.
[[nodiscard]] constexpr std::size_t padded_dim(std::size_t dim) noexcept { return (dim + 15) / 16 * 16; }

// The parameters that map vectors to points whose squared Euclidean distances order as the metric does. Cosine:
// vectors are divided by their norms. Inner product: vectors get one more coordinate that gives all of them the same
// norm (Bachrach et al., "Speeding Up the Xbox Recommender System", 2014). Then the mean is subtracted and the
// leading principal components are kept. Vectors more than 2^20 times (queries: 2^40 times) as long as the longest
// training vector are shortened to that length, so that scores stay finite. Immutable once trained.
struct Projection {
  Metric metric = Metric::l2;
  std::size_t dim = 0;            // of the user's vectors
  std::size_t augmented_dim = 0;  // dim, plus 1 for inner product
  int exponent = 0;               // vectors are multiplied by 2^-exponent first, so that squares do not overflow
  float max_norm = 0;             // inner product: the norm of all augmented vectors; longer vectors stay longer
  std::vector<float> mean;        // augmented_dim floats

  std::size_t output_dim = 0;
  // PCA basis: augmented_dim rows of basis_stride() floats; element (i, j) is the weight of input i in output j, zero
  // for j >= output_dim. Empty: outputs are the centered inputs.
  std::vector<float> basis;
  std::size_t trained_rows = 0;  // vectors it was trained on

  // Returns the floats per row of `basis`: output_dim rounded up to a multiple of 16.
  [[nodiscard]] std::size_t basis_stride() const noexcept { return padded_dim(output_dim); }
};

// Returns an untrained projection for vectors of `dim` floats: mean 0, exponent 0, no basis. The metric must be l2,
// l2_squared, cosine or inner_product, not checked. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] Projection make_projection(Metric metric, std::size_t dim);

// Work of so many multiplications and additions by the kernels of float_kernels.hpp, about. Does not throw.
[[nodiscard]] constexpr Work products_work(std::size_t products) noexcept { return products / 512 + 1; }

// Sets exponent, max_norm, mean and trained_rows of the projection from `vectors`, and leaves their centered rows of
// augmented_dim floats in `rows`, which must be empty, in steps of about `step_work`. Precondition, not checked: at
// least one row of projection.dim floats. What the arguments point to must outlive the steps. Throws std::bad_alloc.
Steps fit_mean(Projection* projection, std::span<const float> vectors, Work step_work, std::vector<float>* rows);

// Returns the leading `count` principal components of `rows` as orthonormal rows of `dim` floats, largest variance
// first. Preconditions, not checked: `rows` are centered, at least one; count <= dim. Six rounds of subspace
// iteration approximate the eigenvectors; the result does not depend on the number of threads. Throws std::bad_alloc.
[[nodiscard]] std::vector<float> pca_basis(Executor& executor, std::span<const float> rows, std::size_t dim,
                                           std::size_t count);

// Does the same in steps of about `step_work`, and leaves the result in `basis`. What the arguments point to must
// outlive the steps.
Steps pca_basis_in_steps(Executor* executor, std::span<const float> rows, std::size_t dim, std::size_t count,
                         Work step_work, std::vector<float>* basis);

// Projects a stored vector of dim floats and writes output_dim floats to `output`. Any number of threads may call it.
// Throws std::bad_alloc when memory is exhausted.
void project_row(const Projection& projection, const float* vector, float* output);
// Returns whether project_row shortens a vector of dim floats, which changes its distances. Does not throw.
[[nodiscard]] bool shortens_row(const Projection& projection, const float* vector) noexcept;
// Projects a query of dim floats for scoring by dot products and writes output_dim floats to `output`; under inner
// product without mean and extra coordinate. Any number of threads may call it. Throws std::bad_alloc.
void project_query(const Projection& projection, const float* vector, float* output);
// Projects several queries, whole rows of dim floats, and writes output_dim floats for each to `output`; each result
// equals that of project_query. Faster, because the basis is read once per batch. Throws std::bad_alloc.
void project_queries(const Projection& projection, std::span<const float> vectors, float* output);
// Projects a query of dim floats to a point among the rows and writes output_dim floats to `output`: under inner
// product the query is scaled to max_norm, so that squared distances to rows order as the metric. Throws
// std::bad_alloc.
void project_query_as_row(const Projection& projection, const float* vector, float* output);
// Returns, for a query under inner product, the constant that added to -2 * (query . row) gives a value proportional
// to the squared distance. `vector` must have dim floats; meaningless for other metrics. Throws std::bad_alloc.
[[nodiscard]] float inner_product_offset(const Projection& projection, const float* vector);

// The sizes of a query after scaling, from which bounds of the errors of its projection are made.
struct QuerySizes {
  double scale = 1;          // what the query was multiplied by
  double centered_norm = 0;  // of all coordinates, not only of those that the projection keeps
  double mean_product = 0;   // with the mean of the rows
  double mean_norm = 0;
  double unit = 0;     // length that vectors were normalized to: 1 for cosine, else 0
  bool exact = false;  // false: the query was shortened, or the projection drops a part of inner products
};

// Returns the sizes of a query of dim floats. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] QuerySizes query_sizes(const Projection& projection, const float* vector);

// Returns the sum of the squares of `dim` floats, in double precision. `vector` must point to `dim` floats. Does not
// throw.
[[nodiscard]] double squared_norm(const float* vector, std::size_t dim) noexcept;

// Returns the factor, a power of two, that keeps squared differences of vectors in the range of floats: the
// projection's own scale, or the nearest normal float. Does not throw.
[[nodiscard]] float float_scale(const Projection& projection) noexcept;

}  // namespace vectis::inline v0_1::graph
