#include "search/graph/projection.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/graph/float_kernels.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t subspace_rounds = 6;
constexpr std::size_t basis_grain = 16;        // rows per task
constexpr std::size_t covariance_block = 512;  // rows
constexpr float degenerate_norm = 1e-6F;       // below this a unit vector was linearly dependent on the ones before

// Bounds of coordinates after scaling, in units of the longest vector of the training sample. Scores multiply a query
// by a row and sum up to 65,537 coordinates: less than 2^90, far from the end of floats. Queries may be longer than
// rows, so that clamping a query does not change the order of rows.
constexpr double row_coordinate_max = 0x1p20;
constexpr double query_coordinate_max = 0x1p40;

// `stride` columns; those beyond dim are zero.
std::vector<float> transposed(std::span<const float> rows, std::size_t dim, std::size_t stride) {
  const std::size_t count = rows.size() / dim;
  std::vector<float> columns(stride * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < dim; ++j) columns[j * count + i] = rows[i * dim + j];
  }
  return columns;
}

// Replaces `left` by left * transpose(right); both have rows of `length` floats.
Steps multiply(Executor* executor, std::span<const float> right, std::size_t length, Work step_work,
               std::vector<float>* left) {
  const std::size_t columns = right.size() / length;
  std::vector<float> result(left->size() / length * columns);
  const Executor::Range body = [&](std::size_t begin, std::size_t end) {
    dot_products(left->data() + begin * length, end - begin, right.data(), columns, length,
                 result.data() + begin * columns);
  };
  co_await parallel_steps(executor, left->size() / length, basis_grain, products_work(right.size()), step_work, body);
  *left = std::move(result);
}

// transpose(rows) * rows, padded to stride * stride. Blocks of rows stay in the cache. The matrix is symmetric: one
// triangle is computed, then mirrored.
Steps covariance_of(Executor* executor, std::span<const float> rows, std::size_t dim, std::size_t stride,
                    Work step_work, std::vector<float>* covariance) {
  std::vector<float> result(stride * stride);
  const std::size_t block = covariance_block * dim;
  for (std::size_t at = 0; at < rows.size(); at += block) {
    const std::span<const float> some = rows.subspan(at, std::min(block, rows.size() - at));
    const std::size_t length = some.size() / dim;
    const std::vector<float> columns = transposed(some, dim, stride);
    const Executor::Range body = [&](std::size_t begin, std::size_t end) {
      std::vector<float> products((end - begin) * (stride - begin));
      dot_products(columns.data() + begin * length, end - begin, columns.data() + begin * length, stride - begin,
                   length, products.data());
      for (std::size_t i = begin; i < end; ++i) {
        const float* const row = products.data() + (i - begin) * (stride - begin);
        for (std::size_t j = i; j < stride; ++j) result[i * stride + j] += row[j - begin];
      }
    };
    co_await parallel_steps(executor, stride, basis_grain, products_work(length * stride), step_work, body);
  }
  for (std::size_t i = 0; i < stride; ++i) {
    for (std::size_t j = 0; j < i; ++j) result[i * stride + j] = result[j * stride + i];
  }
  *covariance = std::move(result);
}

void fill_random(Random& random, std::span<float> vector) {
  for (float& x : vector) x = static_cast<float>(random.unit() - 0.5);
}

// Returns the norm before.
float normalize(std::span<float> vector) {
  float square = 0;
  dot_products(vector.data(), 1, vector.data(), 1, vector.size(), &square);
  const float norm = std::sqrt(square);
  if (norm > 0) {
    for (float& x : vector) x /= norm;
  }
  return norm;
}

// Subtracts the components along the orthonormal rows `before`. `scratch` saves allocations.
void make_orthogonal(std::span<const float> before, std::span<float> vector, std::vector<float>& scratch) {
  const std::size_t length = vector.size();
  const std::size_t count = before.size() / length;
  if (count == 0) return;
  scratch.resize(count + length);
  float* const components = scratch.data();
  float* const sums = components + count;
  dot_products(vector.data(), 1, before.data(), count, length, components);
  weighted_sums(components, 1, count, before.data(), length, sums);
  for (std::size_t j = 0; j < length; ++j) vector[j] -= sums[j];
}

