// Matrices kept twice, on the host and on a device, so that an operation can be compared with a loop on the host.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {

struct Layout {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t offset = 0;
  std::uint64_t gap = 0;  // stride less columns
};

// A matrix and the bytes around it, which an operation must leave alone.
class HostMatrix {
 public:
  HostMatrix(DType type, Layout layout) : type_(type), layout_(layout) {
    const std::uint64_t elements = layout.offset + layout.rows * stride() + 5;
    bytes_.resize(elements * size_of(type));
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(0xa5 + i * 7);
  }

  [[nodiscard]] double get(std::uint64_t row, std::uint64_t column) const {
    const std::byte* const at = bytes_.data() + place(row, column) * size_of(type_);
    switch (type_) {
      case DType::float16:
        return to_float(read<Half>(at));
      case DType::bfloat16:
        return to_float(read<Bfloat16>(at));
      case DType::int8:
        return read<std::int8_t>(at);
      case DType::int32:
        return read<std::int32_t>(at);
      default:
        return read<float>(at);
    }
  }
  void set(std::uint64_t row, std::uint64_t column, double value) {
    std::byte* const at = bytes_.data() + place(row, column) * size_of(type_);
    switch (type_) {
      case DType::float16:
        return write(at, to_half(static_cast<float>(value)));
      case DType::bfloat16:
        return write(at, to_bfloat16(static_cast<float>(value)));
      case DType::int8:
        return write(at, static_cast<std::int8_t>(value));
      case DType::int32:
        return write(at, static_cast<std::int32_t>(value));
      default:
        return write(at, static_cast<float>(value));
    }
  }
  HostMatrix& fill(const std::function<double(std::uint64_t row, std::uint64_t column)>& value) {
    for (std::uint64_t r = 0; r < layout_.rows; ++r) {
      for (std::uint64_t c = 0; c < layout_.columns; ++c) set(r, c, value(r, c));
    }
    return *this;
  }
  // Numbers every type holds: eighths for floats, whole ones for integers.
  HostMatrix& randomize(Random& random) {
    const double unit = type_ == DType::int8 || type_ == DType::int32 ? 1 : 0.125;
    return fill([&](auto, auto) { return unit * (static_cast<double>(random.next() % 64) - 32); });
  }

  [[nodiscard]] std::uint64_t rows() const { return layout_.rows; }
  [[nodiscard]] std::uint64_t columns() const { return layout_.columns; }
  [[nodiscard]] std::uint64_t stride() const { return layout_.columns + layout_.gap; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] bool is_inside(std::size_t byte) const {
    const std::uint64_t element = byte / size_of(type_);
    if (element < layout_.offset || stride() == 0) return false;
    const std::uint64_t k = element - layout_.offset;
    return k / stride() < layout_.rows && k % stride() < layout_.columns;
  }
  [[nodiscard]] View view(const DeviceMemory& memory) const {
    return {memory, type_, layout_.rows, layout_.columns, layout_.offset, stride()};
  }

 private:
  template <class T>
  static T read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  template <class T>
  static void write(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t place(std::uint64_t row, std::uint64_t column) const {
    return layout_.offset + row * stride() + column;
  }

  DType type_;
  Layout layout_;
  std::vector<std::byte> bytes_;
};

class OperationsTest : public DevicesTest {
 protected:
  DeviceContext& context(const std::string& name = "opencl") {
    if (!context_) context_.emplace(device(name));
    return *context_;
  }
  DeviceMemory upload(const HostMatrix& matrix) {
    DeviceMemory memory(context(), matrix.bytes().size());
    Stream stream(context());
    stream.copy_to_device(memory, 0, matrix.bytes());
    stream.synchronize();
    return memory;
  }
  // Runs the operation over the matrices and brings all of them back.
  void run_on(const std::string& operation, const std::vector<HostMatrix*>& matrices,
              const std::vector<ParameterValue>& parameters = {}) {
    std::vector<View> views;
    views.reserve(matrices.size());
    for (const HostMatrix* matrix : matrices) views.push_back(matrix->view(upload(*matrix)));
    Stream stream(context());
    run(stream, operation, views, parameters);
    for (std::size_t i = 0; i < matrices.size(); ++i) stream.copy_to_host(matrices[i]->bytes(), views[i].memory, 0);
    stream.synchronize();
  }

  Random random{seed()};

 private:
  std::optional<DeviceContext> context_;
};

// Elements equal within `tolerance` times the larger magnitude (or 1); everything around them bit by bit.
inline void expect_equal(const HostMatrix& actual, const HostMatrix& expected, double tolerance = 0) {
  for (std::size_t i = 0; i < actual.bytes().size(); ++i) {
    if (actual.is_inside(i)) continue;
    ASSERT_EQ(actual.bytes()[i], expected.bytes()[i]) << "byte " << i << " outside the view";
  }
  for (std::uint64_t r = 0; r < actual.rows(); ++r) {
    for (std::uint64_t c = 0; c < actual.columns(); ++c) {
      const double is = actual.get(r, c);
      const double should = expected.get(r, c);
      if (std::isnan(should)) {
        ASSERT_TRUE(std::isnan(is)) << "row " << r << " column " << c << " is " << is;
      } else if (is != should) {
        ASSERT_LE(std::abs(is - should), tolerance * std::max(1.0, std::abs(should)))
            << "row " << r << " column " << c << " is " << is << ", should be " << should;
      }
    }
  }
}

}  // namespace vectis::test
