#include "array/strided.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "array/engine.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::int64_t copied_per_task_min = 1 << 15;

template <class T>
void copy_run(const std::byte* from, std::int64_t stride, std::int64_t count, std::byte* target) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* const out = reinterpret_cast<T*>(target);
  if (stride == 0) {
    std::fill_n(out, count, *source);
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

StridedReader::StridedReader(const std::byte* data, std::size_t element_bytes, const Shape& shape, const Shape& strides)
    : data_(data), element_bytes_(element_bytes) {
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    if (!shape_.empty() && strides_[shape_.rank() - 1] == strides[axis] * shape[axis]) {
      shape_[shape_.rank() - 1] *= shape[axis];
      strides_[shape_.rank() - 1] = strides[axis];
    } else {
      shape_.push_back(shape[axis]);
      strides_.push_back(strides[axis]);
    }
  }
  if (shape_.empty()) {
    shape_.push_back(1);
    strides_.push_back(1);
  }
  const std::size_t last = shape_.rank() - 1;
  if (strides_[last] <= 1) return;
  const auto* const found = std::ranges::find(strides_, 1);
  if (found != strides_.end()) adjacent_ = static_cast<std::size_t>(found - strides_.begin());
}

void StridedReader::read(std::int64_t first, std::int64_t count, std::byte* target) const {
  const std::size_t inner = shape_.rank() - 1;
  const auto bytes = static_cast<std::int64_t>(element_bytes_);
  Shape at(shape_.rank(), 0);  // coordinates of the next element
  std::int64_t offset = 0;
  std::int64_t rest = first;
  for (std::size_t axis = shape_.rank(); axis-- > 0;) {
    at[axis] = rest % shape_[axis];
    rest /= shape_[axis];
    offset += at[axis] * strides_[axis];
  }
  while (count > 0) {
    const std::int64_t run = std::min(count, shape_[inner] - at[inner]);
    copy_elements(data_ + offset * bytes, strides_[inner], run, element_bytes_, target);
    target += run * bytes;
    count -= run;
    // The next row: carries from the innermost axis outwards.
    at[inner] += run;
    offset += run * strides_[inner];
    for (std::size_t axis = inner; axis > 0 && at[axis] == shape_[axis]; --axis) {
      offset += strides_[axis - 1] - at[axis] * strides_[axis];
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
}

void StridedReader::read_all(Executor& executor, std::byte* target) const {
  if (!adjacent_) {
    executor.parallel_for(static_cast<std::size_t>(shape_.elements()), copied_per_task_min,
                          [&](std::size_t begin, std::size_t end) {
                            read(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin),
                                 target + begin * element_bytes_);
                          });
    return;
  }
  // A matrix of the axis with stride 1 and the last one, for each index of the other axes.
  const std::size_t last = shape_.rank() - 1;
  const Shape to = contiguous_strides(shape_);
  Shape others = shape_;
  others[*adjacent_] = 1;
  others[last] = 1;
  const std::int64_t matrix = shape_[*adjacent_] * shape_[last];
  const auto bytes = static_cast<std::int64_t>(element_bytes_);
  const auto copy_matrices = [&](std::size_t begin, std::size_t end) {
    for (std::size_t number = begin; number < end; ++number) {
      auto rest = static_cast<std::int64_t>(number);
      std::int64_t from_offset = 0;
      std::int64_t to_offset = 0;
      for (std::size_t axis = last + 1; axis-- > 0;) {
        const std::int64_t at = rest % others[axis];
        rest /= others[axis];
        from_offset += at * strides_[axis];
        to_offset += at * to[axis];
      }
      const std::byte* const from = data_ + from_offset * bytes;
      std::byte* const out = target + to_offset * bytes;
      const auto run = [&]<class T>(T /*element*/) {
        transpose<T>(from, static_cast<std::size_t>(strides_[last]), static_cast<std::size_t>(shape_[*adjacent_]),
                     static_cast<std::size_t>(shape_[last]), out, static_cast<std::size_t>(to[*adjacent_]));
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
  if (node.is_contiguous) return node.host_data();
  keep = node.lane->allocate(static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
  StridedReader(node).read_all(node.lane->executor(), keep->host);
  return keep->host;
}

}  // namespace vectis::inline v0_1::array
