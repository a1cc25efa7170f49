// Every kind loads what it saved, and rejects corrupt bytes.
#include <cstring>
#include <filesystem>

#include "tests/indexes/kinds.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis::test {
namespace {

class IndexFiles : public IndexKinds {
 protected:
  // The same vectors, ids and answers, and the same file again.
  void expect_round_trip(const Index& index, const Ids& ids) {
    const FileBytes file = file_of(index);
    const auto copy = index_of(kind(), file, runtime);
    EXPECT_EQ(copy->kind(), index.kind());
    EXPECT_EQ(copy->metric(), index.metric());
    ASSERT_EQ(copy->size(), index.size());
    for (const std::uint64_t id : ids) ASSERT_EQ(copy->get(id), index.get(id));
    EXPECT_TRUE(file_of(*copy) == file);
    const Floats queries = random_rows(random, 5, index.dim());
    expect_same_hits(*copy, index, queries, {.recall = 1});
    if (kind().name != std::string_view("graph")) return;
    // A beam that the caller chose: whether a recall needs one depends on measured times. A graph may search through
    // tombstones, which files do not have: two copies must agree.
    expect_same_hits(*copy, *index_of(kind(), file, runtime), queries, {.ef = 40});
  }
  static void expect_same_hits(const Index& index, const Index& other, const Floats& queries,
                               const SearchOptions& options) {
    const SearchResult actual = index.search(queries, 10, options);
    const SearchResult expected = other.search(queries, 10, options);
    for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(hits_of(actual, i), hits_of(expected, i));
  }
  FileBytes small_file() {
    const auto index = make(3);
    index->add(random_rows(random, 18, 3));
    index->drop_full_precision();
    index->add(Ids{100, 50, 200, 51, 52}, random_rows(random, 5, 3));
    index->remove(Ids{1, 51});
    return file_of(*index);
  }
};

TEST_P(IndexFiles, RoundTripInEveryState) {
  const Ids some{0, 3, 10, 1299, 5000, 4500};
  for (const Metric metric : metrics_of(kind())) {
    SCOPED_TRACE(name(metric));
    for (const std::size_t dim : std::vector<std::size_t>{2, 33}) {
      const auto index = make(dim, metric);
      expect_round_trip(*index, some);
      index->add(random_rows(random, 100, dim));
      expect_round_trip(*index, some);
      index->add(random_rows(random, 1200, dim));
      index->remove(Ids{3, 4, 101});
      expect_round_trip(*index, some);
      index->drop_full_precision();
      expect_round_trip(*index, some);
      index->add(Ids{5000, 4000, 4500}, random_rows(random, 3, dim));
      index->remove(Ids{10, 20, 4000});
      expect_round_trip(*index, some);
    }
  }
}

TEST_P(IndexFiles, RememberTheLargestIdEverUsed) {
  const auto index = make(1);
  index->add(Floats{1, 2, 3});
  index->remove(Ids{0, 1, 2});
  const auto copy = index_of(kind(), file_of(*index), runtime);
  EXPECT_EQ(copy->size(), 0U);
  EXPECT_EQ(copy->add(Floats{4}), 3U);
}

TEST_P(IndexFiles, AreSavedAndLoadedByPath) {
  const TemporaryFolder folder;
  const std::string path = folder.path("index");
  const auto index = make(3);
  index->add(random_rows(random, 20, 3));
  index->save(path);
  EXPECT_EQ(load_index(path, options_of(kind(), runtime))->size(), 20U);
  index->remove(Ids{0});
  index->save(path);
  EXPECT_EQ(load_index(path, options_of(kind(), runtime))->size(), 19U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1) << "no temporary file stays";
  EXPECT_ERROR(index->save(folder.path("none/index")), ErrorCode::io, folder.path("none/index"), "No such file");
  EXPECT_ERROR(static_cast<void>(load_index(folder.path("none"), options_of(kind(), runtime))), ErrorCode::io,
               folder.path("none"));
}

TEST(IndexPaths, MessagesNameThePathAndWhatTheFileIs) {
  Runtime runtime;
  const TemporaryFolder folder;
  const std::string path = folder.path("vectors.npy");
  const auto write = [&](std::string_view bytes) {
    FileWriter file(path);
    file.write(std::as_bytes(std::span(bytes)));
    file.finish();
  };
  write("\x93NUMPY\x01 and an array");
  EXPECT_ERROR(static_cast<void>(load_index(path, {.runtime = &runtime})), ErrorCode::corrupt_data, path, "NumPy");
  EXPECT_ERROR(static_cast<void>(map_index(path, {.runtime = &runtime})), ErrorCode::corrupt_data, path, "NumPy");
  write("something else");
  EXPECT_ERROR(static_cast<void>(load_index(path, {.runtime = &runtime})), ErrorCode::corrupt_data, path,
               "saved index");
  write("short");
  EXPECT_ERROR(static_cast<void>(load_index(path, {.runtime = &runtime})), ErrorCode::corrupt_data, path);
}

TEST_P(IndexFiles, FilesWithBytesAfterTheIndexAreCorrupt) {
  const TemporaryFolder folder;
  const std::string path = folder.path("index");
  const FileBytes saved = small_file();
  FileWriter file(path);
  file.write(saved);
  file.put(std::uint8_t{0});
  file.finish();
  EXPECT_ERROR(static_cast<void>(load_index(path, options_of(kind(), runtime))), ErrorCode::corrupt_data, path,
               "bytes follow");
}

TEST(IndexPaths, AMappedIndexIsSavedOntoItsOwnFile) {
  Runtime runtime;
  Random random(seed());
  const TemporaryFolder folder;
  const std::string path = folder.path("graph");
  const auto index = make_index("graph", 4, Metric::l2, {.runtime = &runtime});
  index->add(random_rows(random, 2000, 4));
  index->save(path);
  const auto mapped = map_index(path, {.runtime = &runtime});
  mapped->remove(Ids{1, 2, 3});
  mapped->save(path);
  EXPECT_EQ(mapped->get(5), index->get(5));
  EXPECT_EQ(map_index(path, {.runtime = &runtime})->size(), 1997U);
  EXPECT_EQ(load_index(path, {.runtime = &runtime})->get(1999), index->get(1999));
}

TEST_P(IndexFiles, TruncatedFilesAreCorrupt) {
  const FileBytes file = small_file();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto cut = std::span(file).first(size);
    MemoryReader reader(cut);
    EXPECT_ERROR(static_cast<void>(load_index(reader, {.runtime = &runtime})), ErrorCode::corrupt_data, "");
  }
}

