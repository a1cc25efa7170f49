// The shape of an array: its extent along each axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The extents of an array along its axes, slowest first; also used for strides and lists of axes, whose numbers may be
// negative. Up to six numbers are stored without an allocation. A value: copies are independent.
class VECTIS_API Shape {
 public:
  static constexpr std::size_t rank_max = 64;

  // The shape of a scalar: no axes, one element.
  Shape() noexcept = default;
  // Takes the numbers in order. Throws InvalidInput for more than rank_max.
  Shape(std::initializer_list<std::int64_t> numbers) : Shape(std::span(numbers.begin(), numbers.size())) {}
  // Takes the numbers in order. Throws InvalidInput for more than rank_max.
  explicit Shape(std::span<const std::int64_t> numbers);
  // Makes `rank` numbers that are all `number`. Throws InvalidInput for more than rank_max.
  Shape(std::size_t rank, std::int64_t number);
  Shape(const Shape& other);
  Shape& operator=(const Shape& other);
  // Takes over the numbers of `other`, which becomes a scalar's shape. Does not throw.
  Shape(Shape&& other) noexcept;
  Shape& operator=(Shape&& other) noexcept;
  ~Shape() = default;

  // Returns the number of axes.
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] bool empty() const noexcept { return rank_ == 0; }
  // Returns the number at `axis`, which must be below rank(); this is not checked.
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return data()[axis]; }
  [[nodiscard]] std::int64_t& operator[](std::size_t axis) noexcept { return data()[axis]; }
  [[nodiscard]] const std::int64_t* data() const noexcept { return heap_ ? heap_.get() : inline_.data(); }
  [[nodiscard]] std::int64_t* data() noexcept { return heap_ ? heap_.get() : inline_.data(); }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return data() + rank_; }
  [[nodiscard]] std::int64_t* begin() noexcept { return data(); }
  [[nodiscard]] std::int64_t* end() noexcept { return data() + rank_; }

  // Inserts `number` before the number at `axis`, which must be at most rank(). Throws InvalidInput beyond rank_max.
  void insert(std::size_t axis, std::int64_t number);
  // Removes the number at `axis`, which must be below rank().
  void erase(std::size_t axis) noexcept;
  // Appends `number`. Throws InvalidInput beyond rank_max.
  void push_back(std::int64_t number) { insert(rank_, number); }

  // Returns the product of the numbers, 1 for a scalar. Does not check for overflow: Tensor did.
  [[nodiscard]] std::int64_t elements() const noexcept;

  [[nodiscard]] bool operator==(const Shape& other) const noexcept;

 private:
  static constexpr std::size_t inline_max = 6;

  std::array<std::int64_t, inline_max> inline_{};
  std::unique_ptr<std::int64_t[]> heap_;  // rank_max numbers, when there are more than inline_max
  std::uint8_t rank_ = 0;
};

// Returns a shape as Python writes a tuple: "(2, 3)", "(4,)", "()".
VECTIS_API std::string to_string(const Shape& shape);

}  // namespace vectis::inline v0_1
