// A vector store: named collections, each searched on a device that is selected once.
//
//   VectorStore store;
//   Collection books = store.create_collection("books", {.dim = 384, .metric = Metric::cosine});
//   books.add(ids, vectors);
//   SearchResult found = books.search(queries, 10);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/bytes.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/store/collection.hpp"

namespace vectis::inline v0_1 {

// Collections in host memory, saved and loaded together. Thread-safe, except for moving.
class VECTIS_API VectorStore {
 public:
  static constexpr std::size_t collections_max = 65'536;
  static constexpr std::size_t name_bytes_max = 255;

  // `runtime` must outlive the store and all handles of its collections.
  explicit VectorStore(Runtime& runtime = Runtime::get_default());
  ~VectorStore();
  VectorStore(VectorStore&& other) noexcept;
  VectorStore& operator=(VectorStore&& other) noexcept;

  // Creates an empty collection and selects its device; the log (info) and CollectionMetadata::reason say why. A name
  // has 1 to 255 letters, digits, '_', '-' and '.', and begins with none of '-' and '.'. Throws InvalidInput when the
  // name is invalid or exists, the store is full, or a field of `config` is out of range; otherwise what make_index and
  // Index::set_precision throw.
  Collection create_collection(std::string_view name, CollectionConfig config);
  // Returns the collection. Throws InvalidInput when it does not exist.
  [[nodiscard]] Collection collection(std::string_view name) const;
  // Returns the collection, or nothing when it does not exist.
  [[nodiscard]] std::optional<Collection> find_collection(std::string_view name) const;
  // Returns the names in ascending byte order.
  [[nodiscard]] std::vector<std::string> list_collections() const;
  // Removes the collection and returns whether it existed. Waits for a running change.
  bool drop_collection(std::string_view name);

  // Writes all collections in the format of docs/formats/vector-store.md. Saves the collections that exist when save
  // begins, each as it is when its turn comes; other calls do not wait. Throws what the writer throws, and Cancelled or
  // DeadlineExceeded by `context`.
  void save(ByteWriter& writer, const Context& context = {}) const;
  // Saves to a file: writes a temporary file beside it and renames that, so that a failure leaves the old file as it
  // was. Throws Io when the file cannot be written.
  void save(const std::string& path, const Context& context = {}) const;

  // Reads what save wrote. Throws CorruptData for corrupt data, Unsupported for an unknown version or feature.
  // A collection whose device is missing or not allowed is searched on the CPU, with a warning in the log; saved again,
  // it keeps the record of its device.
  static VectorStore load(ByteReader& reader, Runtime& runtime = Runtime::get_default());
  // Loads a file. Also throws Io when the file cannot be opened or read.
  static VectorStore load(const std::string& path, Runtime& runtime = Runtime::get_default());

 private:
  struct State;
  explicit VectorStore(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
