// Matrices in the CPU backend's memory, and calls of its operations on them, on every instruction set.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"

namespace vectis::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The layout of a view: `before` elements before the first, `gap` after each row.
struct Layout {
  std::uint64_t before = 0;
  std::uint64_t gap = 0;
};
inline constexpr Layout layouts[] = {{0, 0}, {3, 0}, {0, 5}, {1, 7}};

struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
};

// A view with its own memory; writes outside of the view are detected.
class Sheet {
 public:
  Sheet(const DeviceContext& context, DType type, std::uint64_t rows, std::uint64_t columns, Layout layout = {})
      : type_(type),
        rows_(rows),
        columns_(columns),
        layout_(layout),
        element_bytes_(size_of(type)),
        memory_(context, (layout.before + rows * (columns + layout.gap) + 1) * element_bytes_),
        address_(memory_.address()) {
    for (std::size_t i = 0; i < memory_.bytes(); ++i) address_[i] = guard(i);
  }

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t columns() const { return columns_; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] detail::OpView view() const {
    return {&memory_, layout_.before, rows_, columns_, columns_ + layout_.gap, type_};
  }
  [[nodiscard]] std::byte* at(std::uint64_t row, std::uint64_t column) const {
    return address_ + (layout_.before + row * (columns_ + layout_.gap) + column) * element_bytes_;
  }

  template <class T>
  [[nodiscard]] T raw(std::uint64_t row, std::uint64_t column) const {
    T value;
    std::memcpy(&value, at(row, column), sizeof(value));
    return value;
  }
  template <class T>
  void set_raw(std::uint64_t row, std::uint64_t column, T value) {
    std::memcpy(at(row, column), &value, sizeof(value));
  }

  [[nodiscard]] double get(std::uint64_t row, std::uint64_t column) const {
    switch (type_) {
      case DType::float16:
        return to_float(Half{raw<std::uint16_t>(row, column)});
      case DType::bfloat16:
        return to_float(Bfloat16{raw<std::uint16_t>(row, column)});
      case DType::int8:
        return raw<std::int8_t>(row, column);
      case DType::int32:
        return raw<std::int32_t>(row, column);
      default:
        return raw<float>(row, column);
    }
  }
  void set(std::uint64_t row, std::uint64_t column, double value) {
    switch (type_) {
      case DType::float16:
        return set_raw(row, column, to_half(static_cast<float>(value)).bits);
      case DType::bfloat16:
        return set_raw(row, column, to_bfloat16(static_cast<float>(value)).bits);
      case DType::int8:
        return set_raw(row, column, static_cast<std::int8_t>(value));
      case DType::int32:
        return set_raw(row, column, static_cast<std::int32_t>(value));
      default:
        return set_raw(row, column, static_cast<float>(value));
    }
  }
  // Values of -3 to 3; int8 over its whole range, int32 up to a million.
  void fill_random(Random& random) {
    for (std::uint64_t row = 0; row < rows_; ++row) {
      for (std::uint64_t column = 0; column < columns_; ++column) {
        const double scale = type_ == DType::int8 ? 128 : type_ == DType::int32 ? 1e6 : 3;
        set(row, column, (random.unit() * 2 - 1) * scale);
      }
    }
  }

  // What lies around the view is as it was made.
  [[nodiscard]] bool guards_hold() const {
    std::size_t begin = 0;  // of what is not the view's, from one row to the next
    for (std::uint64_t row = 0; row < rows_; ++row) {
      const auto first = static_cast<std::size_t>(at(row, 0) - address_);
      if (!guards_hold(begin, first)) return false;
      begin = first + columns_ * element_bytes_;
    }
    return guards_hold(begin, memory_.bytes());
  }

 private:
  [[nodiscard]] bool guards_hold(std::size_t begin, std::size_t end) const {
    while (begin < end && address_[begin] == guard(begin)) ++begin;
    return begin >= end;
  }
  static std::byte guard(std::size_t index) { return static_cast<std::byte>(0xa5U ^ (index * 7)); }

  DType type_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  Layout layout_;
  std::size_t element_bytes_;
  DeviceMemory memory_;
  std::byte* address_;
};

inline VectisNumber number(double value) {
  return {std::abs(value) < 1e18 ? static_cast<std::int64_t>(value) : 0, value};
}

// The instruction sets, by Highway's bits.
class CpuTest : public testing::TestWithParam<std::int64_t> {
 protected:
  explicit CpuTest(Settings::Values settings = {}) : runtime(with(std::move(settings))) {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(GetParam());
  }
  ~CpuTest() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }

  Sheet sheet(DType type, std::uint64_t rows, std::uint64_t columns, Layout layout = {}) {
    return {context, type, rows, columns, layout};
  }
  Sheet random_sheet(DType type, std::uint64_t rows, std::uint64_t columns, Layout layout = {}) {
    Sheet made(context, type, rows, columns, layout);
    made.fill_random(random);
    return made;
  }

  // False when the backend does not serve it. What lies around the views must stay.
  bool run(const char* name, std::initializer_list<const Sheet*> sheets, std::vector<VectisNumber> numbers = {}) {
    std::vector<detail::OpView> views;
    for (const Sheet* operand : sheets) views.push_back(operand->view());
    const bool served = detail::run_op(stream, name, views, numbers);
    stream.synchronize();
    for (const Sheet* operand : sheets) EXPECT_TRUE(operand->guards_hold()) << name;
    return served;
  }

  static RuntimeOptions with(Settings::Values settings) {
    RuntimeOptions options;
    options.settings = std::move(settings);
    return options;
  }

  Runtime runtime;
  DeviceContext context{*runtime.service<DeviceRegistry>().find("cpu")};
  Stream stream{context};
  Random random{seed()};
};

// The instruction sets of this host that the operations are compiled for.
inline std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> found;
  for (const std::int64_t set : {HWY_STATIC_TARGET, HWY_AVX2, HWY_AVX3}) {
    if (set == HWY_STATIC_TARGET || (hwy::SupportedTargets() & set) != 0) found.push_back(set);
  }
  return found;
}
inline std::string set_name(const testing::TestParamInfo<std::int64_t>& info) { return hwy::TargetName(info.param); }

#define VECTIS_ON_EVERY_SET(suite) \
  INSTANTIATE_TEST_SUITE_P(Sets, suite, testing::ValuesIn(test::instruction_sets()), test::set_name)

inline constexpr DType numbers[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8};
inline constexpr DType all_types[] = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};

}  // namespace vectis::test
