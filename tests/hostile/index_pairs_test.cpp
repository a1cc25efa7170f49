// Every ordered pair of operations of an index, each repeated by a thread of its own. VECTIS_TEST_PAIR="upsert search
// 17" repeats one run.
#include <barrier>
#include <iostream>
#include <sstream>
#include <thread>

#include "tests/hostile/index_operations.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis::test {
namespace {

constexpr IndexKind mapped_kind{
    .name = "graph", .label = "mapped", .device = nullptr, .exact = false, .any_metric = false};

struct PairRun {
  const IndexOperation* first;
  const IndexOperation* second;
  std::uint64_t seed;
};

class IndexPairsConcurrent : public IndexKinds {
 protected:
  // Pairs in an order drawn by the seed, so that a part of them is another part for every commit.
  std::vector<PairRun> drawn_runs(std::uint64_t count) {
    const auto all = index_operations();
    std::vector<PairRun> pairs;
    for (const IndexOperation& first : all) {
      for (const IndexOperation& second : all) pairs.push_back({&first, &second, 0});
    }
    std::vector<PairRun> runs;
    while (runs.size() < count) {
      for (std::size_t i = pairs.size(); i > 1; --i) std::swap(pairs[i - 1], pairs[random.below(i)]);
      for (std::size_t i = 0; i < pairs.size() && runs.size() < count; ++i) {
        runs.push_back({pairs[i].first, pairs[i].second, random.next() >> 16U});
      }
    }
    return runs;
  }
  static std::optional<PairRun> named_run() {
    const char* const text = std::getenv("VECTIS_TEST_PAIR");
    if (text == nullptr) return std::nullopt;
    std::istringstream words(text);
    std::string first;
    std::string second;
    PairRun run{nullptr, nullptr, 0};
    words >> first >> second >> run.seed;
    for (const IndexOperation& operation : index_operations()) {
      if (operation.name == first) run.first = &operation;
      if (operation.name == second) run.second = &operation;
    }
    return run.first != nullptr && run.second != nullptr ? std::optional(run) : std::nullopt;
  }

  SceneShape shape_of(const PairRun& run, Random& draw) const {
    const auto metrics = metrics_of(kind());
    SceneShape shape;
    shape.dim = 8 + draw.below(2) * 8;
    shape.metric = metrics[draw.below(metrics.size())];
    shape.stable = draw.below(2) == 0 ? 40 : 250;
    // Above 1,000 rows a search with an ef follows the links of a graph.
    if (kind().name == std::string_view("graph") && draw.below(12) == 0) shape.stable = 1300;
    shape.sparse_ids = draw.below(2) == 0;
    shape.lossy = run.first->lossy || run.second->lossy;
    shape.requantized = shape.lossy && (run.first->requantizes || run.second->requantizes);
    return shape;
  }

  std::unique_ptr<Index> new_index(const SceneShape& shape) {
    const auto [ids, vectors] = Scene::first_rows(shape);
    if (kind().label == growing_kind.label && exact::can_scan(shape.metric, Precision::int8)) {
      // Changes lead across the size at which it builds and drops its graph.
      auto index = growing_index(shape.dim, shape.metric, runtime, ids.size() + 10);
      index->add(ids, vectors);
      return index;
    }
    std::ostringstream key;
    key << shape.dim << ' ' << name(shape.metric) << ' ' << shape.stable << ' ' << shape.sparse_ids;
    FileBytes& file = files_[key.str()];
    if (file.empty()) {
      const auto index = made(kind(), shape.dim, shape.metric, runtime);
      index->add(ids, vectors);
      file = file_of(*index);
    }
    if (kind().label != mapped_kind.label) return index_of(kind(), file, runtime);
    const std::string path = folder_.path(std::to_string(std::hash<std::string>()(key.str())));
    if (!std::filesystem::exists(path)) {
      FileWriter writer(path);
      writer.write(file);
      writer.finish();
    }
    return map_index(path, {.runtime = &runtime});
  }

  // Returns what failed, or nothing.
  std::string run_pair(const PairRun& run) {
    Random draw(run.seed);
    const SceneShape shape = shape_of(run, draw);
    Scene scene(kind(), shape, new_index(shape), runtime);
    std::array actors{scene.actor(0, draw.next()), scene.actor(1, draw.next())};
    std::barrier start(2);
    const auto repeat = [&](Actor& actor, const IndexOperation& operation) {
      start.arrive_and_wait();
      try {
        for (int i = 0; i < operation.repeats && !scene.failed(); ++i) operation.act(scene, actor);
      } catch (const std::exception& error) {
        scene.fail(std::string(operation.name) + " threw " + error.what());
      }
    };
    std::thread other([&] { repeat(actors[1], *run.second); });
    repeat(actors[0], *run.first);
    other.join();
    try {
      check_end(scene, actors);
    } catch (const std::exception& error) {
      scene.fail(std::string("the last comparison threw ") + error.what());
    }
    return scene.failure();
  }

  bool expect_pair(const PairRun& run) {
    const std::string failure = run_pair(run);
    if (failure.empty()) return true;
    ADD_FAILURE() << failure << "\nrepeat: VECTIS_TEST_PAIR='" << run.first->name << ' ' << run.second->name << ' '
                  << run.seed << "' hostile_test --gtest_filter='*IndexPairsConcurrent*" << kind().label << '\'';
    return false;
  }

 private:
  TemporaryFolder folder_;
  std::map<std::string, FileBytes> files_;
};

TEST_P(IndexPairsConcurrent, HoldWhateverRunsBesideThem) {
  if (const auto named = named_run()) {
    for (std::uint64_t i = 0; i < runs_wanted(100); ++i) ASSERT_TRUE(expect_pair(*named));
    return;
  }
  const std::vector<PairRun> runs = drawn_runs(runs_wanted(160));
  constexpr std::size_t failures_max = 5;  // enough to see what they share
  std::size_t failures = 0;
  for (std::size_t i = 0; i < runs.size() && failures < failures_max; ++i) failures += expect_pair(runs[i]) ? 0U : 1U;
  std::cout << kind().label << ": " << runs.size() << " runs of pairs of " << index_operations().size()
            << " operations\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexPairsConcurrent, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(More, IndexPairsConcurrent, testing::Values(growing_kind, mapped_kind), kind_name);

}  // namespace
}  // namespace vectis::test