TEST_P(IndexFiles, EveryChangedBitIsDetected) {
  const FileBytes file = small_file();
  // All of them, or of a large file one in each byte, by the seed.
  const bool all = file.size() < 2000;
  for (std::size_t step = 0; step < file.size() * (all ? 8 : 1); ++step) {
    const std::size_t bit = all ? step : step * 8 + random.below(8);
    FileBytes changed = file;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    MemoryReader reader(changed);
    try {
      static_cast<void>(load_index(reader, options_of(kind(), runtime)));
      ADD_FAILURE() << "bit " << bit << " is not detected";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
    }
  }
}

// A graph file whose quantizer has this scale exponent, with a correct checksum around it.
FileBytes file_with_exponent(Runtime& runtime, std::int32_t exponent) {
  constexpr std::size_t dim = 3;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  Floats rows(12 * dim);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  index->add(rows);
  FileBytes file = file_of(*index);
  constexpr std::size_t begin = 12 + 67 + 8;  // behind magic, version, header and the header's checksum
  std::memcpy(&file[begin], &exponent, 4);
  std::size_t end = begin + 4 + 4 + dim * 4 + 8 + 4 + 1 + 1;
  std::uint32_t entry_points = 0;
  std::memcpy(&entry_points, &file[end], 4);
  end += 4 + entry_points * 4 + 8 + 8 + 8 + 4 + 8;  // so few rows are not calibrated
  const std::uint64_t sum = checksum(std::span(file).subspan(begin, end - begin));
  std::memcpy(&file[end], &sum, 8);
  return file;
}

TEST(GraphFiles, RejectScalesBeyondTheLimitOnEitherSide) {
  Runtime runtime;
  for (const std::int32_t exponent : {INT32_MIN, INT32_MIN + 1, -201, 201, INT32_MAX}) {
    SCOPED_TRACE(exponent);
    const FileBytes file = file_with_exponent(runtime, exponent);
    MemoryReader reader(file);
    EXPECT_ERROR(static_cast<void>(load_index(reader, {.runtime = &runtime})), ErrorCode::corrupt_data, "exponent");
  }
  for (const std::int32_t exponent : {-200, 200}) {
    const FileBytes file = file_with_exponent(runtime, exponent);
    MemoryReader reader(file);
    EXPECT_EQ(load_index(reader, {.runtime = &runtime})->size(), 12U);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexFiles, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Growing, IndexFiles, testing::Values(growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
