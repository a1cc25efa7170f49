// A vector store: create a collection, add vectors, search, update, save and load.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vectis/vectis.hpp>
#include <vector>

int main() {
  using Ids = std::vector<std::uint64_t>;
  constexpr std::size_t dim = 8;
  vectis::Random random(1);
  std::vector<float> vectors(1000 * dim);
  for (float& value : vectors) value = static_cast<float>(random.unit());

  vectis::VectorStore store;
  vectis::Collection books = store.create_collection(
      "books", {.dim = dim, .metric = vectis::Metric::cosine, .index = "auto", .vectors_max = 100'000});
  books.add(vectors);  // ids 0 to 999

  const std::vector<float> query(vectors.begin(), vectors.begin() + dim);  // the vector with id 0
  const vectis::SearchResult found = books.search(query, 3);
  for (const vectis::Hit& hit : found[0]) std::cout << "id " << hit.id << " at " << hit.distance << '\n';

  books.upsert(Ids{1, 5000}, std::vector<float>(2 * dim, 0.5F));  // 1 is replaced, 5000 is new
  books.remove(Ids{0, 7});

  const vectis::CollectionMetadata metadata = books.metadata();
  std::cout << metadata.vector_count << " vectors in " << metadata.bytes << " bytes, searched on " << metadata.device
            << " (GPU: " << metadata.gpu_backend.value_or("none") << ") because " << metadata.reason << '\n';

  const std::string path = std::filesystem::temp_directory_path() / "vectis-example-store.vectis";
  store.save(path);
  const vectis::VectorStore again = vectis::VectorStore::load(path);
  std::filesystem::remove(path);
  const bool good = found[0].front().id == 0 && books.size() == 999 && !books.get(7) &&
                    again.collection("books").get(5000) == books.get(5000);

  store.drop_collection("books");
  return good && store.list_collections().empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}
