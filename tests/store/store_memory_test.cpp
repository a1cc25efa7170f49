// A device out of memory: the error says which batch fits, and the collection keeps working.
#include <iostream>

#include "tests/store/fixture.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::size_t memory_dim = 32;

// Returns the batch size that the message suggests; 0: none.
std::size_t suggested(const std::string& message) {
  const std::string before = "set gpu.batch_size to ";
  const std::size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::stoul(message.substr(at + before.size()));
}

class StoreMemory : public testing::Test {
 protected:
  StoreMemory() {
    runtime.registry().configure("failing", "reset", "");
    set_used_by_others(0);
    books = store.create_collection("books", {.dim = memory_dim, .index = "gpu", .device = "failing"});
    const Floats values = random_rows(random, 3000, memory_dim);
    books->add(values);
    model.put_all(0, values);
  }
  ~StoreMemory() override { set_used_by_others(0); }

  // Sets the device memory that other processes use, in bytes.
  void set_used_by_others(std::uint64_t bytes) {
    runtime.registry().configure("failing", "others", std::to_string(bytes));
  }

  LoggedRuntime runtime;
  VectorStore store{*runtime};
  std::optional<Collection> books;
  BruteForce model{memory_dim, Metric::l2};
  Random random{seed()};
};

TEST_F(StoreMemory, ErrorSuggestsABatchThatFits) {
  const Floats queries = random_rows(random, 100, memory_dim);
  expect_collection(*books, model, queries, 5);
  memory_pool(*runtime).emergency_cleanup_all();
  set_used_by_others((std::uint64_t{256} << 20) - (std::uint64_t{8} << 20));
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
  expect_collection(*books, model, std::span(queries).first(fits * memory_dim), 5);  // the suggested batch fits
  std::cout << "100 queries did not fit, " << fits << " as suggested do\n";
  set_used_by_others(0);
  expect_collection(*books, model, queries, 5);
}

TEST_F(StoreMemory, ChangesWorkWithoutDeviceMemory) {
  set_used_by_others(std::uint64_t{256} << 20);
  const Floats more = random_rows(random, 500, memory_dim);
  EXPECT_EQ(books->add(more), 3000U);
  model.put_all(3000, more);
  EXPECT_EQ(books->remove(Ids{1, 2, 3}), 3U);
  for (const std::uint64_t id : Ids{1, 2, 3}) model.remove(id);
  EXPECT_ERROR((void)books->search(random_rows(random, 100, memory_dim), 5), ErrorCode::allocation, "failing");
  set_used_by_others(0);
  expect_collection(*books, model, random_rows(random, 4, memory_dim), 5);
}

TEST_F(StoreMemory, MetadataReportsDeviceMemory) {
  const CollectionMetadata metadata = books->metadata();
  EXPECT_EQ(metadata.gpu_backend, "failing");
  EXPECT_EQ(metadata.gpu_device, runtime.registry().find("failing")->info().name);
  EXPECT_EQ(metadata.device, "failing:0");
  EXPECT_EQ(metadata.gpu_memory_used, 3000U * (memory_dim + 16));
  EXPECT_EQ(metadata.gpu_memory_total, std::uint64_t{256} << 20);
  EXPECT_EQ(metadata.vector_count, 3000U);
  EXPECT_GT(metadata.bytes, 3000U * memory_dim * sizeof(float));
  EXPECT_EQ(metadata.reason, "'failing' was requested by the call");
}

}  // namespace
}  // namespace vectis::test