// Gram-Schmidt on rows of `stride` floats, of which those beyond dim are and stay zero. The first pass leaves rounding
// errors, which `precise` removes by a second pass.
Steps make_orthonormal(Random* random, std::span<float> vectors, std::size_t dim, std::size_t stride, bool precise,
                       Work step_work) {
  std::vector<float> scratch;
  Work work = 0;
  for (std::size_t i = 0; i < vectors.size() / stride; ++i) {
    work += products_work(i * stride * (precise ? 4 : 2));
    if (work > step_work) {
      co_yield Pause{.done = work, .next = step_work};
      work = 0;
    }
    const std::span<float> vector = vectors.subspan(i * stride, stride);
    const std::span<const float> before = vectors.first(i * stride);
    normalize(vector);
    make_orthogonal(before, vector, scratch);
    while (normalize(vector) < degenerate_norm) {
      fill_random(*random, vector.first(dim));
      make_orthogonal(before, vector, scratch);
    }
    if (!precise) continue;
    make_orthogonal(before, vector, scratch);
    normalize(vector);
  }
}

double largest_magnitude(const float* vector, std::size_t dim) noexcept {
  float largest = 0;
  for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::abs(vector[i]));
  return double{largest};
}

// What a vector is multiplied by, so that no coordinate exceeds `coordinate_max`: far longer vectors keep their
// direction, and stay longer than all others.
double scale_of(const Projection& projection, const float* vector, double coordinate_max) {
  const double factor = std::ldexp(1.0, -projection.exponent);
  if (projection.metric == Metric::cosine) {
    const double norm = std::sqrt(squared_norm(vector, projection.dim));
    return norm > 0 ? 1 / norm : factor;
  }
  const double largest = largest_magnitude(vector, projection.dim);
  return largest * factor > coordinate_max ? coordinate_max / largest : factor;
}

double scale_of_row(const Projection& projection, const float* vector) {
  return scale_of(projection, vector, row_coordinate_max);
}

double scale_of_query(const Projection& projection, const float* vector) {
  const double factor = scale_of(projection, vector, query_coordinate_max);
  if (projection.metric != Metric::inner_product) return factor;
  // The length of a query does not change the order of its inner products, which must not vanish.
  const double largest = largest_magnitude(vector, projection.dim);
  return largest > 0 && largest * factor * row_coordinate_max < 1 ? 1 / (row_coordinate_max * largest) : factor;
}

// Multiplies the vector by `factor`. `added` is the extra coordinate of inner product.
void transform(const Projection& projection, const float* vector, double factor, double added, float* target) {
  for (std::size_t i = 0; i < projection.dim; ++i) target[i] = static_cast<float>(double{vector[i]} * factor);
  if (projection.augmented_dim > projection.dim) target[projection.dim] = static_cast<float>(added);
}

// The extra coordinate that brings a vector to max_norm; 0 for other metrics than inner product.
double extra_coordinate(const Projection& projection, const float* vector) {
  if (projection.metric != Metric::inner_product) return 0;
  const double wanted = double{projection.max_norm} * double{projection.max_norm};
  const double present = std::ldexp(squared_norm(vector, projection.dim), -2 * projection.exponent);
  return std::sqrt(std::max(0.0, wanted - present));
}

// `longest` is the norm of the longest vector.
void set_scale(Projection& projection, double longest) {
  if (projection.metric != Metric::cosine && longest > 0) std::frexp(longest, &projection.exponent);
  if (projection.metric == Metric::inner_product) {
    projection.max_norm = static_cast<float>(std::ldexp(longest, -projection.exponent));
  }
}

