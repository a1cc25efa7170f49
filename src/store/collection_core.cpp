#include "store/collection_core.hpp"

#include <fmt/format.h>

#include <utility>

#include "search/common/device_failure.hpp"
#include "search/device_set.hpp"
#include "store/placement.hpp"
#include "store/store_format.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Returns whether an error of a search is a failure of the collection's devices. Other errors are the caller's, such as
// those of a filter's predicate, or the host's.
bool is_device_failure(const Error& error) {
  if (error.code() == ErrorCode::forked) return false;
  return dynamic_cast<const DeviceFailure*>(&error) != nullptr ||
         dynamic_cast<const OutOfMemoryError*>(&error) != nullptr;
}

}  // namespace

CollectionCore::CollectionCore(Runtime& runtime, CollectionRecord record, std::unique_ptr<Index> index,
                               std::string reason)
    : runtime_(runtime),
      record_(std::move(record)),
      index_(std::move(index)),
      devices_(index_->devices().devices),
      labels_(index_->devices().labels()),
      reason_(std::move(reason)) {}

std::unique_lock<std::mutex> CollectionCore::begin_change(std::string_view op) {
  runtime_.check_fork(op);
  return std::unique_lock(changes_);
}

Index& CollectionCore::live_index(std::string_view op) const {
  if (!dropped_.load()) return *index_;
  throw Error(
      ErrorCode::invalid_input, op,
      fmt::format("collection '{}' was dropped; get a handle to an existing one from the VectorStore", record_.name));
}

void CollectionCore::check_limit(std::string_view op, std::uint64_t added) const {
  if (!record_.config.vectors_max) return;
  const std::uint64_t limit = *record_.config.vectors_max;
  const std::uint64_t count = index_->size();
  if (count <= limit && added <= limit - count) return;
  throw Error(
      ErrorCode::invalid_input, op,
      fmt::format("adding {} vectors to the {} of collection '{}' would exceed its limit of {}; remove some, or "
                  "create a collection with a higher vectors_max",
                  added, count, record_.name, limit));
}

void CollectionCore::check_limit_of_new(const Index& index, std::span<const std::uint64_t> ids) const {
  if (!record_.config.vectors_max || ids.size() <= *record_.config.vectors_max - index.size()) return;
  std::uint64_t absent = 0;
  for (const std::uint64_t id : ids) absent += static_cast<std::uint64_t>(!index.get(id));
  check_limit("upsert", absent);
}

std::size_t CollectionCore::remove(std::span<const std::uint64_t> ids, const Context& context) {
  const auto lock = begin_change("remove");
  return live_index("remove").remove(ids, context);
}

std::vector<std::optional<std::vector<float>>> CollectionCore::get(std::span<const std::uint64_t> ids) const {
  const Index& index = live_index("get");
  std::vector<std::optional<std::vector<float>>> vectors;
  vectors.reserve(ids.size());
  for (const std::uint64_t id : ids) vectors.push_back(index.get(id));
  return vectors;
}

SearchOptions CollectionCore::with_recall(const SearchOptions& options) const {
  SearchOptions completed = options;
  if (!completed.recall && !completed.ef) completed.recall = record_.config.recall;
  return completed;
}

void CollectionCore::log_failure(const Error& error) const {
  if (devices_.empty() || !is_device_failure(error)) return;
  runtime_.logger().log(
      LogLevel::error, "store",
      fmt::format("a search in collection '{}' failed on {} (backend {}) and was not repeated on "
                  "another device: {}",
                  record_.name, join_labels(devices_), gpu_backend_of(devices_.front()), error.what()));
}

CollectionMetadata CollectionCore::metadata() const {
  const IndexStatistics statistics = index_->statistics();
  CollectionMetadata metadata;
  metadata.name = record_.name;
  metadata.config = record_.config;
  metadata.vector_count = statistics.vectors;
  metadata.bytes = statistics.bytes;
  metadata.device = labels_;
  metadata.reason = reason_;
  if (devices_.empty()) return metadata;
  metadata.gpu_backend = gpu_backend_of(devices_.front());
  metadata.gpu_memory_used = statistics.device_bytes;
  std::string names;
  std::uint64_t total = 0;
  for (const Device& device : devices_) {
    names += (names.empty() ? "" : ", ") + device.info().name;
    total += device.info().memory_bytes;
  }
  metadata.gpu_device = std::move(names);
  const bool all_known = std::ranges::all_of(devices_, [](const Device& device) { return device.info().memory_bytes; });
  if (all_known) metadata.gpu_memory_total = total;
  for (const Device& device : devices_) {
    if (is_lost(runtime_, device)) metadata.reason += fmt::format("; {} was lost: searches on it fail", device.label());
  }
  return metadata;
}

std::string CollectionCore::explain(std::size_t queries, std::size_t k) const {
  return fmt::format("collection '{}' on {}: {}\n{}", record_.name, labels_, reason_,
                     live_index("explain").explain(queries, k, with_recall({})));
}

void CollectionCore::drop() {
  const auto lock = begin_change("drop_collection");
  dropped_ = true;
}

void CollectionCore::save(ByteWriter& writer, const Context& context) const {
  write_record(writer, record_);
  index_->save(writer, context);
}

}  // namespace vectis::inline v0_1::detail
