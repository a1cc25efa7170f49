// Maps vectors of every metric to points whose squared Euclidean distances order as the metric does, and projects them
// onto their principal components.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// Cosine: vectors are divided by their norms. Inner product: vectors get one more coordinate that gives all of them the
// same norm (the reduction of Bachrach et al., "Speeding Up the Xbox Recommender System", 2014). Then the mean is
// subtracted, and the leading principal components are kept. Immutable once trained.
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

  [[nodiscard]] std::size_t basis_stride() const noexcept { return (output_dim + 15) / 16 * 16; }
};

// The projection without training: mean 0, no basis.
[[nodiscard]] Projection make_projection(Metric metric, std::size_t dim);

// Sets exponent, max_norm and mean from `vectors`, at least one row of dim floats. Returns the centered rows of
// augmented_dim floats.
[[nodiscard]] std::vector<float> fit_mean(Projection& projection, std::span<const float> vectors);

// The leading `count` principal components of `rows` (centered, at least one) as rows of `dim` floats, orthonormal,
// largest variance first. Six rounds of subspace iteration: close enough to eigenvectors for choosing codes, and the
// same result for any number of threads.
[[nodiscard]] std::vector<float> pca_basis(Executor& executor, std::span<const float> rows, std::size_t dim,
                                           std::size_t count);

// Each writes output_dim floats per vector to `output`. Safe to call from several threads.
void project_row(const Projection& projection, const float* vector, float* output);
void project_query(const Projection& projection, const float* vector, float* output);
// The same results as project_query of each; faster, because the basis is read once per batch.
void project_queries(const Projection& projection, std::span<const float> vectors, float* output);
// The query as a point among the rows: under inner product it is scaled to max_norm, so that squared distances to rows
// order as the metric.
void project_query_as_row(const Projection& projection, const float* vector, float* output);
// Inner product: the constant that turns -2 * (query . row) into a value proportional to the squared distance.
[[nodiscard]] float inner_product_offset(const Projection& projection, const float* vector);

// In double precision.
[[nodiscard]] double squared_norm(const float* vector, std::size_t dim) noexcept;

}  // namespace vectis::inline v0_1::graph