// `inputs` are rows of augmented_dim floats.
void apply_basis(const Projection& projection, const std::vector<float>& inputs, float* output) {
  if (projection.basis.empty()) {
    std::ranges::copy(inputs, output);
    return;
  }
  const std::size_t count = inputs.size() / projection.augmented_dim;
  const std::size_t stride = projection.basis_stride();
  thread_local std::vector<float> padded;
  padded.resize(count * stride);
  weighted_sums(inputs.data(), count, projection.augmented_dim, projection.basis.data(), stride, padded.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(padded.data() + i * stride, projection.output_dim, output + i * projection.output_dim);
  }
}

std::vector<float>& input_scratch(const Projection& projection, std::size_t rows = 1) {
  thread_local std::vector<float> inputs;
  inputs.resize(rows * projection.augmented_dim);
  return inputs;
}

}  // namespace

float float_scale(const Projection& projection) noexcept {
  return std::ldexp(1.0F, std::clamp(-projection.exponent, -126, 127));
}

double squared_norm(const float* vector, std::size_t dim) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{vector[i]} * double{vector[i]};
  return sum;
}

Projection make_projection(Metric metric, std::size_t dim) {
  Projection projection;
  projection.metric = metric;
  projection.dim = dim;
  projection.augmented_dim = dim + (metric == Metric::inner_product ? 1 : 0);
  projection.mean.resize(projection.augmented_dim);
  projection.output_dim = projection.augmented_dim;
  return projection;
}

Steps fit_mean(Projection* projection, std::span<const float> vectors, Work step_work, std::vector<float>* rows) {
  const Work row_work = 2 + projection->dim / 32;  // of each pass
  const std::size_t count = vectors.size() / projection->dim;
  const std::size_t together = step_work == all_at_once ? count : std::max<std::size_t>(1, step_work / row_work);
  const std::size_t dim = projection->augmented_dim;
  double longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && i % together == 0) co_yield Pause{.done = together * row_work, .next = together * row_work};
    longest = std::max(longest, std::sqrt(squared_norm(vectors.data() + i * projection->dim, projection->dim)));
  }
  set_scale(*projection, longest);
  co_await grow_in_steps(rows, count * dim, step_work);
  std::vector<double> sums(dim);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % together == 0) co_yield Pause{.done = together * row_work, .next = together * row_work};
    const float* const vector = vectors.data() + i * projection->dim;
    float* const row = rows->data() + i * dim;
    transform(*projection, vector, scale_of_row(*projection, vector), extra_coordinate(*projection, vector), row);
    for (std::size_t j = 0; j < dim; ++j) sums[j] += double{row[j]};
  }
  for (std::size_t j = 0; j < dim; ++j) projection->mean[j] = static_cast<float>(sums[j] / static_cast<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (i % together == 0) co_yield Pause{.done = together * row_work, .next = together * row_work};
    for (std::size_t j = 0; j < dim; ++j) (*rows)[i * dim + j] -= projection->mean[j];
  }
  projection->trained_rows = count;
}

Steps pca_basis_in_steps(Executor* executor, std::span<const float> rows, std::size_t dim, std::size_t count,
                         Work step_work, std::vector<float>* basis) {
  const std::size_t stride = padded_dim(dim);
  std::vector<float> covariance;
  co_await covariance_of(executor, rows, dim, stride, step_work, &covariance);
  Random random(1);
  basis->assign(count * stride, 0);
  for (std::size_t i = 0; i < count; ++i) fill_random(random, std::span(*basis).subspan(i * stride, dim));
  co_await make_orthonormal(&random, *basis, dim, stride, false, step_work);
  for (std::size_t round = 0; round < subspace_rounds; ++round) {
    co_await multiply(executor, covariance, stride, step_work, basis);
    co_await make_orthonormal(&random, *basis, dim, stride, round + 1 == subspace_rounds, step_work);
  }
  for (std::size_t i = 1; i < count; ++i) std::copy_n(basis->data() + i * stride, dim, basis->data() + i * dim);
  basis->resize(count * dim);
}

