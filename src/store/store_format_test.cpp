#include "store/store_format.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/store_model.hpp"
#include "vectis/store/vector_store.hpp"

namespace vectis {
namespace {

using test::Floats;
using test::Ids;
using Bytes = std::vector<std::byte>;

constexpr std::size_t store_features_at = 12;  // after magic and version
constexpr std::size_t store_header_end = store_features_at + 24;

// Throws Io after the given number of writes.
class FailingWriter final : public ByteWriter {
 public:
  explicit FailingWriter(std::size_t writes) : left_(writes) {}
  void write(std::span<const std::byte> /*bytes*/) override {
    if (left_ == 0) throw Error(ErrorCode::io, "write", "the disk is full");
    --left_;
  }

 private:
  std::size_t left_;
};

class StoreFormatTest : public testing::Test {
 protected:
  static Bytes saved(const VectorStore& store) {
    MemoryWriter writer;
    store.save(writer);
    return {writer.bytes().begin(), writer.bytes().end()};
  }
  VectorStore loaded(std::span<const std::byte> bytes) {
    MemoryReader reader(bytes);
    VectorStore store = VectorStore::load(reader, runtime);
    EXPECT_EQ(reader.remaining(), 0U);
    return store;
  }
  // One collection with every field of the configuration set, and one with the defaults.
  VectorStore small_store() {
    VectorStore store(runtime);
    Collection full = store.create_collection("full", {.dim = 3,
                                                       .metric = Metric::cosine,
                                                       .index = "flat",
                                                       .precision = Precision::bf16,
                                                       .recall = 0.9,
                                                       .device = "cpu",
                                                       .vectors_max = 7,
                                                       .tenant = "somebody"});
    full.add(Ids{5, 9}, test::random_rows(random, 2, 3));
    store.create_collection("plain", {.dim = 2}).add(test::random_rows(random, 3, 2));
    return store;
  }
  // Returns the error code that loading throws, or nothing when it succeeds.
  std::optional<ErrorCode> load_error(std::span<const std::byte> bytes) {
    try {
      MemoryReader reader(bytes);
      (void)VectorStore::load(reader, runtime);
      return std::nullopt;
    } catch (const Error& error) {
      return error.code();
    }
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(StoreFormatTest, RestoresEverything) {
  const VectorStore empty(runtime);
  EXPECT_TRUE(loaded(saved(empty)).list_collections().empty());
  const VectorStore store = small_store();
  const Bytes bytes = saved(store);
  const VectorStore again = loaded(bytes);
  EXPECT_EQ(saved(again), bytes);
  for (const std::string& name : store.list_collections()) {
    EXPECT_EQ(again.collection(name).config(), store.collection(name).config());
    EXPECT_EQ(again.collection(name).metadata().device, "cpu");
    for (const std::uint64_t id : Ids{0, 1, 2, 5, 9}) {
      EXPECT_EQ(again.collection(name).get(id), store.collection(name).get(id));
    }
  }
  EXPECT_EQ(again.collection("full").add(Floats{1, 2, 3}), 10U);
}

TEST_F(StoreFormatTest, DetectsEveryFlippedBit) {
  const Bytes bytes = saved(small_store());
  std::size_t corrupt = 0;
  std::size_t unsupported = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes copy = bytes;
      copy[at] ^= static_cast<std::byte>(1U << bit);
      const auto code = load_error(copy);
      ASSERT_TRUE(code == ErrorCode::corrupt_data || code == ErrorCode::unsupported) << "byte " << at << " bit " << bit;
      ++(code == ErrorCode::corrupt_data ? corrupt : unsupported);
    }
  }
  EXPECT_EQ(unsupported, 3U * 4 * 8);  // the versions of the store and of two indexes
  std::cout << corrupt << " flipped bits are CorruptData, " << unsupported << " are Unsupported versions\n";
}

TEST_F(StoreFormatTest, DetectsEveryTruncation) {
  const Bytes bytes = saved(small_store());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(load_error(std::span(bytes).first(size)), ErrorCode::corrupt_data) << size << " of " << bytes.size();
  }
  std::cout << bytes.size() << " truncated files are CorruptData\n";
}

TEST_F(StoreFormatTest, RejectsUnknownFeatures) {
  for (const std::size_t at : {store_features_at, store_features_at + 8}) {
    Bytes bytes = saved(small_store());
    bytes[at] = std::byte{1};
    const auto sum = checksum(std::span(bytes).subspan(store_features_at, store_header_end - store_features_at));
    std::memcpy(bytes.data() + store_header_end, &sum, sizeof(sum));
    MemoryReader reader(bytes);
    EXPECT_ERROR((void)VectorStore::load(reader, runtime), ErrorCode::unsupported, "features 0x1");
  }
}

TEST_F(StoreFormatTest, RejectsAnInvalidRecord) {
  const auto record = [](std::string name, std::size_t dim) {
    return detail::CollectionRecord{std::move(name), {.dim = dim, .index = "flat"}, {}, "a test"};
  };
  const auto write = [&](std::initializer_list<detail::CollectionRecord> records) {
    MemoryWriter writer;
    detail::write_store_header(writer, records.size());
    for (const auto& one : records) {
      detail::write_record(writer, one);
      make_index("flat", 2, Metric::l2, {.runtime = &runtime})->save(writer);
    }
    return Bytes(writer.bytes().begin(), writer.bytes().end());
  };
  EXPECT_EQ(load_error(write({record("a", 2), record("b", 2)})), std::nullopt);
  EXPECT_EQ(load_error(write({record("b", 2), record("a", 2)})), ErrorCode::corrupt_data);
  EXPECT_EQ(load_error(write({record("a", 2), record("a", 2)})), ErrorCode::corrupt_data);
  EXPECT_EQ(load_error(write({record("a", 3)})), ErrorCode::corrupt_data);
  EXPECT_EQ(load_error(write({record("../a", 2)})), ErrorCode::corrupt_data);
  detail::CollectionRecord wrong = record("a", 2);
  wrong.config.recall = 2;
  EXPECT_EQ(load_error(write({wrong})), ErrorCode::corrupt_data);
}

TEST_F(StoreFormatTest, IsNotChangedByAFailingWriter) {
  const VectorStore store = small_store();
  const Bytes before = saved(store);
  std::size_t failures = 0;
  for (;; ++failures) {
    FailingWriter writer(failures);
    try {
      store.save(writer);
      break;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::io);
    }
    ASSERT_EQ(saved(store), before);
  }
  std::cout << failures << " failing writes left the store unchanged\n";
}

}  // namespace
}  // namespace vectis
