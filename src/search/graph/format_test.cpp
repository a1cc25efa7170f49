// Mapped graph files: same answers as the saved index, an unchanged file, and corruption detected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/file.hpp"
#include "vectis/base/random.hpp"
#include "vectis/search/index.hpp"

namespace vectis {
namespace {

using namespace test;
using testing::HasSubstr;

class MappedIndexTest : public testing::Test {
 protected:
  static constexpr std::size_t dim = 24;

  [[nodiscard]] std::unique_ptr<Index> built(std::size_t rows, Metric distance = Metric::l2) {
    auto index = make_index("graph", dim, distance, {.runtime = &runtime});
    vectors = clustered_rows(random, rows, dim);
    index->add(vectors);
    return index;
  }
  [[nodiscard]] std::string saved(const Index& index) const {
    FileWriter writer(temporary.path("index"));
    index.save(writer);
    writer.finish();
    return temporary.path("index");
  }
  [[nodiscard]] std::unique_ptr<Index> mapped(const std::string& path, bool verify = true) {
    return map_index(std::make_shared<MappedFile>(path), {.verify = verify, .runtime = &runtime});
  }
  [[nodiscard]] static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Same hits with the same distances, of beam searches: whether scans are faster is measured by each index.
  void expect_equal(const Index& one, const Index& other, std::size_t k = 10) {
    const Floats queries = clustered_rows(random, 40, dim);
    const SearchResult here = one.search(queries, k, {.ef = 100});
    const SearchResult there = other.search(queries, k, {.ef = 100});
    for (std::size_t query = 0; query < here.queries(); ++query) {
      ASSERT_EQ(here[query].size(), there[query].size());
      for (std::size_t i = 0; i < here[query].size(); ++i) {
        ASSERT_EQ(here[query][i].id, there[query][i].id);
        ASSERT_EQ(here[query][i].distance, there[query][i].distance);
      }
    }
  }

  Random random{seed()};
  Runtime runtime;
  TemporaryFolder temporary;
  Floats vectors;
};

TEST_F(MappedIndexTest, AnswersAsTheSavedIndex) {
  for (const Metric distance : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    for (const bool whole : {true, false}) {
      const auto index = built(9000, distance);  // more than one block of rows
      index->remove(Ids{3, 5, 4097});
      if (!whole) index->drop_full_precision();
      const std::string path = saved(*index);
      for (const bool verify : {true, false}) {
        SCOPED_TRACE(std::string(name(distance)) + (whole ? " whole" : " compact") + (verify ? " verified" : ""));
        const auto copy = mapped(path, verify);
        FileReader reader(path);
        const auto loaded = load_index(reader, {.runtime = &runtime});
        expect_equal(*loaded, *copy);
        EXPECT_EQ(copy->get(4097), std::nullopt);
        EXPECT_EQ(copy->get(4098), index->get(4098));
        EXPECT_EQ(copy->size(), 8997U);
      }
    }
  }
}

TEST_F(MappedIndexTest, KeepsOnlyIdsInMemory) {
  const auto index = built(9000);
  const auto copy = mapped(saved(*index));
  const IndexStatistics whole = index->statistics();
  const IndexStatistics here = copy->statistics();
  EXPECT_EQ(whole.mapped_bytes, 0U);
  EXPECT_GT(here.mapped_bytes, 9000 * dim * sizeof(float));
  EXPECT_EQ(here.bytes + here.mapped_bytes, whole.bytes);
  EXPECT_LE(here.bytes, 9000U * (24 + 64));
}

TEST_F(MappedIndexTest, ChangesDoNotReachTheFile) {
  const auto index = built(6000);
  BruteForce truth(dim, Metric::l2);
  truth.put_all(0, vectors);
  const std::string path = saved(*index);
  const std::string before = bytes_of(path);
  const auto copy = mapped(path);
  FileReader reader(path);
  const auto loaded = load_index(reader, {.runtime = &runtime});

  Ids ids;
  for (std::uint64_t id = 0; id < 900; ++id) ids.push_back(id * 3);
  for (const std::uint64_t id : ids) truth.remove(id);
  copy->remove(ids);  // enough tombstones to consolidate
  loaded->remove(ids);
  EXPECT_GT(copy->statistics().mapped_bytes, 0U);
  expect_equal(*loaded, *copy);

  const Floats more = clustered_rows(random, 700, dim);
  truth.put_all(copy->add(more), more);
  const Floats other = clustered_rows(random, 1, dim);
  copy->update(1, other);
  truth.put(1, other);
  Tally grown;
  expect_sound(*copy, truth, clustered_rows(random, 200, dim), 10, {.recall = 0.99}, grown);
  EXPECT_GE(grown.recall(), 0.9);
  EXPECT_EQ(copy->get(1), other);
  EXPECT_TRUE(bytes_of(path) == before);
}

// Several indexes may use one MappedFile, and its owner may read its bytes.
TEST_F(MappedIndexTest, ChangesDoNotReachOtherUsersOfTheMapping) {
  const auto index = built(3000);
  const auto file = std::make_shared<MappedFile>(saved(*index));
  const std::vector<std::byte> before(file->bytes().begin(), file->bytes().end());
  const auto changed = map_index(file, {.runtime = &runtime});
  const auto other = map_index(file, {.runtime = &runtime});
  const auto expect_unchanged = [&](const char* after) {
    EXPECT_TRUE(std::ranges::equal(file->bytes(), before)) << after;
    for (std::uint64_t id = 0; id < 3000; ++id) ASSERT_EQ(other->get(id), index->get(id)) << after << ", id " << id;
  };
  Ids ids(400);
  std::iota(ids.begin(), ids.end(), 0);
  changed->remove(Ids{2000});
  MemoryWriter writer;
  changed->save(writer);  // consolidates the tombstone
  expect_unchanged("save");
  changed->remove(ids);
  expect_unchanged("remove");
  const IndexStatistics statistics = changed->statistics();
  EXPECT_GT(statistics.mapped_bytes, 3000 * dim * sizeof(float)) << "codes and vectors stay in the file";
  EXPECT_EQ(statistics.bytes + statistics.mapped_bytes, index->statistics().bytes);
  changed->add(clustered_rows(random, 50, dim));  // there is room for it in rows that were removed
  expect_unchanged("add");
  EXPECT_EQ(changed->statistics().mapped_bytes, 0U);
  changed->update(500, clustered_rows(random, 1, dim));
  expect_unchanged("update");
  expect_equal(*index, *other);
}

TEST_F(MappedIndexTest, AddingCopiesTheIndexToMemory) {
  const auto copy = mapped(saved(*built(500)));
  copy->add(clustered_rows(random, 1, dim));
  EXPECT_EQ(copy->statistics().mapped_bytes, 0U);
  EXPECT_EQ(copy->size(), 501U);
}

TEST_F(MappedIndexTest, SavesTheSameBytes) {
  const auto index = built(5000);
  const std::string path = saved(*index);
  MemoryWriter again;
  mapped(path)->save(again);
  EXPECT_TRUE(bytes_of(path) == std::string(reinterpret_cast<const char*>(again.bytes().data()), again.bytes().size()));
}

TEST_F(MappedIndexTest, WorksAfterItsFileIsUnlinked) {
  const auto index = built(3000);
  const auto copy = mapped(saved(*index));
  std::filesystem::remove(temporary.path("index"));
  expect_equal(*index, *copy);
}

TEST_F(MappedIndexTest, MapsAnEmptyIndex) {
  const auto copy = mapped(saved(*make_index("graph", dim, Metric::cosine, {.runtime = &runtime})));
  EXPECT_EQ(copy->size(), 0U);
  copy->add(clustered_rows(random, 10, dim));
  EXPECT_EQ(copy->size(), 10U);
}

TEST_F(MappedIndexTest, DetectsEveryCorruptByte) {
  const std::string path = saved(*built(40));
  const std::string good = bytes_of(path);
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ (1 << random.below(8)));
    write(path, bad);
    try {
      static_cast<void>(mapped(path));
      FAIL() << "byte " << place << " of " << good.size();
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
    }
  }
}

