// Batches of a data set, in an order that a seed determines, read ahead on other threads.
//
//   nn::Loader loader(std::make_shared<nn::TensorDataset>(images, labels), {.batch_size = 64, .seed = 1});
//   for (const nn::Batch& batch : loader) train_on(batch[0], batch[1]);   // one epoch
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/task.hpp"
#include "vectis/device/device.hpp"
#include "vectis/nn/dataset.hpp"

namespace vectis::inline v0_1::nn {

// The fields of some examples.
using Batch = std::vector<Tensor>;

struct LoaderOptions {
  std::int64_t batch_size = 32;
  bool shuffle = true;
  std::uint64_t seed = 0;    // the order of an epoch is a function of seed and epoch alone
  bool drop_last = false;    // leaves out the last batch of an epoch when it is smaller than the others
  std::size_t prefetch = 2;  // batches read ahead; 0: each is read when it is asked for, on the calling thread
  std::optional<Device> device = std::nullopt;  // where batches are copied; empty: the CPU
  Runtime* runtime = nullptr;                   // null: the default Runtime
};

// Which batch comes next. With the options of the Loader it determines all batches that follow.
struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::int64_t batch = 0;
  [[nodiscard]] bool operator==(const LoaderPosition&) const noexcept = default;
};

// Reads a data set in batches, epoch after epoch. Must not outlive its Runtime. One thread at a time.
class VECTIS_API Loader {
 public:
  // Starts before the first batch of epoch 0. Throws InvalidInput for a null data set, a batch size below 1, or more
  // than 1,024 batches to read ahead.
  explicit Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options = {});
  // Waits for batches that are being read.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] const Dataset& dataset() const noexcept { return *dataset_; }
  // Returns the number of batches of an epoch.
  [[nodiscard]] std::int64_t batches() const noexcept { return batches_; }
  [[nodiscard]] const LoaderOptions& options() const noexcept { return options_; }

  // Returns the next batch; nothing at the end of an epoch, after which the next epoch begins. Throws what the data set
  // throws; InvalidInput when a field does not have a row for each example, and when called from a task of the
  // Runtime's Executor unless `prefetch` is 0; a later call reads the same batch again.
  [[nodiscard]] std::optional<Batch> next();
  // Returns the position of the batch that next() returns, however many are read ahead.
  [[nodiscard]] LoaderPosition position() const noexcept { return position_; }
  // Continues at `position`. Throws InvalidInput when an epoch has fewer batches.
  void seek(const LoaderPosition& position);

  // Iterates over the rest of the epoch, by next().
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Batch;

    explicit Iterator(Loader& loader) : loader_(&loader), batch_(loader.next()) {}
    [[nodiscard]] const Batch& operator*() const noexcept { return *batch_; }
    Iterator& operator++() {
      batch_.reset();  // not kept while the next one is read
      batch_ = loader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] bool operator==(std::default_sentinel_t /*end*/) const noexcept { return !batch_; }

   private:
    Loader* loader_;
    std::optional<Batch> batch_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  // The order in which an epoch reads the examples.
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;
  struct Reading {
    LoaderPosition position;
    Spawned<Batch> batch;
  };

  [[nodiscard]] Order order_of(std::uint64_t epoch);
  [[nodiscard]] std::vector<std::int64_t> indices_of(const LoaderPosition& position);
  [[nodiscard]] LoaderPosition after(LoaderPosition position) const noexcept;
  [[nodiscard]] Batch read(const LoaderPosition& position);
  void read_ahead();
  void forget_readings();

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  Runtime* runtime_;
  std::int64_t size_;
  std::int64_t batches_;
  LoaderPosition position_;
  std::deque<Reading> readings_;                        // in order, beginning at position_
  std::deque<std::pair<std::uint64_t, Order>> orders_;  // of the last epochs asked for: at most 2
};

}  // namespace vectis::inline v0_1::nn
