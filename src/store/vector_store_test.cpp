#include "vectis/store/vector_store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/store_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using test::Floats;
using test::Ids;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class VectorStoreTest : public testing::Test {
 protected:
  static RuntimeOptions logging(std::vector<std::string>& lines) {
    RuntimeOptions options;
    options.log_level = LogLevel::info;
    options.log = [&lines](const LogRecord& record) {
      static std::mutex mutex;
      const std::lock_guard lock(mutex);
      lines.push_back(std::string(name(record.level)) + " " + std::string(record.component) + ": " +
                      std::string(record.message));
    };
    return options;
  }

  std::vector<std::string> log;
  Runtime runtime{logging(log)};
  VectorStore store{runtime};
  Random random{test::seed()};
};

TEST_F(VectorStoreTest, SelectsTheDeviceOnceAndSaysWhy) {
  const Collection books = store.create_collection("books", {.dim = 4, .metric = Metric::cosine, .device = "cpu"});
  const CollectionMetadata about = books.metadata();
  EXPECT_EQ(about.name, "books");
  EXPECT_EQ(about.gpu_backend, std::nullopt);
  EXPECT_EQ(about.gpu_device, std::nullopt);
  EXPECT_EQ(about.gpu_memory_used, std::nullopt);
  EXPECT_EQ(about.gpu_memory_total, std::nullopt);
  EXPECT_EQ(about.device, "cpu");
  EXPECT_EQ(about.reason, "'cpu' was requested by the call");
  EXPECT_THAT(log, Contains("info store: collection 'books' is searched on cpu: " + about.reason));
  EXPECT_THAT(books.explain(), HasSubstr("collection 'books' on cpu"));
}

TEST_F(VectorStoreTest, ChecksNames) {
  for (const char* const good : {"a", "A-1.b_c", "_", "9"}) store.create_collection(good, {.dim = 1});
  for (const std::string& bad : {std::string(), std::string("-a"), std::string(".."), std::string("a/b"),
                                 std::string("a b"), std::string("\xc3\xa9"), std::string(256, 'x')}) {
    EXPECT_ERROR(store.create_collection(bad, {.dim = 1}), ErrorCode::invalid_input, "not a valid collection name");
  }
  store.create_collection(std::string(255, 'x'), {.dim = 1});
  EXPECT_THAT(store.list_collections(), ElementsAre("9", "A-1.b_c", "_", "a", std::string(255, 'x')));
  EXPECT_ERROR((void)store.collection("absent"), ErrorCode::invalid_input, "absent", "create_collection");
  EXPECT_FALSE(store.find_collection("absent"));
  EXPECT_EQ(store.find_collection("a"), store.collection("a"));
}

TEST_F(VectorStoreTest, CutsLongNamesInMessagesBetweenCharacters) {
  std::string name;
  for (std::size_t i = 0; i < VectorStore::name_bytes_max; ++i) name += "\u00e4";  // two bytes
  for (const std::string& long_name : {name, "a" + name}) {
    EXPECT_ERROR((void)store.collection(long_name), ErrorCode::invalid_input, "\u00e4' does not exist");
  }
}

TEST_F(VectorStoreTest, RejectsInvalidConfigurations) {
  EXPECT_ERROR(store.create_collection("a", {.dim = 0}), ErrorCode::invalid_input, "dimension of 0");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .index = "tree"}), ErrorCode::invalid_input, "tree");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .recall = 0.0}), ErrorCode::invalid_input, "recall is 0,");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .recall = 1.5}), ErrorCode::invalid_input, "recall is 1.5,");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .device = "tpu"}), ErrorCode::unsupported_backend, "tpu");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .tenant = std::string(256, 't')}), ErrorCode::invalid_input,
               "tenant has 256 bytes");
  EXPECT_ERROR(
      store.create_collection("a", {.dim = 1, .metric = Metric::l1, .index = "flat", .precision = Precision::int8}),
      ErrorCode::unsupported, "fp32 only");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .metric = static_cast<Metric>(99)}), ErrorCode::invalid_input,
               "99 is no metric");
  EXPECT_ERROR(store.create_collection("a", {.dim = 1, .precision = static_cast<Precision>(0)}),
               ErrorCode::invalid_input, "0 is no precision");
  EXPECT_TRUE(store.list_collections().empty());
}

TEST_F(VectorStoreTest, KeepsVectorsMax) {
  Collection few = store.create_collection("few", {.dim = 1, .vectors_max = 3, .tenant = "somebody"});
  few.add(Ids{1, 2}, Floats{1, 2});
  EXPECT_ERROR(few.add(Floats{3, 4}), ErrorCode::invalid_input, "limit of 3", "adding 2 vectors to the 2");
  EXPECT_ERROR(few.add(Ids{3, 4}, Floats{3, 4}), ErrorCode::invalid_input, "limit of 3");
  EXPECT_ERROR(few.upsert(Ids{2, 3, 4}, Floats{9, 3, 4}), ErrorCode::invalid_input, "limit of 3");
  EXPECT_EQ(few.get(2), Floats{2});
  few.upsert(Ids{2, 3, 1}, Floats{20, 30, 10});
  EXPECT_EQ(few.size(), 3U);
  EXPECT_ERROR(few.add(Floats{4}), ErrorCode::invalid_input, "limit of 3");
  EXPECT_TRUE(few.remove(1));
  EXPECT_FALSE(few.remove(1));
  EXPECT_EQ(few.add(Floats{4}), 4U);
  EXPECT_THAT(few.get(Ids{1, 2, 4}), ElementsAre(std::nullopt, Floats{20}, Floats{4}));
}

