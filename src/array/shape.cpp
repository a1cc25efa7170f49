#include "vectis/array/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

void check_rank(std::size_t rank) {
  if (rank <= Shape::rank_max) return;
  throw Error(ErrorCode::invalid_input, "shape",
              fmt::format("{} axes, at most {} are supported; join some axes by reshape", rank, Shape::rank_max));
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> numbers) : Shape(numbers.size(), 0) { std::ranges::copy(numbers, begin()); }

Shape::Shape(std::size_t rank, std::int64_t number) {
  check_rank(rank);
  if (rank > inline_max) heap_ = std::make_unique<std::int64_t[]>(rank_max);
  rank_ = static_cast<std::uint8_t>(rank);
  std::fill_n(begin(), rank, number);
}

Shape::Shape(const Shape& other) : inline_(other.inline_), rank_(other.rank_) {
  if (!other.heap_) return;
  heap_ = std::make_unique<std::int64_t[]>(rank_max);
  std::ranges::copy(other, begin());
}

Shape& Shape::operator=(const Shape& other) {
  if (this != &other) *this = Shape(other);
  return *this;
}

Shape::Shape(Shape&& other) noexcept
    : inline_(other.inline_), heap_(std::move(other.heap_)), rank_(std::exchange(other.rank_, std::uint8_t{0})) {}

Shape& Shape::operator=(Shape&& other) noexcept {
  inline_ = other.inline_;
  heap_ = std::move(other.heap_);
  rank_ = std::exchange(other.rank_, std::uint8_t{0});
  return *this;
}

void Shape::insert(std::size_t axis, std::int64_t number) {
  check_rank(rank_ + std::size_t{1});
  if (rank_ == inline_max && !heap_) {
    auto grown = std::make_unique<std::int64_t[]>(rank_max);
    std::ranges::copy(*this, grown.get());
    heap_ = std::move(grown);
  }
  std::copy_backward(begin() + axis, end(), end() + 1);
  begin()[axis] = number;
  ++rank_;
}

void Shape::erase(std::size_t axis) noexcept {
  std::copy(begin() + axis + 1, end(), begin() + axis);
  --rank_;
}

std::int64_t Shape::elements() const noexcept {
  return std::accumulate(begin(), end(), std::int64_t{1}, std::multiplies<>{});
}

bool Shape::operator==(const Shape& other) const noexcept { return std::ranges::equal(*this, other); }

std::string to_string(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.rank() == 1 ? "," : "");
}

}  // namespace vectis::inline v0_1
