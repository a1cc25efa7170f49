#include "vectis/search/l2_distance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "device/call.hpp"
#include "memory/size_class.hpp"
#include "search/common/checks.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view distances_op = "l2_distance";

std::size_t product_of(std::size_t a, std::size_t b, std::string_view what) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / sizeof(float) / b) {
    throw Error(ErrorCode::invalid_input, distances_op,
                fmt::format("{} of {} times {} floats exceed the address space; pass fewer at once", what, a, b));
  }
  return a * b;
}

void expect_floats(std::string_view what, std::size_t given, std::size_t rows, std::size_t dim) {
  const std::size_t expected = product_of(rows, dim, what);
  if (given == expected) return;
  throw Error(
      ErrorCode::invalid_input, distances_op,
      fmt::format("{} have {} floats, but {} rows of dimension {} have {}; pass whole rows, one after the other", what,
                  given, rows, dim, expected));
}

float largest_of(std::span<const float> values) noexcept {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// The scale by which values are divided before they are rounded. Squares of values below 2^-63 vanish in single
// precision, so small values are scaled up.
double unit_of(Precision precision, float largest) {
  constexpr int half_exponent = 14;    // 2^14 is near the largest fp16
  constexpr int small_exponent = -40;  // leaves 23 bits for differences
  if (largest == 0) return 1;
  if (precision == Precision::int8) return double{largest} / 127;
  const int exponent = std::ilogb(largest);
  if (precision == Precision::fp16) return std::ldexp(1.0, exponent - half_exponent);
  return exponent < small_exponent ? std::ldexp(1.0, exponent) : 1.0;
}

constexpr float overflowing = 0x1p40F;  // sums of squares of larger values may exceed single precision

// Computes distances whose squares overflowed on the host. Large values are not scaled: small ones beside them would
// vanish.
void replace_overflows(std::span<const float> queries, std::span<const float> vectors, std::size_t dim,
                       std::span<float> distances) {
  const std::size_t n_vectors = vectors.size() / dim;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (std::isfinite(distances[i])) continue;
    distances[i] = static_cast<float>(exact_distance(Metric::l2, queries.subspan(i / n_vectors * dim, dim),
                                                     vectors.subspan(i % n_vectors * dim, dim)));
  }
}

// The floats that the device allocates in one piece at most, as the memory pool rounds them; 0: unknown.
std::uint64_t floats_max(const Device& device) {
  const DeviceLimits& limits = device.info().limits;
  const std::uint64_t unit = detail::round_up(detail::block_unit, limits.memory_alignment);
  return limits.allocation_bytes_max / unit * unit / sizeof(float);
}

// Throws Allocation, with what would fit, when the device cannot allocate `rows` rows of floats in one piece.
void expect_room_for_rows(const Device& device, std::string_view what, std::size_t rows, std::size_t dim) {
  const std::uint64_t most = floats_max(device);
  if (most == 0 || rows <= most / dim) return;
  throw Error(ErrorCode::allocation, distances_op,
              fmt::format("{} {} of dimension {} are {} floats, but {} allocates at most {} at once; {}", rows, what,
                          dim, rows * dim, device.label(), most,
                          dim <= most ? fmt::format("pass at most {} {} at once", most / dim, what)
                                      : std::string("not even one row fits; use a device with more memory")));
}

// Throws Allocation, with what would fit, when the device cannot allocate the result in one piece.
void expect_room(const Device& device, std::size_t count, std::size_t n_queries, std::size_t n_vectors) {
  const std::uint64_t most = floats_max(device);
  if (most == 0 || count <= most) return;
  throw Error(ErrorCode::allocation, distances_op,
              fmt::format("{} queries by {} vectors are {} distances, but {} allocates at most {} at once; pass {}",
                          n_queries, n_vectors, count, device.label(), most,
                          n_vectors <= most ? fmt::format("at most {} queries at once", most / n_vectors)
                                            : fmt::format("at most {} vectors at once", most)));
}

// Calls `enqueue` and waits for the stream; also for work that was enqueued before a failure, since it uses memory of
// the caller.
template <class Enqueue>
void finish(Stream& stream, const Enqueue& enqueue) {
  try {
    enqueue();
    stream.synchronize();
  } catch (...) {
    detail::drain(*stream.core());
    throw;
  }
}

