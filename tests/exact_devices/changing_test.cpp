// An index on devices while it changes, beside 'brute'.
#if defined(VECTIS_HAS_OPENCL)
#include <gmock/gmock.h>

#include "tests/exact_devices/fixture.hpp"
#include "vectis/search/index.hpp"

namespace vectis::test {
namespace {

RuntimeOptions named(const std::string& devices, const std::string& split) {
  RuntimeOptions options;
  options.settings = {{"config", ""}, {"gpu.devices", devices}, {"gpu.split", split}};
  return options;
}

void expect_same(const Index& gpu, const Index& brute, const std::vector<float>& queries) {
  const SearchResult found = gpu.search(queries, 7);
  const SearchResult wanted = brute.search(queries, 7);
  ASSERT_EQ(found.queries(), wanted.queries());
  for (std::size_t i = 0; i < found.queries(); ++i) {
    ASSERT_TRUE(std::ranges::equal(found[i], wanted[i])) << "query " << i;
  }
}

TEST(ChangingIndex, AnswersAsBruteDoes) {
  for (const std::string split : {"shards", "replicas"}) {
    Runtime runtime(named("opencl:0,opencl:1", split));
    Random random(seed());
    const auto gpu = make_index("gpu", 20, Metric::l2, {.runtime = &runtime});
    const auto brute = make_index("flat", 20, Metric::l2, {.runtime = &runtime});
    const std::vector<float> queries = cloud(random, 12 * 20);
    for (int round = 0; round < 6; ++round) {
      const std::vector<float> more = cloud(random, (1 + random.below(round % 2 == 0 ? 3000 : 30)) * 20);
      const std::vector<std::uint64_t> gone = {random.below(50), 50 + random.below(50)};
      for (Index* index : {gpu.get(), brute.get()}) {
        index->add(more);
        index->remove(gone);
        if (round == 3) index->set_precision(Precision::bf16);
        if (round == 5) index->drop_full_precision();
      }
      expect_same(*gpu, *brute, queries);
    }
    MemoryWriter writer;
    gpu->save(writer);
    MemoryReader reader(writer.bytes());
    expect_same(*load_index(reader, {.runtime = &runtime}), *brute, queries);
  }
}

TEST(ChangingIndexConcurrent, ReadersSearchWhileAWriterAdds) {
  Runtime runtime(named("opencl:0", "shards"));
  const auto index = make_index("gpu", 8, Metric::l2, {.runtime = &runtime});
  Random random(seed());
  const std::vector<float> first = cloud(random, 500 * 8);
  index->add(first);
  runtime.executor().parallel_for(5, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t worker = begin; worker < end; ++worker) {
      Random own(seed() + worker);
      for (int i = 0; i < 8; ++i) {
        if (worker == 0) {
          index->add(cloud(own, 100 * 8, 1, 100));  // far away: they change no answer
        } else {
          const std::size_t row = own.below(500);
          const auto found = index->search(std::span(first).subspan(row * 8, 8), 1);
          EXPECT_EQ(found[0].front(), (Hit{row, 0.0}));
        }
      }
    }
  });
  EXPECT_EQ(index->size(), 500U + 800U);
}

}  // namespace
}  // namespace vectis::test
#endif
