// The kinds of index that use devices: the same answers as on the processor, and the reasons beside them.
#include <gmock/gmock.h>

#include "tests/exact_devices/fixture.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/search/index.hpp"

#if defined(VECTIS_HAS_OPENCL)

namespace vectis::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t dim = 24;

class KindsTest : public testing::Test {
 protected:
  static RuntimeOptions options(Settings::Values more) {
    Settings::Values settings{{"config", ""}, {"gpu.allow_software", "true"}, {"backend_path", computing_backends()}};
    settings.merge(more);
    RuntimeOptions made;
    made.settings = std::move(settings);
    return made;
  }

  // Adds, removes and searches; every answer is that of 'brute'.
  void expect_brute(Index& index, Runtime& runtime) {
    const auto brute = make_index("flat", dim, index.metric(), {.runtime = &runtime});
    const std::vector<float> corpus = cloud(random_, 9000 * dim);
    const std::vector<float> queries = cloud(random_, 37 * dim);
    for (Index* const one : {&index, brute.get()}) {
      one->add(corpus);
      one->remove(std::vector<std::uint64_t>{3, 77, 8999});
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{37}}) {
      const std::span<const float> asked(queries.data(), count * dim);
      const SearchResult found = index.search(asked, 10);
      const SearchResult expected = brute->search(asked, 10);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(std::ranges::equal(found[i], expected[i])) << "query " << i << "\n" << found.explanation().text();
      }
    }
  }

  Random random_{seed()};
};

TEST_F(KindsTest, GpuAnswersLikeBruteAndNamesItsDevice) {
  Runtime runtime(options({}));
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    const auto index = make_index("gpu", dim, metric, {.runtime = &runtime});
    expect_brute(*index, runtime);
    const SearchResult found = index->search(cloud(random_, dim), 3);
    EXPECT_THAT(found.explanation().device, StartsWith("opencl:"));
    EXPECT_THAT(index->explain(), HasSubstr("opencl:"));
  }
}

TEST_F(KindsTest, GpuUsesTheDevicesThatAreNamedTogether) {
  for (const char* const split : {"shards", "replicas"}) {
    Runtime runtime(options({{"gpu.devices", "opencl:1, opencl:2"}, {"gpu.split", split}}));
    const auto index = make_index("gpu", dim, Metric::l2, {.runtime = &runtime});
    expect_brute(*index, runtime);
    EXPECT_EQ(index->search(cloud(random_, dim), 1).explanation().device, "opencl:1, opencl:2");
  }
}

TEST_F(KindsTest, TheCallNamesTheDevices) {
  Runtime runtime(options({{"gpu.devices", "opencl:0"}}));
  for (const char* const kind : {"gpu", "auto"}) {
    const auto index = make_index(kind, dim, Metric::l2, {.device = "opencl:1, opencl:2", .runtime = &runtime});
    expect_brute(*index, runtime);
    std::vector<std::string> labels;
    for (const Device& device : index->devices().devices) labels.push_back(device.label());
    EXPECT_THAT(labels, testing::ElementsAre("opencl:1", "opencl:2"));
    if (index->kind() == "gpu") {
      EXPECT_GE(index->statistics().device_bytes, 9000U * dim);
    }
  }
  EXPECT_ERROR(make_index("flat", dim, Metric::l2, {.device = "opencl:1", .runtime = &runtime}), ErrorCode::unsupported,
               "'flat' searches on the host");
}

// The bytes of segments in the memory of a device.
std::uint64_t segment_bytes(Runtime& runtime, const std::string& device) {
  const MemoryStats stats =
      *memory_pool(runtime).get_memory_stats(choose_device(runtime, {.device = device}).device.id());
  for (const TagUsage& tag : stats.tags) {
    if (tag.tag == "search.segments") return tag.live_bytes;
  }
  return 0;
}

// As in the guide of several devices.
TEST_F(KindsTest, RowsGoToTheDeviceThatIsActiveWhenTheyAreAdded) {
  Runtime runtime(options({}));
  const auto index = make_index("gpu", dim, Metric::l2, {.device = "opencl:1,opencl:2", .runtime = &runtime});
  const auto brute = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  constexpr std::size_t row = dim + 16;  // an int8 code and its terms
  std::uint64_t expected[2] = {0, 0};
  for (const std::size_t rows : {std::size_t{3000}, std::size_t{500}}) {
    for (int i = 0; i < 2; ++i) {
      const std::string label = "opencl:" + std::to_string(i + 1);
      set_active_device(choose_device(runtime, {.device = label}).device.id(), runtime);
      const std::size_t portion = rows * static_cast<std::size_t>(i + 1);
      const std::vector<float> vectors = cloud(random_, portion * dim);
      index->add(vectors);
      brute->add(vectors);
      expected[i] += portion * row;
    }
  }
  reset_active_device(runtime);
  EXPECT_EQ(thread_device(runtime), std::nullopt);
  const std::vector<float> queries = cloud(random_, 20 * dim);
  const auto expect_equal = [&](Index& own) {
    const SearchResult found = own.search(queries, 10);
    const SearchResult wanted = brute->search(queries, 10);
    for (std::size_t i = 0; i < 20; ++i) ASSERT_TRUE(std::ranges::equal(found[i], wanted[i])) << i;
  };
  expect_equal(*index);
  // A block that grew has room for an eighth more rows.
  const auto expect_bytes = [&](const char* label, std::uint64_t bytes) {
    EXPECT_GE(segment_bytes(runtime, label), bytes);
    EXPECT_LE(segment_bytes(runtime, label), bytes + bytes / 8);
  };
  expect_bytes("opencl:1", expected[0]);
  expect_bytes("opencl:2", expected[1]);
  // Removing, compacting and other codes leave the rows where they are.
  std::vector<std::uint64_t> removed(2900);
  for (std::size_t i = 0; i < removed.size(); ++i) removed[i] = i;
  for (Index* const one : {index.get(), brute.get()}) one->remove(removed);
  expect_equal(*index);
  EXPECT_LE(segment_bytes(runtime, "opencl:1"), (expected[0] - 2900 * row) * 9 / 8);
  expect_bytes("opencl:2", expected[1]);
  index->set_precision(Precision::fp16);
  expect_equal(*index);
  expect_bytes("opencl:2", expected[1] / row * (2 * dim + 16));
  index->drop_full_precision();
  static_cast<void>(index->search(queries, 10));
  expect_bytes("opencl:2", expected[1] / row * (2 * dim + 16));
}