TEST_F(MappedIndexTest, TruncatedFilesAreCorrupt) {
  const std::string path = saved(*built(300));
  const std::string good = bytes_of(path);
  for (int i = 0; i < 200; ++i) {
    const std::size_t size = random.below(good.size());
    write(path, good.substr(0, size));
    EXPECT_ERROR(static_cast<void>(mapped(path)), ErrorCode::corrupt_data, "");
  }
}

TEST_F(MappedIndexTest, FilesWithBytesAfterTheIndexAreCorrupt) {
  for (const std::size_t rows : {0U, 300U}) {
    const std::string path = saved(*built(rows));
    write(path, bytes_of(path) + "garbage");
    for (const bool verify : {true, false}) {
      EXPECT_ERROR(static_cast<void>(mapped(path, verify)), ErrorCode::corrupt_data, path, "7 bytes too long");
    }
  }
}

// They would give the codes of later rows infinite norms, which a saved file must not have.
TEST_F(MappedIndexTest, ProjectionsOutOfRangeAreCorrupt) {
  const std::string path = saved(*built(300));
  const std::string good = bytes_of(path);
  const auto number_at = [&](std::size_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, good.data() + at, sizeof(number));
    return number;
  };
  // docs/formats/graph-index.md; 24 coordinates need no basis.
  constexpr std::size_t encoding = 87;
  constexpr std::size_t entry_points = encoding + 4 + 4 + 4 * dim + 8 + 4 + 1 + 1;
  const std::size_t curves = entry_points + 4 + std::size_t{4} * number_at(entry_points) + 8 + 8 + 8;
  ASSERT_EQ(number_at(curves), 0U) << "so few rows are not calibrated";
  const std::size_t end = curves + 4 + 8;
  for (const float value : {1e30F, -3.0F, std::numeric_limits<float>::quiet_NaN(), 0.5F}) {
    for (const std::size_t at : {encoding + 4, encoding + 8, encoding + 4 + 4 * dim}) {  // norm, mean
      std::string bad = good;
      std::memcpy(bad.data() + at, &value, sizeof(value));
      const std::uint64_t sum = checksum(std::as_bytes(std::span(bad).subspan(encoding, end - encoding)));
      std::memcpy(bad.data() + end, &sum, sizeof(sum));
      write(path, bad);
      if (value == 0.5F) {
        EXPECT_EQ(mapped(path)->size(), 300U);
        continue;
      }
      EXPECT_ERROR(static_cast<void>(mapped(path)), ErrorCode::corrupt_data, "projection", "out of range");
      EXPECT_ERROR(static_cast<void>(load_index(path, {.runtime = &runtime})), ErrorCode::corrupt_data, "out of range");
    }
  }
}

TEST_F(MappedIndexTest, RejectsOtherFiles) {
  const auto exact = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  EXPECT_ERROR(static_cast<void>(mapped(saved(*exact))), ErrorCode::unsupported, "[map_index]", "load_index");
  write(temporary.path("text"), "something else, long enough");
  EXPECT_ERROR(static_cast<void>(mapped(temporary.path("text"))), ErrorCode::corrupt_data, "[map_index]",
               "first 8 bytes");
  EXPECT_ERROR(static_cast<void>(map_index(std::shared_ptr<const MappedFile>(), {.runtime = &runtime})),
               ErrorCode::invalid_input, "file is null");
}

}  // namespace
}  // namespace vectis
