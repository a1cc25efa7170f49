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

// Named collections of vectors in host memory, saved and loaded together. Thread-safe, except for moving; a
// moved-from store may only be destroyed or assigned to.
class VECTIS_API VectorStore {
 public:
  static constexpr std::size_t collections_max = 65'536;
  static constexpr std::size_t name_bytes_max = 255;

  // Makes an empty store. `runtime` must outlive the store and all handles of its collections.
  explicit VectorStore(Runtime& runtime = Runtime::get_default());
  ~VectorStore();
  VectorStore(VectorStore&& other) noexcept;
  VectorStore& operator=(VectorStore&& other) noexcept;

  // Creates an empty collection and selects its device; CollectionMetadata::reason says why. `name` has 1 to 255
  // letters, digits, '_', '-' and '.', and does not begin with '-' or '.'. Throws InvalidInput when the name is
  // invalid or exists, the store has collections_max collections, or a field of `config` is out of range; Unsupported
  // or BackendCreation when the index kind cannot serve the metric, precision or device; Forked in a forked child.
  Collection create_collection(std::string_view name, CollectionConfig config);
  // Returns a handle to the collection `name`. Throws InvalidInput when no collection has that name.
  [[nodiscard]] Collection collection(std::string_view name) const;
  // Returns a handle to the collection `name`, or nothing when no collection has that name.
  [[nodiscard]] std::optional<Collection> find_collection(std::string_view name) const;
  // Returns the names of all collections in ascending byte order.
  [[nodiscard]] std::vector<std::string> list_collections() const;
  // Removes the collection `name` from the store, waits for a running change of it, and returns whether it existed.
  // Later calls through its handles throw InvalidInput, except name, config and metadata. Throws Forked in a forked
  // child.
  bool drop_collection(std::string_view name);

  // Writes all collections that exist when save begins (docs/formats/vector-store.md), each as it is when its turn
  // comes; other calls do not wait. Throws what `writer` throws, Cancelled or DeadlineExceeded by `context`, and
  // Forked in a forked child.
  void save(ByteWriter& writer, const Context& context = {}) const;
  // Saves all collections to a file: writes a temporary file beside `path` and renames it, so that a failure leaves
  // the old file unchanged. Throws InvalidInput when `path` has a NUL byte or is not a regular file, Io when the file
  // cannot be written, Cancelled or DeadlineExceeded by `context`, and Forked in a forked child.
  void save(const std::string& path, const Context& context = {}) const;

  // Reads a store that save wrote; `runtime` must outlive it. A collection whose device is missing or not allowed is
  // searched on the CPU, with a warning in the log; saved again, it keeps the record of its device. Throws
  // CorruptData for truncated or corrupt data, Unsupported for an unknown version or feature, what `reader` throws,
  // and Forked in a forked child.
  static VectorStore load(ByteReader& reader, Runtime& runtime = Runtime::get_default());
  // Reads a store from the file that save wrote; `runtime` must outlive it. A collection whose device is missing or
  // not allowed is searched on the CPU, with a warning in the log. Throws Io when the file cannot be opened or read,
  // InvalidInput when `path` has a NUL byte, CorruptData for truncated or corrupt data or bytes after it, Unsupported
  // for an unknown version or feature, and Forked in a forked child.
  static VectorStore load(const std::string& path, Runtime& runtime = Runtime::get_default());

 private:
  struct State;
  explicit VectorStore(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