TEST_F(KindsTest, RowsAreSharedWhileNoDeviceOfTheIndexIsActive) {
  Runtime runtime(options({}));
  const auto index = make_index("gpu", dim, Metric::l2, {.device = "opencl:1,opencl:2", .runtime = &runtime});
  set_active_device(choose_device(runtime, {.device = "cpu"}).device.id(), runtime);
  expect_brute(*index, runtime);
  reset_active_device(runtime);
}

TEST_F(KindsTest, TheSettingHoldsForAutoAndGraph) {
  Settings::Values settings{{"config", ""}, {"device", "failing"}};
  RuntimeOptions with_failing;
  with_failing.settings = settings;
  Runtime runtime(with_failing);
  const auto exact = make_index("auto", dim, Metric::l2, {.runtime = &runtime});
  expect_brute(*exact, runtime);
  EXPECT_EQ(exact->search(cloud(random_, dim), 1).explanation().device, "failing:0");
  EXPECT_EQ(exact->devices().labels(), "failing:0");
  const auto graph = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  graph->add(cloud(random_, 2500 * dim));
  EXPECT_EQ(graph->search(cloud(random_, dim), 1, {.recall = 0.8}).explanation().device, "failing:0");
  const SearchExplanation filtered =
      graph->search(cloud(random_, dim), 1, {.filter = IdFilter::range(0, 2)}).explanation();
  EXPECT_EQ(filtered.device, "cpu");
  EXPECT_THAT(filtered.reason, HasSubstr("on the host, since failing:0 runs only unfiltered beam searches"));
}

TEST_F(KindsTest, GpuGoesToTheActiveDevice) {
  Runtime runtime(options({}));
  const Device wanted = choose_device(runtime, {.device = "opencl:2"}).device;
  set_active_device(wanted.id(), runtime);
  const auto index = make_index("gpu", dim, Metric::l2, {.runtime = &runtime});
  index->add(cloud(random_, 10 * dim));
  EXPECT_EQ(index->search(cloud(random_, dim), 1).explanation().device, "opencl:2");
  set_active_device(choose_device(runtime, {.device = "cpu"}).device.id(), runtime);
}

TEST_F(KindsTest, WhatDevicesCannotDoIsRefusedWithAReason) {
  Runtime runtime(options({}));
  EXPECT_ERROR(make_index("gpu", dim, Metric::l1, {.runtime = &runtime}), ErrorCode::unsupported, "l1", "'flat'");
  Runtime unknown(options({{"gpu.devices", "opencl:0,tpu"}}));
  EXPECT_ERROR(make_index("gpu", dim, Metric::l2, {.runtime = &unknown}), ErrorCode::unsupported_backend, "tpu");
  Runtime torn(options({{"gpu.devices", "opencl:0"}, {"gpu.split", "halves"}}));
  EXPECT_ERROR(make_index("gpu", dim, Metric::l2, {.runtime = &torn}), ErrorCode::invalid_input, "halves", "replicas");
}

TEST_F(KindsTest, AutoAnswersLikeBruteAndExplainsEveryCandidate) {
  Runtime runtime(options({}));
  const auto index = make_index("auto", dim, Metric::l2, {.runtime = &runtime});
  expect_brute(*index, runtime);
  EXPECT_THAT(index->search(cloud(random_, dim), 1).explanation().device, AnyOf("cpu", StartsWith("opencl:")));
  EXPECT_THAT(index->explain(), testing::AllOf(HasSubstr("cpu:0"), HasSubstr("opencl:0")));
  EXPECT_EQ(make_index("auto", dim, Metric::hamming, {.runtime = &runtime})->metric(), Metric::hamming);
}

TEST_F(KindsTest, AKindIsKeptThroughSaving) {
  Runtime runtime(options({}));
  const auto index = make_index("gpu", dim, Metric::cosine, {.runtime = &runtime});
  index->add(cloud(random_, 100 * dim));
  MemoryWriter writer;
  index->save(writer);
  MemoryReader reader(writer.bytes());
  EXPECT_EQ(load_index(reader, {.runtime = &runtime})->kind(), "gpu");
}

}  // namespace
}  // namespace vectis::test

#endif
