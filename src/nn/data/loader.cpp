#include "vectis/nn/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view loader_op = "loader";
constexpr std::size_t prefetch_max = 1024;

std::int64_t batch_count(std::int64_t examples, const LoaderOptions& options) noexcept {
  const std::int64_t whole = examples / options.batch_size;
  return options.drop_last || examples % options.batch_size == 0 ? whole : whole + 1;
}

// Fisher-Yates by a sequence of its own for each epoch.
void shuffle(std::vector<std::int64_t>& indices, std::uint64_t seed, std::uint64_t epoch) noexcept {
  const std::array<std::uint64_t, 2> key = {seed, epoch};
  Random random(hash64(std::as_bytes(std::span(key))));
  for (std::size_t left = indices.size(); left > 1; --left) {
    std::swap(indices[left - 1], indices[static_cast<std::size_t>(random.below(left))]);
  }
}

// Reads examples. Throws InvalidInput when a field does not have one for each index.
Batch read_examples(const Dataset& dataset, const std::vector<std::int64_t>& indices) {
  Batch batch = dataset.examples(indices);
  for (std::size_t field = 0; field < batch.size(); ++field) {
    if (batch[field].is_empty()) {
      throw Error(ErrorCode::invalid_input, loader_op, fmt::format("the data set returned nothing as field {}", field));
    }
    const Shape& shape = batch[field].shape();
    if (!shape.empty() && shape[0] == static_cast<std::int64_t>(indices.size())) continue;
    throw Error(ErrorCode::invalid_input, loader_op,
                fmt::format("the data set was asked for {} examples, but field {} has shape {}; return a row for each "
                            "index",
                            indices.size(), field, to_string(shape)));
  }
  return batch;
}

Task<Batch> read_later(std::shared_ptr<const Dataset> dataset, std::vector<std::int64_t> indices) {
  co_return read_examples(*dataset, indices);
}

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      runtime_(options.runtime != nullptr ? options.runtime : &Runtime::get_default()),
      size_(dataset_ ? dataset_->size() : 0),
      batches_(0) {
  if (!dataset_) throw Error(ErrorCode::invalid_input, loader_op, "the data set is null; pass one");
  if (options.batch_size < 1) {
    throw Error(ErrorCode::invalid_input, loader_op,
                fmt::format("the batch size is {}, it must be at least 1", options.batch_size));
  }
  if (options.prefetch > prefetch_max) {
    throw Error(ErrorCode::invalid_input, loader_op,
                fmt::format("{} batches are to be read ahead, the limit is {}; 2 hide most of the reading",
                            options.prefetch, prefetch_max));
  }
  batches_ = batch_count(size_, options);
}

Loader::~Loader() {
  try {
    forget_readings();
  } catch (const Error& error) {
    // In a forked child there is nothing to wait for: the tasks run in the parent.
    static_cast<void>(error);
  }
}

Loader::Order Loader::order_of(std::uint64_t epoch) {
  for (const auto& [known, order] : orders_) {
    if (known == epoch) return order;
  }
  std::vector<std::int64_t> indices(static_cast<std::size_t>(size_));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  if (options_.shuffle) shuffle(indices, options_.seed, epoch);
  auto order = std::make_shared<const std::vector<std::int64_t>>(std::move(indices));
  orders_.emplace_back(epoch, order);
  if (orders_.size() > 2) orders_.pop_front();  // the epoch that ends and the one that is read ahead
  return order;
}

std::vector<std::int64_t> Loader::indices_of(const LoaderPosition& position) {
  const Order order = order_of(position.epoch);
  const std::int64_t begin = position.batch * options_.batch_size;
  const std::int64_t end = std::min(begin + options_.batch_size, size_);
  return {order->begin() + begin, order->begin() + end};
}

LoaderPosition Loader::after(LoaderPosition position) const noexcept {
  if (position.batch + 1 < batches_) return {position.epoch, position.batch + 1};
  return {position.epoch + 1, 0};
}

void Loader::read_ahead() {
  LoaderPosition position = readings_.empty() ? position_ : after(readings_.back().position);
  if (position.batch >= batches_) position = {position.epoch + 1, 0};
  while (readings_.size() < options_.prefetch) {
    readings_.push_back({position, spawn(runtime_->executor(), read_later(dataset_, indices_of(position)))});
    position = after(position);
  }
}

Batch Loader::read(const LoaderPosition& position) {
  if (options_.prefetch == 0) return read_examples(*dataset_, indices_of(position));
  read_ahead();
  runtime_->executor().run_until([&] { return readings_.front().batch.done(); });
  Reading first = std::move(readings_.front());
  readings_.pop_front();
  try {
    return first.batch.take();
  } catch (...) {
    forget_readings();  // so that they begin at position_ again
    throw;
  }
}

std::optional<Batch> Loader::next() {
  if (position_.batch >= batches_) {
    position_ = {position_.epoch + 1, 0};
    return std::nullopt;
  }
  Batch batch = read(position_);
  ++position_.batch;
  if (options_.prefetch > 0) read_ahead();
  if (options_.device) {
    for (Tensor& field : batch) field = field.on(*options_.device);
  }
  return batch;
}

void Loader::seek(const LoaderPosition& position) {
  if (position.batch < 0 || position.batch > batches_) {
    throw Error(ErrorCode::invalid_input, loader_op,
                fmt::format("batch {} was asked for, but an epoch has {} batches", position.batch, batches_));
  }
  forget_readings();
  position_ = position;
}

void Loader::forget_readings() {
  if (readings_.empty()) return;
  runtime_->executor().run_until(
      [&] { return std::ranges::all_of(readings_, [](const Reading& reading) { return reading.batch.done(); }); });
  readings_.clear();
}

}  // namespace vectis::inline v0_1::nn