// Uploads rows to the device. One thread at a time.
class Operands {
 public:
  Operands(Runtime& runtime, int device, Precision precision)
      : pool_(memory_pool(runtime)), device_(device), precision_(precision) {}

  [[nodiscard]] ManagedBuffer buffer(std::size_t elements, Precision precision) {
    return pool_.get_managed_buffer(device_, elements, precision);
  }
  // The rows divided by `unit`, at the requested precision. Returns when the host memory is no longer needed.
  [[nodiscard]] ManagedBuffer upload(Stream& stream, std::span<const float> values, std::size_t rows, double unit) {
    std::vector<float> scaled;
    if (unit != 1) {
      scaled.resize(values.size());
      std::ranges::transform(values, scaled.begin(),
                             [unit](float value) { return static_cast<float>(double{value} / unit); });
      values = scaled;
    }
    ManagedBuffer plain = buffer(values.size(), Precision::fp32);
    ManagedBuffer rounded = precision_ == Precision::fp32 ? ManagedBuffer{} : buffer(values.size(), precision_);
    finish(stream, [&] {
      stream.copy_to_device(plain.memory(), 0, std::as_bytes(values));
      if (precision_ != Precision::fp32) run(stream, "cast", {view(plain, rows), view(rounded, rows)});
    });
    return precision_ == Precision::fp32 ? std::move(plain) : std::move(rounded);
  }
  [[nodiscard]] static View view(const ManagedBuffer& buffer, std::size_t rows) {
    return {buffer.memory(), dtype_of(buffer.precision()), rows, buffer.elements() / rows};
  }

 private:
  MemoryPool& pool_;
  int device_;
  Precision precision_;
};

}  // namespace

std::vector<float> l2_distance(std::span<const float> queries, std::span<const float> vectors, std::size_t dim,
                               std::size_t n_queries, std::size_t n_vectors, std::optional<int> device,
                               Precision precision, Runtime& runtime) {
  runtime.check_fork(distances_op);
  detail::check_precision(distances_op, precision);
  if (dim == 0 || n_queries == 0 || n_vectors == 0) {
    throw Error(ErrorCode::invalid_input, distances_op,
                fmt::format("{} queries and {} vectors of dimension {}, each must be at least 1; skip the call",
                            n_queries, n_vectors, dim));
  }
  expect_floats("queries", queries.size(), n_queries, dim);
  expect_floats("vectors", vectors.size(), n_vectors, dim);
  const std::size_t count = product_of(n_queries, n_vectors, "distances");
  detail::check_finite(distances_op, runtime.executor(), queries, dim);
  detail::check_finite(distances_op, runtime.executor(), vectors, dim);
  const Device chosen = device ? runtime.service<DeviceRegistry>().at(*device, distances_op) : active_device(runtime);
  expect_room_for_rows(chosen, "queries", n_queries, dim);
  expect_room_for_rows(chosen, "vectors", n_vectors, dim);
  expect_room(chosen, count, n_queries, n_vectors);

  try {
    Operands operands(runtime, chosen.id(), precision);
    const ManagedBuffer out = operands.buffer(count, Precision::fp32);  // fails before anything is computed
    Stream stream(out.memory().context());
    const float largest = std::max(largest_of(queries), largest_of(vectors));
    const double unit = unit_of(precision, largest);
    const ManagedBuffer q = operands.upload(stream, queries, n_queries, unit);
    const ManagedBuffer x = operands.upload(stream, vectors, n_vectors, unit);
    std::vector<float> distances(count);
    finish(stream, [&] {
      run(stream, "l2_squared",
          {Operands::view(q, n_queries), Operands::view(x, n_vectors), Operands::view(out, n_queries)});
      stream.copy_to_host(std::as_writable_bytes(std::span(distances)), out.memory(), 0);
    });
    for (float& distance : distances) distance = static_cast<float>(std::sqrt(double{distance}) * unit);
    if (largest > overflowing) replace_overflows(queries, vectors, dim, distances);
    return distances;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::allocation, distances_op,
                fmt::format("not enough host memory for {} distances, {} bytes; pass fewer queries at once", count,
                            count * sizeof(float)));
  }
}

}  // namespace vectis::inline v0_1
