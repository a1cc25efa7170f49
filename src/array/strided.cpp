#include "array/strided.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "array/dry_run.hpp"
#include "array/engine.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::int64_t copied_per_task_min = 1 << 15;

template <class T>
void copy_run(const std::byte* from, std::int64_t stride, std::int64_t count, std::byte* target) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* const out = reinterpret_cast<T*>(target);
  if (stride == 0) {
    std::fill_n(out, count, *source);
  } else if (stride == -1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = *(source - i);  // which the compiler vectorizes
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = source[i * stride];
  }
}

void copy_elements(const std::byte* from, std::int64_t stride, std::int64_t count, std::size_t bytes,
                   std::byte* target) {
  if (stride == 1) {
    std::memcpy(target, from, static_cast<std::size_t>(count) * bytes);
  } else if (bytes == 4) {
    copy_run<std::uint32_t>(from, stride, count, target);
  } else if (bytes == 8) {
    copy_run<std::uint64_t>(from, stride, count, target);
  } else if (bytes == 2) {
    copy_run<std::uint16_t>(from, stride, count, target);
  } else {
    copy_run<std::uint8_t>(from, stride, count, target);
  }
}

// Copies a matrix whose columns are adjacent to one whose rows are, in tiles of whole cache lines: each line is touched
// once, whatever the strides.
template <class T>
void transpose(const std::byte* from, std::size_t column_stride, std::size_t rows, std::size_t columns, std::byte* to,
               std::size_t row_stride) {
  constexpr std::size_t tile = 64 / sizeof(T);
  const T* const source = reinterpret_cast<const T*>(from);
  T* const target = reinterpret_cast<T*>(to);
  std::array<std::array<T, tile>, tile> local;
  for (std::size_t row = 0; row < rows; row += tile) {
    const std::size_t height = std::min(tile, rows - row);
    for (std::size_t column = 0; column < columns; column += tile) {
      const std::size_t width = std::min(tile, columns - column);
      for (std::size_t c = 0; c < width; ++c) {
        std::copy_n(source + (column + c) * column_stride + row, height, local[c].data());
      }
      for (std::size_t r = 0; r < height; ++r) {
        T* const out = target + (row + r) * row_stride + column;
        for (std::size_t c = 0; c < width; ++c) out[c] = local[c][r];
      }
    }
  }
}

}  // namespace

MergedAxes::MergedAxes(const Shape& extents, const Shape& strides_of_extents) {
  for (std::size_t axis = 0; axis < extents.rank(); ++axis) {
    if (extents[axis] == 1) continue;
    const std::int64_t stride = strides_of_extents[axis];
    if (!shape.empty() && strides[shape.rank() - 1] == stride * extents[axis]) {
      shape[shape.rank() - 1] *= extents[axis];
      strides[shape.rank() - 1] = stride;
    } else {
      shape.push_back(extents[axis]);
      strides.push_back(stride);
    }
  }
  if (shape.empty()) {
    shape.push_back(1);
    strides.push_back(1);
  }
}

std::optional<std::size_t> adjacent_axis(const Shape& strides) {
  if (strides[strides.rank() - 1] <= 1) return std::nullopt;
  const auto* const found = std::ranges::find(strides, 1);
  if (found == strides.end()) return std::nullopt;
  return static_cast<std::size_t>(found - strides.begin());
}

StridedReader::StridedReader(const std::byte* data, std::size_t element_bytes, const Shape& shape, const Shape& strides)
    : data_(data), element_bytes_(element_bytes), axes_(shape, strides), adjacent_(adjacent_axis(axes_.strides)) {}

