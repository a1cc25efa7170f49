#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <utility>

#include "search/auto_index.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/file.hpp"
#include "vectis/base/pages.hpp"
#include "vectis/search/index.hpp"

namespace vectis {
namespace {

using test::Floats;
using testing::HasSubstr;

class MakeIndexTest : public testing::Test {
 protected:
  test::FakeOs os;  // without a GPU
  Runtime runtime{[this] {
    RuntimeOptions options;
    options.os = &os;
    return options;
  }()};
};

TEST_F(MakeIndexTest, UnknownKindsAreRefusedWithThoseThatExist) {
  for (const char* kind : {"", "Flat", "Brute", "brute "}) {
    EXPECT_ERROR(make_index(kind, 3, Metric::l2, {.runtime = &runtime}), ErrorCode::invalid_input, "'flat'", "'brute'",
                 "'graph'", "'hnsw'", "'gpu'", "'auto'");
  }
}

TEST_F(MakeIndexTest, AliasesNameTheSameKinds) {
  EXPECT_EQ(make_index("brute", 3, Metric::l2, {.runtime = &runtime})->kind(), "flat");
  EXPECT_EQ(make_index("hnsw", 3, Metric::l2, {.runtime = &runtime})->kind(), "graph");
}

TEST_F(MakeIndexTest, RecallAndGraphOptionsAreHonoredOrRejected) {
  for (const char* kind : {"flat", "graph", "auto"}) {
    for (const double recall : {0.0, -1.0, 2.0, std::nan("")}) {
      EXPECT_ERROR(make_index(kind, 3, Metric::l2, {.recall = recall, .runtime = &runtime}), ErrorCode::invalid_input,
                   "recall");
    }
    EXPECT_EQ(make_index(kind, 3, Metric::l2, {.recall = 1.0, .runtime = &runtime})->size(), 0U);
  }
  EXPECT_ERROR(make_index("flat", 3, Metric::l2, {.graph = GraphOptions{}, .runtime = &runtime}),
               ErrorCode::invalid_input, "graph options");
}

TEST_F(MakeIndexTest, ValuesThatAreNoEnumeratorsAreRejected) {
  for (const char* kind : {"flat", "graph", "auto", "gpu"}) {
    for (const auto metric : {static_cast<Metric>(0), static_cast<Metric>(99)}) {
      EXPECT_ERROR(make_index(kind, 3, metric, {.runtime = &runtime}), ErrorCode::invalid_input, "is no metric");
    }
  }
  for (const char* kind : {"flat", "graph", "auto"}) {
    const auto index = make_index(kind, 3, Metric::l2, {.runtime = &runtime});
    for (const auto precision : {static_cast<Precision>(0), static_cast<Precision>(99)}) {
      EXPECT_ERROR(index->set_precision(precision), ErrorCode::invalid_input, "is no precision");
    }
    EXPECT_EQ(index->precision(), Precision::int8);
  }
}

TEST_F(MakeIndexTest, AutoTakesABeamWidthWhateverItsRecallAndMetric) {
  for (const Metric metric : {Metric::l2, Metric::l1}) {
    for (const double recall : {0.9, 1.0}) {
      const auto index = make_index("auto", 2, metric, {.recall = recall, .runtime = &runtime});
      index->add(Floats{1, 2});
      EXPECT_EQ(index->search(Floats{1, 2}, 1, {.ef = 10})[0].front(), (Hit{0, 0.0}));
      EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2}, 1, {.ef = 0})), ErrorCode::invalid_input, "ef is 0");
    }
  }
}

TEST_F(MakeIndexTest, LoadingTakesGraphOptionsForAutoAlone) {
  const IndexOptions options{.graph = GraphOptions{.degree = 8}, .runtime = &runtime};
  const auto load = [&](const Index& index) {
    MemoryWriter writer;
    index.save(writer);
    MemoryReader reader(writer.bytes());
    return load_index(reader, options);
  };
  EXPECT_EQ(load(*make_index("auto", 3, Metric::l2, options))->kind(), "auto");
  EXPECT_ERROR(load(*make_index("graph", 3, Metric::l2, options)), ErrorCode::invalid_input, "[load_index]",
               "the file has the graph's parameters");
  EXPECT_ERROR(load(*make_index("flat", 3, Metric::l2, {.runtime = &runtime})), ErrorCode::invalid_input,
               "[load_index]", "'flat' has no graph");
}

TEST_F(MakeIndexTest, LaterGraphsOfALoadedAutoIndexHaveTheParametersOfItsFileOrOptions) {
  constexpr std::size_t dim = 12;
  Random random(test::seed());
  auto exact = std::make_unique<exact::ExactIndex>(
      runtime, "auto", std::make_unique<exact::SegmentStore>(runtime.executor(), Metric::l2, dim, Precision::int8),
      exact::SearchPlace{nullptr, "no device was requested"});
  AutoIndex index(runtime, std::move(exact), nullptr, 0.9, GraphOptions{.degree = 8},
                  AutoRules{.rows_min = 1000, .gain_min = 0, .payback_max = 1e12});
  index.add(test::clustered_rows(random, 1100, dim));
  ASSERT_THAT(index.explain(), HasSubstr("(degree 8)"));
  MemoryWriter writer;
  index.save(writer);
  for (const auto& [graph, expected] : std::initializer_list<std::pair<std::optional<GraphOptions>, const char*>>{
           {std::nullopt, "(degree 8)"}, {GraphOptions{.degree = 12}, "(degree 12)"}}) {
    MemoryReader reader(writer.bytes());
    const auto loaded = load_index(reader, {.graph = graph, .runtime = &runtime});
    EXPECT_THAT(loaded->explain(), HasSubstr("(degree 8)"));
    loaded->drop_full_precision();  // builds the graph again
    EXPECT_THAT(loaded->explain(), HasSubstr(expected));
  }
}