std::vector<float> pca_basis(Executor& executor, std::span<const float> rows, std::size_t dim, std::size_t count) {
  std::vector<float> basis;
  run(pca_basis_in_steps(&executor, rows, dim, count, all_at_once, &basis));
  return basis;
}

void project_row(const Projection& projection, const float* vector, float* output) {
  std::vector<float>& input = input_scratch(projection);
  transform(projection, vector, scale_of_row(projection, vector), extra_coordinate(projection, vector), input.data());
  for (std::size_t i = 0; i < input.size(); ++i) input[i] -= projection.mean[i];
  apply_basis(projection, input, output);
}

bool shortens_row(const Projection& projection, const float* vector) noexcept {
  return projection.metric != Metric::cosine &&
         std::ldexp(largest_magnitude(vector, projection.dim), -projection.exponent) > row_coordinate_max;
}

void project_query(const Projection& projection, const float* vector, float* output) {
  project_queries(projection, {vector, projection.dim}, output);
}

void project_queries(const Projection& projection, std::span<const float> vectors, float* output) {
  const std::size_t count = vectors.size() / projection.dim;
  std::vector<float>& inputs = input_scratch(projection, count);
  for (std::size_t row = 0; row < count; ++row) {
    float* const target = inputs.data() + row * projection.augmented_dim;
    const float* const vector = vectors.data() + row * projection.dim;
    transform(projection, vector, scale_of_query(projection, vector), 0, target);
    if (projection.metric == Metric::inner_product) continue;  // the mean adds the same product to all rows
    for (std::size_t i = 0; i < projection.augmented_dim; ++i) target[i] -= projection.mean[i];
  }
  apply_basis(projection, inputs, output);
}

void project_query_as_row(const Projection& projection, const float* vector, float* output) {
  std::vector<float>& input = input_scratch(projection);
  transform(projection, vector, scale_of_query(projection, vector), 0, input.data());
  const double norm = std::sqrt(squared_norm(input.data(), input.size()));
  if (projection.metric == Metric::inner_product && norm > 0) {
    for (float& x : input) x = static_cast<float>(double{x} * double{projection.max_norm} / norm);
  }
  for (std::size_t i = 0; i < input.size(); ++i) input[i] -= projection.mean[i];
  apply_basis(projection, input, output);
}

QuerySizes query_sizes(const Projection& projection, const float* vector) {
  std::vector<float>& input = input_scratch(projection);
  QuerySizes sizes;
  sizes.scale = scale_of_query(projection, vector);
  transform(projection, vector, sizes.scale, 0, input.data());
  double square = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double centered = double{input[i]} - double{projection.mean[i]};
    square += centered * centered;
    sizes.mean_product += double{input[i]} * double{projection.mean[i]};
  }
  sizes.centered_norm = std::sqrt(square);
  sizes.mean_norm = std::sqrt(squared_norm(projection.mean.data(), projection.mean.size()));
  sizes.unit = projection.metric == Metric::cosine ? 1 : 0;
  sizes.exact = projection.metric == Metric::inner_product
                    ? projection.basis.empty()
                    : projection.metric == Metric::cosine || sizes.scale == std::ldexp(1.0, -projection.exponent);
  return sizes;
}

float inner_product_offset(const Projection& projection, const float* vector) {
  std::vector<float>& input = input_scratch(projection);
  transform(projection, vector, scale_of_query(projection, vector), 0, input.data());
  double mean_product = 0;
  for (std::size_t i = 0; i < input.size(); ++i) mean_product += double{input[i]} * double{projection.mean[i]};
  const double norm = std::sqrt(squared_norm(input.data(), input.size()));
  return static_cast<float>(2 * (double{projection.max_norm} * norm - mean_product));
}

}  // namespace vectis::inline v0_1::graph
