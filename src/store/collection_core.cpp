#include "store/collection_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/placement.hpp"
#include "store/store_format.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Whether the error is one of a device rather than of the call. A driver may refuse what the call is not to blame for;
// searches then name the device.
bool is_device_failure(const Error& error, std::span<const Device> devices) {
  switch (error.code()) {
    case ErrorCode::cancelled:
    case ErrorCode::deadline_exceeded:
    case ErrorCode::forked:
      return false;
    case ErrorCode::invalid_input:
    case ErrorCode::unsupported:
      return std::ranges::any_of(devices, [&](const Device& device) {
        return std::string_view(error.what()).find(device.label()) != std::string_view::npos;
      });
    default:
      return !devices.empty();
  }
}

}  // namespace

CollectionCore::CollectionCore(Runtime& runtime, CollectionRecord record, std::unique_ptr<Index> index,
                               std::string reason)
    : runtime_(runtime),
      record_(std::move(record)),
      index_(std::move(index)),
      devices_(index_->devices().devices),
      reason_(std::move(reason)) {}

Index& CollectionCore::open(std::string_view op) const {
  if (!dropped_.load()) return *index_;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("the collection '{}' was dropped; take one from its VectorStore", record_.name));
}

void CollectionCore::check_room(std::string_view op, std::uint64_t more) const {
  if (!record_.config.vectors_max) return;
  const std::uint64_t limit = *record_.config.vectors_max;
  const std::uint64_t count = index_->size();
  if (count <= limit && more <= limit - count) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} vectors more than the {} in collection '{}' would pass its limit of {}; remove some, or "
                          "make a collection with a higher vectors_max",
                          more, count, record_.name, limit));
}

void CollectionCore::check_room_for_new(const Index& index, std::span<const std::uint64_t> ids) const {
  if (!record_.config.vectors_max || ids.size() <= *record_.config.vectors_max - index.size()) return;
  std::uint64_t absent = 0;
  for (const std::uint64_t id : ids) absent += static_cast<std::uint64_t>(!index.get(id));
  check_room("upsert", absent);
}

std::size_t CollectionCore::remove(std::span<const std::uint64_t> ids, const Context& context) {
  const std::lock_guard lock(changes_);
  return open("remove").remove(ids, context);
}

SearchOptions CollectionCore::with_recall(const SearchOptions& options) const {
  SearchOptions asked = options;
  if (!asked.recall && !asked.ef) asked.recall = record_.config.recall;
  return asked;
}

void CollectionCore::log_failure(const Error& error) const {
  if (!is_device_failure(error, devices_)) return;
  runtime_.logger().log(
      LogLevel::error, "store",
      fmt::format("a search in collection '{}' failed on {} (backend {}) and was not tried "
                  "elsewhere: {}",
                  record_.name, join_labels(devices_), gpu_backend_of(devices_.front()), error.what()));
}

CollectionMetadata CollectionCore::metadata() const {
  const IndexStatistics now = index_->statistics();
  CollectionMetadata about;
  about.name = record_.name;
  about.config = record_.config;
  about.vector_count = now.vectors;
  about.bytes = now.bytes;
  about.device = join_labels(devices_);
  about.reason = reason_;
  if (devices_.empty()) return about;
  about.gpu_backend = gpu_backend_of(devices_.front());
  about.gpu_memory_used = now.device_bytes;
  for (const Device& device : devices_) {
    about.gpu_device += (about.gpu_device.empty() ? "" : ", ") + device.info().name;
    about.gpu_memory_total += device.info().memory_bytes;
  }
  return about;
}

std::string CollectionCore::explain(std::size_t queries, std::size_t k) const {
  return fmt::format("collection '{}' on {}: {}\n{}", record_.name, join_labels(devices_), reason_,
                     open("explain").explain(queries, k, with_recall({})));
}

void CollectionCore::drop() {
  const std::lock_guard lock(changes_);
  dropped_ = true;
}

void CollectionCore::save(ByteWriter& writer) const {
  write_record(writer, record_);
  index_->save(writer);
}

}  // namespace vectis::inline v0_1::detail
