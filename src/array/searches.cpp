// Operations that compute at the call: positions in sorted arrays, neighboring floating-point numbers, repetitions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Copies the elements of an array in row-major order, as they are stored.
std::vector<std::byte> stored_elements(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  x.copy_to(bytes, x.dtype());
  return bytes;
}

template <class Wide>
std::vector<Wide> loaded_elements(const Tensor& x) {
  const std::vector<std::byte> bytes = stored_elements(x);
  std::vector<Wide> values(static_cast<std::size_t>(x.elements()));
  load_wide(x.dtype(), bytes.data(), values.size(), values.data());
  return values;
}

// The position of each value in `sorted`, in which NaN is last.
template <class Wide>
std::vector<std::int64_t> positions_in(const Tensor& sorted, const Tensor& values, bool after_equal) {
  const std::vector<Wide> from = loaded_elements<Wide>(sorted);
  const auto is_less = [](Wide a, Wide b) { return is_nan(b) ? !is_nan(a) : a < b; };
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(values.elements()));
  for (const Wide value : loaded_elements<Wide>(values)) {
    const auto found = after_equal ? std::upper_bound(from.begin(), from.end(), value, is_less)
                                   : std::lower_bound(from.begin(), from.end(), value, is_less);
    positions.push_back(found - from.begin());
  }
  return positions;
}

// The stored form of the number after x in the direction of y, of a binary floating-point format without padding.
template <class Bits>
void store_next(double x, double y, std::byte* element, const std::byte* of_y) {
  if (std::isnan(x)) return;
  if (std::isnan(y) || x == y) {
    std::memcpy(element, of_y, sizeof(Bits));
    return;
  }
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  Bits bits = 0;
  std::memcpy(&bits, element, sizeof(Bits));
  if (x == 0) {
    bits = static_cast<Bits>((y < 0 ? sign : Bits{0}) | Bits{1});
  } else {
    const bool away_from_zero = (x < y) == (x > 0);
    bits = static_cast<Bits>(away_from_zero ? bits + 1 : bits - 1);
  }
  std::memcpy(element, &bits, sizeof(Bits));
}

}  // namespace

Tensor searchsorted(const Operand& sorted, const Operand& values, bool after_equal) {
  const Tensor& in = as_tensor("searchsorted", sorted);
  const Tensor& searched = as_tensor("searchsorted", values);
  check_devices("searchsorted", in, searched);
  if (in.rank() != 1) {
    throw_invalid("searchsorted", fmt::format("the sorted array has shape {}; give a vector", to_string(in.shape())));
  }
  const DType type = promote(in.dtype(), searched.dtype());
  const Tensor from = in.astype(type);
  const Tensor found = searched.astype(type);
  const std::vector<std::int64_t> positions = is_real(type) ? positions_in<double>(from, found, after_equal)
                                                            : positions_in<std::int64_t>(from, found, after_equal);
  return indices_beside(in, Tensor::from_cpu(positions, searched.shape(), {.runtime = &runtime_of(in)}));
}

Tensor nextafter(const Operand& x, const Operand& towards) {
  const Resolved operands = resolve("nextafter", {&x, &towards});
  const Tensor& from = operands.tensors[0];
  const DType type = from.dtype();
  if (!is_real(type)) {
    throw_invalid("nextafter", fmt::format("takes floating-point numbers, not {}; convert by astype(DType::float32)",
                                           vectis::name(type)));
  }
  std::vector<std::byte> elements = stored_elements(from);
  const std::vector<std::byte> of_y = stored_elements(operands.tensors[1]);
  const std::size_t size = size_of(type);
  const auto count = static_cast<std::size_t>(from.elements());
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const element = elements.data() + i * size;
    double values[2];
    load_wide(type, element, 1, values);
    load_wide(type, of_y.data() + i * size, 1, values + 1);
    const auto store = size == 8   ? store_next<std::uint64_t>
                       : size == 4 ? store_next<std::uint32_t>
                                   : store_next<std::uint16_t>;
    store(values[0], values[1], element, of_y.data() + i * size);
  }
  return Tensor::from_bytes(elements, type, from.shape(), options_of(from));
}

Tensor repeat(const Operand& x, const Tensor& repetitions, std::int64_t axis) {
  const Tensor& tensor = as_tensor("repeat", x);
  const std::int64_t extent = tensor.extent(axis);
  if (is_real(repetitions.dtype()) || repetitions.dtype() == DType::boolean) {
    throw_invalid("repeat", fmt::format("repetitions are {}; give integers", vectis::name(repetitions.dtype())));
  }
  if (repetitions.rank() > 1 || (repetitions.elements() != 1 && repetitions.elements() != extent)) {
    throw_invalid("repeat", fmt::format("repetitions have shape {} for an axis of {} elements; give one for each",
                                        to_string(repetitions.shape()), extent));
  }
  const std::vector<std::int64_t> counts = loaded_elements<std::int64_t>(repetitions);
  const std::int64_t least = counts.empty() ? 0 : *std::ranges::min_element(counts);
  if (least < 0) throw_invalid("repeat", fmt::format("{} repetitions; give 0 or more", least));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::int64_t count = counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    check_shape("repeat", {static_cast<std::int64_t>(indices.size()), count}, DType::int64);
    indices.insert(indices.end(), static_cast<std::size_t>(count), i);
  }
  const Shape shape = {static_cast<std::int64_t>(indices.size())};
  return take(x, indices_beside(tensor, Tensor::from_cpu(indices, shape, {.runtime = &runtime_of(tensor)})), axis);
}

}  // namespace vectis::inline v0_1::array