TEST_F(MakeIndexTest, DimensionsHaveLimits) {
  EXPECT_ERROR(make_index("flat", 0, Metric::l2, {.runtime = &runtime}), ErrorCode::invalid_input, "0", "65536");
  EXPECT_ERROR(make_index("flat", 65'537, Metric::l2, {.runtime = &runtime}), ErrorCode::invalid_input, "65537");
  const auto index = make_index("flat", 65'536, Metric::inner_product, {.runtime = &runtime});
  Floats row(65'536, 1.0F);
  index->add(row);
  EXPECT_EQ(index->search(row, 1)[0].front().distance, -65'536.0);
}

TEST_F(MakeIndexTest, AGpuThatIsNotThereIsAnErrorWithAReason) {
  EXPECT_ERROR(make_index("gpu", 3, Metric::l2, {.runtime = &runtime}), ErrorCode::backend_creation, "no GPU is usable",
               "opencl: not installed");
  EXPECT_ERROR(make_index("gpu", 3, Metric::l2, {.device = "", .runtime = &runtime}), ErrorCode::backend_creation,
               "no GPU is usable");
  for (const auto& device : {std::optional<std::string>(), std::optional<std::string>("cpu")}) {
    EXPECT_ERROR(make_index("gpu", 3, Metric::l1, {.device = device, .runtime = &runtime}), ErrorCode::unsupported,
                 "l1");
  }
}

TEST_F(MakeIndexTest, AutoFallsBackAndSaysWhy) {
  const auto index = make_index("auto", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_EQ(index->kind(), "auto");
  index->add(Floats{1, 2});
  const SearchResult found = index->search(Floats{1, 2}, 1);
  EXPECT_EQ(found[0].front(), (Hit{0, 0.0}));
  EXPECT_EQ(found.explanation().device, "cpu");
  EXPECT_THAT(found.explanation().reason, HasSubstr("no usable GPU (`vectis doctor` says why)"));
  EXPECT_THAT(index->explain(), HasSubstr("no usable GPU (`vectis doctor` says why)"));
  MemoryWriter writer;
  index->save(writer);
  MemoryReader reader(writer.bytes());
  EXPECT_EQ(load_index(reader, {.runtime = &runtime})->kind(), "auto");
}

TEST_F(MakeIndexTest, TheCpuMayBeAskedForWhateverTheKind) {
  for (const char* kind : {"flat", "gpu", "auto"}) {
    const auto index = make_index(kind, 2, Metric::l2, {.device = "cpu", .runtime = &runtime});
    EXPECT_EQ(index->kind(), kind);
    EXPECT_TRUE(index->devices().devices.empty());
    index->add(Floats{1, 2});
    EXPECT_EQ(index->search(Floats{1, 2}, 1).explanation().device, "cpu");
    EXPECT_EQ(index->statistics().device_bytes, 0U);
    MemoryWriter writer;
    index->save(writer);
    MemoryReader reader(writer.bytes());
    EXPECT_EQ(load_index(reader, {.device = "cpu", .runtime = &runtime})->kind(), kind);
    EXPECT_ERROR(make_index(kind, 2, Metric::l2, {.device = "cpu,tpu", .runtime = &runtime}),
                 ErrorCode::unsupported_backend, "tpu");
  }
  EXPECT_THAT(make_index("auto", 2, Metric::l2, {.device = "auto", .runtime = &runtime})->devices().reason,
              HasSubstr("no usable GPU (`vectis doctor` says why)"));
}

// Also a path that happens to be a word of the message, as "index" is.
TEST_F(MakeIndexTest, ErrorsAboutAFileNameItsPathOnce) {
  const test::TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.folder());
  const auto write = [](const std::string& path, std::string_view bytes) {
    FileWriter file(path);
    file.write(std::as_bytes(std::span(bytes)));
    file.finish();
  };
  for (const std::string path : {"a", "index", "zq.bin"}) {
    write(path, "bytes of something else");
    EXPECT_ERROR(load_index(path, {.runtime = &runtime}), ErrorCode::corrupt_data,
                 "[load_index] " + path + ": the first 8 bytes");
    EXPECT_ERROR(map_index(path, {.runtime = &runtime}), ErrorCode::corrupt_data,
                 "[map_index] " + path + ": the first 8 bytes");
    write(path, "short");
    EXPECT_ERROR(load_index(path, {.runtime = &runtime}), ErrorCode::corrupt_data, "[read] " + path + " ends 3 bytes");
  }
  EXPECT_ERROR(load_index(std::string("a\0b", 3), {.runtime = &runtime}), ErrorCode::invalid_input, "NUL");
  EXPECT_ERROR(map_index(std::string("a\0b", 3), {.runtime = &runtime}), ErrorCode::invalid_input, "NUL");
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace vectis
