// A device without memory: an error that says what fits, and a collection that is as it was.
#include <iostream>

#include "tests/store/fixture.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::size_t memory_dim = 32;

// The number behind "gpu.batch_size to ".
std::size_t suggested(const std::string& message) {
  const std::string before = "set gpu.batch_size to ";
  const std::size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::stoul(message.substr(at + before.size()));
}

class StoreMemory : public testing::Test {
 protected:
  StoreMemory() {
    runtime.registry().configure("failing", "reset", "");
    others(0);
    books = store.create_collection("books", {.dim = memory_dim, .index = "gpu", .device = "failing"});
    const Floats numbers = random_rows(random, 3000, memory_dim);
    books->add(numbers);
    truth.put_all(0, numbers);
  }
  ~StoreMemory() override { others(0); }

  // Bytes of the device that other processes hold.
  void others(std::uint64_t bytes) { runtime.registry().configure("failing", "others", std::to_string(bytes)); }

  LoggedRuntime runtime;
  VectorStore store{*runtime};
  std::optional<Collection> books;
  BruteForce truth{memory_dim, Metric::l2};
  Random random{seed()};
};

TEST_F(StoreMemory, ABatchThatDoesNotFitIsAnErrorThatSaysWhichOneFits) {
  const Floats queries = random_rows(random, 100, memory_dim);
  expect_collection(*books, truth, queries, 5);
  memory_pool(*runtime).emergency_cleanup_all();
  others((std::uint64_t{256} << 20) - (std::uint64_t{8} << 20));
  std::size_t fits = 0;
  try {
    (void)books->search(queries, 5);
    FAIL() << "there was memory";
  } catch (const OutOfMemoryError& error) {
    fits = suggested(error.what());
    EXPECT_THAT(error.what(), HasSubstr("failing"));
    EXPECT_THAT(error.what(), HasSubstr("other"));
  }
  EXPECT_THAT(runtime.take_log(), Contains(HasSubstr("error store: a search in collection 'books' failed on failing")));
  ASSERT_GE(fits, 1U);
  ASSERT_LE(fits, 50U);
  expect_collection(*books, truth, std::span(queries).first(fits * memory_dim), 5);  // it does fit
  std::cout << "100 queries did not fit, " << fits << " as suggested do\n";
  others(0);
  expect_collection(*books, truth, queries, 5);
}

TEST_F(StoreMemory, ChangesGoOnWithoutDeviceMemory) {
  others(std::uint64_t{256} << 20);
  const Floats more = random_rows(random, 500, memory_dim);
  EXPECT_EQ(books->add(more), 3000U);
  truth.put_all(3000, more);
  EXPECT_EQ(books->remove(Ids{1, 2, 3}), 3U);
  for (const std::uint64_t id : Ids{1, 2, 3}) truth.remove(id);
  EXPECT_ERROR((void)books->search(random_rows(random, 100, memory_dim), 5), ErrorCode::allocation, "failing");
  others(0);
  expect_collection(*books, truth, random_rows(random, 4, memory_dim), 5);
}

TEST_F(StoreMemory, MetadataTellsWhatTheDeviceHolds) {
  const CollectionMetadata about = books->metadata();
  EXPECT_EQ(about.gpu_backend, "failing");
  EXPECT_EQ(about.gpu_device, runtime.registry().find("failing")->info().name);
  EXPECT_EQ(about.device, "failing:0");
  EXPECT_EQ(about.gpu_memory_used, 3000U * (memory_dim + 16));
  EXPECT_EQ(about.gpu_memory_total, std::uint64_t{256} << 20);
  EXPECT_EQ(about.vector_count, 3000U);
  EXPECT_GT(about.bytes, 3000U * memory_dim * sizeof(float));
  EXPECT_EQ(about.reason, "'failing' was requested by the call");
}

}  // namespace
}  // namespace vectis::test