void StridedReader::read(std::int64_t first, std::int64_t count, std::byte* target) const {
  const std::size_t inner = axes_.shape.rank() - 1;
  const auto bytes = static_cast<std::int64_t>(element_bytes_);
  Shape at(axes_.shape.rank(), 0);  // coordinates of the next element
  std::int64_t offset = 0;
  std::int64_t rest = first;
  for (std::size_t axis = axes_.shape.rank(); axis-- > 0;) {
    at[axis] = rest % axes_.shape[axis];
    rest /= axes_.shape[axis];
    offset += at[axis] * axes_.strides[axis];
  }
  while (count > 0) {
    const std::int64_t run = std::min(count, axes_.shape[inner] - at[inner]);
    copy_elements(data_ + offset * bytes, axes_.strides[inner], run, element_bytes_, target);
    target += run * bytes;
    count -= run;
    // The next row: carries from the innermost axis outwards.
    at[inner] += run;
    offset += run * axes_.strides[inner];
    for (std::size_t axis = inner; axis > 0 && at[axis] == axes_.shape[axis]; --axis) {
      offset += axes_.strides[axis - 1] - at[axis] * axes_.strides[axis];
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
}

void StridedReader::read_all(Executor& executor, std::byte* target) const {
  if (!adjacent_) {
    executor.parallel_for(static_cast<std::size_t>(axes_.shape.elements()), copied_per_task_min,
                          [&](std::size_t begin, std::size_t end) {
                            read(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin),
                                 target + begin * element_bytes_);
                          });
    return;
  }
  // A matrix of the axis with stride 1 and the last one, for each index of the other axes.
  const std::size_t last = axes_.shape.rank() - 1;
  const Shape to = contiguous_strides(axes_.shape);
  Shape others = axes_.shape;
  others[*adjacent_] = 1;
  others[last] = 1;
  const std::int64_t matrix = axes_.shape[*adjacent_] * axes_.shape[last];
  const auto bytes = static_cast<std::int64_t>(element_bytes_);
  const auto copy_matrices = [&](std::size_t begin, std::size_t end) {
    for (std::size_t number = begin; number < end; ++number) {
      auto rest = static_cast<std::int64_t>(number);
      std::int64_t from_offset = 0;
      std::int64_t to_offset = 0;
      for (std::size_t axis = last + 1; axis-- > 0;) {
        const std::int64_t at = rest % others[axis];
        rest /= others[axis];
        from_offset += at * axes_.strides[axis];
        to_offset += at * to[axis];
      }
      const std::byte* const from = data_ + from_offset * bytes;
      std::byte* const out = target + to_offset * bytes;
      const auto run = [&]<class T>(T /*element*/) {
        transpose<T>(from, static_cast<std::size_t>(axes_.strides[last]),
                     static_cast<std::size_t>(axes_.shape[*adjacent_]), static_cast<std::size_t>(axes_.shape[last]),
                     out, static_cast<std::size_t>(to[*adjacent_]));
      };
      if (bytes == 4) run(std::uint32_t{});
      if (bytes == 8) run(std::uint64_t{});
      if (bytes == 2) run(std::uint16_t{});
      if (bytes == 1) run(std::uint8_t{});
    }
  };
  const auto grain = static_cast<std::size_t>(copied_per_task_min / std::max<std::int64_t>(matrix, 1) + 1);
  executor.parallel_for(static_cast<std::size_t>(others.elements()), grain, copy_matrices);
}

const std::byte* contiguous_data(const Node& node, std::shared_ptr<Storage>& keep) {
  if (is_without_memory(*node.storage)) {
    throw Error(ErrorCode::unsupported, "predict_memory",
                "the elements of an array are needed, which are not computed while memory is predicted; leave the "
                "function out of the loss");
  }
  if (node.is_contiguous) return node.host_data();
  keep = node.lane->allocate(static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
  StridedReader(node).read_all(node.lane->executor(), keep->host);
  return keep->host;
}

std::optional<Bounds> bounds_of(DType type, std::span<const std::byte> elements) {
  if (is_real(type) || type == DType::boolean || elements.empty()) return std::nullopt;
  Bounds bounds{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  std::array<std::int64_t, 256> values;
  const std::size_t bytes = size_of(type);
  for (std::size_t first = 0; first < elements.size(); first += values.size() * bytes) {
    const std::size_t count = std::min(values.size(), (elements.size() - first) / bytes);
    load_wide(type, &elements[first], count, values.data());
    const auto [min, max] = std::ranges::minmax(std::span(values).first(count));
    bounds = {std::min(bounds.min, min), std::max(bounds.max, max)};
  }
  return bounds;
}

}  // namespace vectis::inline v0_1::array
