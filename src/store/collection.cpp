#include "vectis/store/collection.hpp"

#include "store/collection_core.hpp"

namespace vectis::inline v0_1 {

const std::string& Collection::name() const noexcept { return core_->record().name; }
const CollectionConfig& Collection::config() const noexcept { return core_->record().config; }
std::size_t Collection::size() const { return core_->size(); }

std::uint64_t Collection::add(std::span<const float> vectors, const Context& context) {
  return core_->add(vectors, context);
}

std::uint64_t Collection::add(const MatrixView& vectors, const Context& context) {
  return core_->add(vectors, context);
}

void Collection::add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  core_->add(ids, vectors, context);
}

void Collection::add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context) {
  core_->add(ids, vectors, context);
}

void Collection::upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  core_->upsert(ids, vectors, context);
}

void Collection::upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context) {
  core_->upsert(ids, vectors, context);
}

std::size_t Collection::remove(std::span<const std::uint64_t> ids, const Context& context) {
  return core_->remove(ids, context);
}

std::optional<std::vector<float>> Collection::get(std::uint64_t id) const { return core_->get(id); }

std::vector<std::optional<std::vector<float>>> Collection::get(std::span<const std::uint64_t> ids) const {
  return core_->get(ids);
}

std::vector<std::uint64_t> Collection::ids() const { return core_->ids(); }

SearchResult Collection::search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const {
  return core_->search(queries, k, options);
}

SearchResult Collection::search(const MatrixView& queries, std::size_t k, const SearchOptions& options) const {
  return core_->search(queries, k, options);
}

SearchExplanation Collection::search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                          std::span<double> distances, const SearchOptions& options) const {
  return core_->search_into(queries, k, ids, distances, options);
}

SearchExplanation Collection::search_into(const MatrixView& queries, std::size_t k, std::span<std::uint64_t> ids,
                                          std::span<double> distances, const SearchOptions& options) const {
  return core_->search_into(queries, k, ids, distances, options);
}

CollectionMetadata Collection::metadata() const { return core_->metadata(); }

std::string Collection::explain(std::size_t queries, std::size_t k) const { return core_->explain(queries, k); }

}  // namespace vectis::inline v0_1
