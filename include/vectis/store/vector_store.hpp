// Named collections of vectors that hide the device they are searched on.
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
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/store/collection.hpp"

namespace vectis::inline v0_1 {

// In memory, saved and loaded as a whole. Thread-safe, but for moving.
class VECTIS_API VectorStore {
 public:
  static constexpr std::size_t collections_max = 65'536;
  static constexpr std::size_t name_bytes_max = 255;

  explicit VectorStore(Runtime& runtime = Runtime::get_default());
  ~VectorStore();
  VectorStore(VectorStore&& other) noexcept;
  VectorStore& operator=(VectorStore&& other) noexcept;

  // The device is chosen here, once; the log and CollectionMetadata say why. A name is 1 to 255 letters, digits, '_',
  // '-' and '.', and begins with a letter, a digit or '_'. InvalidInput when it is none, when it is taken, or when the
  // configuration is out of range; otherwise what make_index and Index::set_precision throw.
  Collection create_collection(std::string_view name, CollectionConfig config);
  // InvalidInput when there is none of that name.
  [[nodiscard]] Collection collection(std::string_view name) const;
  [[nodiscard]] std::optional<Collection> find_collection(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> list_collections() const;  // in the order of their bytes
  // False when there is none of that name. Waits for a change that is running.
  bool drop_collection(std::string_view name);

  // docs/formats/vector-store.md. Sees which collections there are when it begins, and each one as it is when its turn
  // comes; nothing waits for it.
  void save(ByteWriter& writer) const;
  // Reads what save wrote. CorruptData when it is damaged, Unsupported when it needs a feature this version has not.
  // A collection whose device is not usable here is searched on this processor, with a warning in the log; saved again,
  // it still remembers its device.
  static VectorStore load(ByteReader& reader, Runtime& runtime = Runtime::get_default());

 private:
  struct State;
  explicit VectorStore(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
