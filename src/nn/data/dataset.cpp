#include "vectis/nn/dataset.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "vectis/array/operations.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view dataset_op = "dataset";

// Returns the elements of `x` in row-major order, in memory that nobody changes.
array::HostElements row_major(const Tensor& x) {
  array::HostElements elements = array::host_memory(x);
  std::int64_t step = 1;
  bool is_row_major = true;
  for (std::size_t axis = elements.shape.rank(); axis-- > 0;) {
    if (elements.shape[axis] != 1 && elements.strides[axis] != step) is_row_major = false;
    step *= elements.shape[axis];
  }
  if (is_row_major || x.elements() == 0) return elements;
  const std::size_t bytes = static_cast<std::size_t>(x.elements()) * size_of(x.dtype());
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  x.copy_to(std::span(copy.get(), bytes), x.dtype());
  elements.data = copy.get();
  for (std::size_t axis = elements.shape.rank(); axis-- > 0;) {
    elements.strides[axis] =
        axis + 1 == elements.shape.rank() ? 1 : elements.strides[axis + 1] * elements.shape[axis + 1];
  }
  elements.owner = copy;
  return elements;
}

std::size_t bytes_per_example(const array::HostElements& field) {
  std::size_t bytes = size_of(field.type);
  for (std::size_t axis = 1; axis < field.shape.rank(); ++axis) bytes *= static_cast<std::size_t>(field.shape[axis]);
  return bytes;
}

Tensor gather(const array::HostElements& field, std::span<const std::int64_t> indices, Runtime& runtime) {
  const std::size_t bytes = bytes_per_example(field);
  const std::shared_ptr<std::byte[]> rows(new std::byte[bytes * indices.size()]);
  for (std::size_t i = 0; i < indices.size() && bytes > 0; ++i) {
    std::memcpy(rows.get() + i * bytes, field.data + static_cast<std::size_t>(indices[i]) * bytes, bytes);
  }
  array::HostElements batch{
      .data = rows.get(), .type = field.type, .shape = field.shape, .strides = field.strides, .owner = rows};
  batch.shape[0] = static_cast<std::int64_t>(indices.size());
  return array::from_host_memory(batch, {.runtime = &runtime});
}

}  // namespace

TensorDataset::TensorDataset(std::span<const Tensor> fields) {
  if (fields.empty()) throw Error(ErrorCode::invalid_input, dataset_op, "there is no field; pass at least the inputs");
  for (const Tensor& field : fields) {
    if (&array::runtime_of(field) != &array::runtime_of(fields[0])) {
      throw Error(ErrorCode::invalid_input, dataset_op, "the fields belong to different Runtimes; make them with one");
    }
    if (field.rank() == 0) {
      throw Error(ErrorCode::invalid_input, dataset_op, "a field is a scalar; its first axis must count the examples");
    }
    if (field.extent(0) != fields[0].extent(0)) {
      throw Error(ErrorCode::invalid_input, dataset_op,
                  fmt::format("fields of the shapes {} and {} have different numbers of examples; their first extents "
                              "must be equal",
                              to_string(fields[0].shape()), to_string(field.shape())));
    }
  }
  runtime_ = &array::runtime_of(fields[0]);
  array::eval(fields);
  for (const Tensor& field : fields) fields_.push_back(row_major(field));
  size_ = fields[0].extent(0);
}

TensorDataset::TensorDataset(const Tensor& inputs, const Tensor& labels)
    : TensorDataset(std::span<const Tensor>(std::array<Tensor, 2>{inputs, labels})) {}

std::vector<Tensor> TensorDataset::examples(std::span<const std::int64_t> indices) const {
  for (const std::int64_t index : indices) {
    if (index >= 0 && index < size_) continue;
    throw Error(ErrorCode::invalid_input, dataset_op,
                fmt::format("example {} was asked for, but there are {}; count from 0", index, size_));
  }
  std::vector<Tensor> batch;
  batch.reserve(fields_.size());
  for (const array::HostElements& field : fields_) batch.push_back(gather(field, indices, *runtime_));
  return batch;
}

DatasetRange::DatasetRange(std::shared_ptr<const Dataset> dataset, std::int64_t begin, std::int64_t end)
    : dataset_(std::move(dataset)), begin_(begin), end_(end) {
  if (dataset_ && begin >= 0 && begin <= end && end <= dataset_->size()) return;
  throw Error(ErrorCode::invalid_input, dataset_op,
              fmt::format("[{}, {}) is not a range of the {} examples of a data set", begin, end,
                          dataset_ ? dataset_->size() : 0));
}

std::vector<Tensor> DatasetRange::examples(std::span<const std::int64_t> indices) const {
  std::vector<std::int64_t> moved(indices.begin(), indices.end());
  for (std::int64_t& index : moved) {
    if (index < 0 || index >= size()) {
      throw Error(ErrorCode::invalid_input, dataset_op,
                  fmt::format("example {} was asked for, but there are {}; count from 0", index, size()));
    }
    index += begin_;
  }
  return dataset_->examples(moved);
}

}  // namespace vectis::inline v0_1::nn
