#include "vectis/store/vector_store.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/checksummed_stream.hpp"
#include "base/load_file.hpp"
#include "base/utf8.hpp"
#include "store/collection_core.hpp"
#include "store/placement.hpp"
#include "store/store_format.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1 {

namespace {

using CorePointer = std::shared_ptr<detail::CollectionCore>;

void log_placement(const Runtime& runtime, const detail::CollectionCore& core) {
  if (!runtime.logger().wants(LogLevel::info)) return;
  const CollectionMetadata metadata = core.metadata();
  runtime.logger().log(
      LogLevel::info, "store",
      fmt::format("collection '{}' is searched on {}: {}", metadata.name, metadata.device, metadata.reason));
}

// Throws CorruptData unless the index matches its record.
void check_index_matches(const detail::CollectionRecord& record, const Index& index) {
  const CollectionConfig& config = record.config;
  if (index.kind() != config.index || index.dim() != config.dim || index.metric() != config.metric ||
      (config.precision && index.precision() != *config.precision) ||
      (config.vectors_max && index.size() > *config.vectors_max)) {
    detail::throw_corrupt_store(fmt::format("the index of collection '{}' does not match its record", record.name));
  }
}

CorePointer load_collection(ByteReader& reader, Runtime& runtime, detail::CollectionRecord record) {
  const detail::RestoredDevices restored = detail::restore_devices(runtime, record);
  IndexOptions options = restored.options;
  options.recall = record.config.recall;
  options.runtime = &runtime;
  std::unique_ptr<Index> index = load_index(reader, options);
  check_index_matches(record, *index);
  std::string reason = restored.recorded ? record.reason : index->devices().reason;
  if (!restored.missing.empty()) {
    const detail::DeviceRecord& first = record.devices.front();
    reason = fmt::format("{} ({}), selected when the collection was created, cannot be used: {}", first.label,
                         first.name, restored.missing);
    runtime.logger().log(LogLevel::warning, "store",
                         fmt::format("collection '{}' is searched on the CPU: {}", record.name, reason));
  }
  auto core = std::make_shared<detail::CollectionCore>(runtime, std::move(record), std::move(index), std::move(reason));
  if (restored.missing.empty()) log_placement(runtime, *core);
  return core;
}

}  // namespace

struct VectorStore::State {
  explicit State(Runtime& owner) : runtime(owner) {}

  [[nodiscard]] CorePointer find(std::string_view name) const {
    const std::shared_lock lock(mutex);
    const auto found = collections.find(name);
    return found == collections.end() ? nullptr : found->second;
  }

  // Throws InvalidInput unless a collection `name` can be added. The caller holds `mutex`.
  void check_free(std::string_view name) const {
    if (collections.contains(name)) {
      throw Error(ErrorCode::invalid_input, "create_collection",
                  fmt::format("collection '{}' already exists; drop it first, or choose another name", name));
    }
    if (collections.size() >= collections_max) {
      throw Error(ErrorCode::invalid_input, "create_collection",
                  fmt::format("the store has {} collections, the maximum; drop one, or create a second store",
                              collections_max));
    }
  }

  Runtime& runtime;
  mutable std::shared_mutex mutex;  // guards `collections`; never held during calls of an index
  std::map<std::string, CorePointer, std::less<>> collections;
};

VectorStore::VectorStore(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {}
VectorStore::VectorStore(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
VectorStore::~VectorStore() = default;
VectorStore::VectorStore(VectorStore&& other) noexcept = default;
VectorStore& VectorStore::operator=(VectorStore&& other) noexcept = default;

Collection VectorStore::create_collection(std::string_view name, CollectionConfig config) {
  Runtime& runtime = state_->runtime;
  runtime.check_fork("create_collection");
  detail::check_name("create_collection", name);
  detail::check_config("create_collection", config);
  {
    const std::shared_lock lock(state_->mutex);
    state_->check_free(name);
  }
  auto index = make_index(config.index, config.dim, config.metric,
                          {.recall = config.recall, .device = config.device, .runtime = &runtime});
  config.index = index->kind();  // an alias is saved as the kind's own name
  if (config.precision) index->set_precision(*config.precision);
  const IndexDevices placement = index->devices();
  detail::CollectionRecord record{std::string(name), std::move(config), detail::records_of(placement.devices),
                                  placement.reason};
  auto core = std::make_shared<detail::CollectionCore>(runtime, std::move(record), std::move(index), placement.reason);
  {
    const std::unique_lock lock(state_->mutex);
    state_->check_free(name);
    state_->collections.emplace(name, core);
  }
  log_placement(runtime, *core);
  return Collection(std::move(core));
}

Collection VectorStore::collection(std::string_view name) const {
  if (CorePointer core = state_->find(name)) return Collection(std::move(core));
  throw Error(
      ErrorCode::invalid_input, "collection",
      fmt::format("collection '{}' does not exist; list_collections() returns the names, create_collection() adds one",
                  detail::cut_utf8(name, name_bytes_max)));
}

std::optional<Collection> VectorStore::find_collection(std::string_view name) const {
  CorePointer core = state_->find(name);
  return core ? std::optional(Collection(std::move(core))) : std::nullopt;
}

std::vector<std::string> VectorStore::list_collections() const {
  const std::shared_lock lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, core] : state_->collections) names.push_back(name);
  return names;
}

bool VectorStore::drop_collection(std::string_view name) {
  state_->runtime.check_fork("drop_collection");
  CorePointer core;
  {
    const std::unique_lock lock(state_->mutex);
    const auto found = state_->collections.find(name);
    if (found == state_->collections.end()) return false;
    core = std::move(found->second);
    state_->collections.erase(found);
  }
  core->drop();
  return true;
}

void VectorStore::save(ByteWriter& writer, const Context& context) const {
  state_->runtime.check_fork("save");
  std::vector<CorePointer> cores;
  {
    const std::shared_lock lock(state_->mutex);
    for (const auto& [name, core] : state_->collections) cores.push_back(core);
  }
  detail::write_store_header(writer, cores.size());
  for (const CorePointer& core : cores) core->save(writer, context);
}

void VectorStore::save(const std::string& path, const Context& context) const {
  AtomicFileWriter file(path);
  save(file, context);
  file.commit();
}

VectorStore VectorStore::load(ByteReader& reader, Runtime& runtime) {
  runtime.check_fork("load");
  auto state = std::make_unique<State>(runtime);
  const std::uint64_t count = detail::read_store_header(reader);
  for (std::uint64_t i = 0; i < count; ++i) {
    detail::CollectionRecord record = detail::read_record(reader);
    if (!state->collections.empty() && state->collections.rbegin()->first >= record.name) {
      detail::throw_corrupt_store(fmt::format("collection '{}' is out of order", record.name));
    }
    std::string name = record.name;
    state->collections.emplace(std::move(name), load_collection(reader, runtime, std::move(record)));
  }
  return VectorStore(std::move(state));
}

VectorStore VectorStore::load(const std::string& path, Runtime& runtime) {
  return detail::load_file("load", path, [&](ByteReader& reader) {
    VectorStore store = load(reader, runtime);
    detail::validate_end(reader, "load");
    return store;
  });
}

}  // namespace vectis::inline v0_1