TEST_F(VectorStoreTest, RejectsCallsToADroppedCollection) {
  Collection old = store.create_collection("a", {.dim = 1});
  old.add(Floats{1});
  EXPECT_TRUE(store.drop_collection("a"));
  EXPECT_FALSE(store.drop_collection("a"));
  EXPECT_ERROR(old.add(Floats{1}), ErrorCode::invalid_input, "was dropped");
  EXPECT_ERROR(old.upsert(Ids{1}, Floats{1}), ErrorCode::invalid_input, "was dropped");
  EXPECT_ERROR(old.remove(0), ErrorCode::invalid_input, "was dropped");
  EXPECT_ERROR((void)old.get(0), ErrorCode::invalid_input, "was dropped");
  EXPECT_ERROR((void)old.get(Ids{}), ErrorCode::invalid_input, "was dropped");
  EXPECT_ERROR((void)old.search(Floats{1}, 1), ErrorCode::invalid_input, "was dropped");
  EXPECT_EQ(old.metadata().vector_count, 1U);
  Collection next = store.create_collection("a", {.dim = 2});
  EXPECT_FALSE(next == old);
  EXPECT_EQ(next.size(), 0U);
}

TEST_F(VectorStoreTest, HandlesMayOutliveTheStore) {
  std::optional<VectorStore> brief(runtime);
  Collection kept = brief->create_collection("kept", {.dim = 1});
  brief.reset();
  kept.add(Floats{5});
  EXPECT_EQ(kept.search(Floats{5}, 1)[0].front(), (Hit{0, 0.0}));
}

TEST_F(VectorStoreTest, UsesTheRecallOfTheCollection) {
  Collection near = store.create_collection("near", {.dim = 4, .index = "graph", .recall = 0.875});
  near.add(test::random_rows(random, 4000, 4));
  const Floats query = test::random_rows(random, 1, 4);
  EXPECT_THAT(near.search(query, 5).explanation().reason, HasSubstr("a recall of 0.875"));
  EXPECT_THAT(near.search(query, 5, {.recall = 0.75}).explanation().reason, HasSubstr("a recall of 0.75"));
  EXPECT_THAT(near.explain(), HasSubstr("0.875"));
  EXPECT_ERROR(store.create_collection("far", {.dim = 4, .index = "graph", .device = "failing"}),
               ErrorCode::unsupported_backend, "failing");
}

TEST_F(VectorStoreTest, AcceptsEmptyBatches) {
  Collection none = store.create_collection("none", {.dim = 3});
  none.add(Floats{});
  none.add(Ids{}, Floats{});
  none.upsert(Ids{}, Floats{});
  EXPECT_EQ(none.remove(Ids{}), 0U);
  EXPECT_TRUE(none.get(Ids{}).empty());
  EXPECT_EQ(none.search(Floats{}, 5).queries(), 0U);
  EXPECT_TRUE(none.search(Floats{1, 2, 3}, 5)[0].empty());
}

TEST_F(VectorStoreTest, SavesToAFileAndLoadsIt) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("store.vectis");
  store.create_collection("a", {.dim = 2}).add(Ids{7}, Floats{1, 2});
  store.save(path);
  EXPECT_EQ(VectorStore::load(path, runtime).collection("a").get(7), (Floats{1, 2}));
  store.collection("a").upsert(Ids{7}, Floats{3, 4});
  store.save(path);  // replaces the file
  EXPECT_EQ(VectorStore::load(path, runtime).collection("a").get(7), (Floats{3, 4}));
}

TEST_F(VectorStoreTest, NamesAFileThatCannotBeSavedOrLoaded) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(store.save(folder.path("absent/store.vectis")), ErrorCode::io, "absent/store.vectis");
  EXPECT_ERROR((void)VectorStore::load(folder.path("absent"), runtime), ErrorCode::io, "absent");
  const std::string path = folder.path("vectors.npy");
  std::ofstream(path) << "\x93NUMPY and more bytes than a header of a store has, so that its magic is compared";
  EXPECT_ERROR((void)VectorStore::load(path, runtime), ErrorCode::corrupt_data,
               "[load] " + path + ": the first 8 bytes are not those of a saved vector store");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.folder());
  std::filesystem::copy_file("vectors.npy", "store");  // a name that the message contains anyway
  EXPECT_ERROR((void)VectorStore::load("store", runtime), ErrorCode::corrupt_data, "[load] store: the ");
  std::filesystem::current_path(before);
  store.save(path);
  std::ofstream(path, std::ios::app) << 'x';
  EXPECT_ERROR((void)VectorStore::load(path, runtime), ErrorCode::corrupt_data, path, "bytes follow");
}

}  // namespace
}  // namespace vectis
