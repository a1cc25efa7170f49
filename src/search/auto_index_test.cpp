// When an 'auto' index builds a graph, whether the graph or the exact index answers, and that recall 1 stays exact.
#include "search/auto_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "search/workloads.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::clustered_rows;
using test::Floats;
using test::Ids;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t auto_dim = 12;

class AutoIndexTest : public testing::Test {
 protected:
  std::unique_ptr<AutoIndex> make(AutoRules rules) {
    auto corpus = std::make_unique<exact::SegmentStore>(runtime.executor(), Metric::l2, auto_dim, Precision::int8);
    auto exact = std::make_unique<exact::ExactIndex>(runtime, "auto", std::move(corpus),
                                                     exact::SearchPlace{nullptr, "no device was requested"});
    return std::make_unique<AutoIndex>(runtime, std::move(exact), nullptr, 0.9, GraphOptions{}, rules);
  }
  // An index with a graph, and the same vectors in `truth`.
  std::unique_ptr<AutoIndex> make_filled(std::size_t rows, BruteForce& truth) {
    auto index = make(eager);
    const Floats vectors = clustered_rows(random, rows, auto_dim);
    index->add(vectors);
    truth.put_all(0, vectors);
    return index;
  }
  // Records times that make the planner predict this workload to be slow.
  void make_slow(const std::string& name) {
    const Device cpu = runtime.service<DeviceRegistry>().find("cpu").value();
    Workload work{.name = name};
    work.host_seconds = 1e-5;
    for (int i = 0; i < 8; ++i) planner(runtime).record(Placement(cpu, work), 1.0);
  }
  static constexpr AutoRules eager{.rows_min = 800, .gain_min = 0, .payback_max = 1e12};

  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(AutoIndexTest, BuildsAndDropsTheGraphBySize) {
  const auto index = make(eager);
  index->add(clustered_rows(random, 750, auto_dim));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("no graph: fewer than 800 vectors"));
  const std::uint64_t before = index->statistics().bytes;
  index->add(clustered_rows(random, 200, auto_dim));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("with a graph: with 950 vectors of dimension 12"));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("at recall 0.9"));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("all 950 vectors are scanned\nthe exact index answers"));
  EXPECT_GT(index->statistics().bytes, before * 3 / 2);
  Ids ids(600);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  EXPECT_EQ(index->remove(ids), ids.size());
  EXPECT_THAT(index->explain(1, 10), HasSubstr("no graph: dropped when 350 vectors were left"));
  index->add(clustered_rows(random, 1000, auto_dim));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("with a graph"));
}

TEST_F(AutoIndexTest, AStoppedAddChangesNothing) {
  BruteForce truth(auto_dim, Metric::l2);
  const auto index = make_filled(3000, truth);
  CancelSource source;
  const Context stopping = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    if (progress.done > 0) source.cancel();
  });
  EXPECT_ERROR(index->add(clustered_rows(random, 3000, auto_dim), stopping), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(index->size(), 3000U);
  EXPECT_THAT(index->explain(1, 10), HasSubstr("with a graph"));
  const Floats queries = clustered_rows(random, 20, auto_dim);
  test::expect_same(*index, truth, queries, 10, {.recall = 1.0});
  const Floats more = clustered_rows(random, 100, auto_dim);
  EXPECT_EQ(index->add(more), 3000U) << "ids of the stopped call are free";
  truth.put_all(3000, more);
  test::expect_same(*index, truth, queries, 10, {.recall = 1.0});
  test::Tally tally;
  test::expect_sound(*index, truth, queries, 10, {}, tally);
}

TEST_F(AutoIndexTest, AnExceptionOfTheProgressCallbackEndsTheCall) {
  BruteForce truth(auto_dim, Metric::l2);
  const auto index = make_filled(3000, truth);
  const Floats more = clustered_rows(random, 500, auto_dim);
  const Context throws_error = Context{}.with_progress([](const Progress&) { throw std::runtime_error("enough"); });
  const Context throws_int = Context{}.with_progress([](const Progress&) { throw 7; });
  EXPECT_THROW(index->add(more, throws_error), std::runtime_error);
  EXPECT_THROW(index->add(more, throws_int), int);
  EXPECT_EQ(index->size(), 3000U);
  EXPECT_THAT(index->explain(1, 10), HasSubstr("with a graph"));
  MemoryWriter writer;
  index->save(writer);
  MemoryReader reader(writer.bytes());
  test::expect_same(*load_index(reader, {.runtime = &runtime}), truth, clustered_rows(random, 20, auto_dim), 10,
                    {.recall = 1.0});
}

TEST_F(AutoIndexTest, ExplainsTheRecallThatSearchesUse) {
  BruteForce truth(auto_dim, Metric::l2);
  const auto index = make_filled(3000, truth);
  EXPECT_THAT(index->explain(1, 10), AllOf(HasSubstr("for a recall of 0.9"), Not(HasSubstr("for a recall of 0.95"))));
}

TEST_F(AutoIndexTest, AStoppedBuildOfTheGraphKeepsTheVectors) {
  const auto index = make(eager);
  CancelSource source;
  bool exact_done = false;
  const Context stopping = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    if (exact_done && progress.done > 0) source.cancel();
    exact_done = exact_done || progress.done == progress.total;
  });
  EXPECT_EQ(index->add(clustered_rows(random, 3000, auto_dim), stopping), 0U);
  EXPECT_EQ(index->size(), 3000U);
  EXPECT_THAT(index->explain(1, 10), HasSubstr("no graph: it failed"));
  index->add(clustered_rows(random, 1, auto_dim));
  EXPECT_THAT(index->explain(1, 10), HasSubstr("with a graph")) << "the next change tries again";
}

TEST_F(AutoIndexTest, BuildsNoGraphThatDoesNotPayOff) {
  const auto slow = make({.rows_min = 1000, .gain_min = 1e9});
  slow->add(clustered_rows(random, 1200, auto_dim));
  EXPECT_THAT(slow->explain(1, 10), HasSubstr("no graph: with 1200 vectors"));
  slow->add(clustered_rows(random, 100, auto_dim));
  EXPECT_THAT(slow->explain(1, 10), HasSubstr("with 1200 vectors")) << "the decision is not repeated yet";
  slow->add(clustered_rows(random, 400, auto_dim));
  EXPECT_THAT(slow->explain(1, 10), HasSubstr("with 1700 vectors"));
  const auto dear = make({.rows_min = 1000, .gain_min = 0, .payback_max = -1});
  dear->add(clustered_rows(random, 1200, auto_dim));
  EXPECT_THAT(dear->explain(1, 10), HasSubstr("no graph: with 1200 vectors"));
}

TEST_F(AutoIndexTest, RecallOneIsExactAndLowerRecallIsSound) {
  BruteForce truth(auto_dim, Metric::l2);
  const auto index = make_filled(3000, truth);
  const Floats queries = clustered_rows(random, 60, auto_dim);
  test::expect_same(*index, truth, queries, 10, {.recall = 1.0});
  test::Tally tally;
  test::expect_sound(*index, truth, queries, 10, {}, tally);
  make_slow("exact/int8");
  test::expect_sound(*index, truth, queries, 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.8);
  const SearchResult by_graph = index->search(std::span(queries).first(auto_dim), 10, {});
  EXPECT_EQ(by_graph.explanation().kernel, "graph");
  EXPECT_THAT(by_graph.explanation().reason,
              AllOf(HasSubstr("graph, cpu is predicted"), HasSubstr("a beam search with epsilon ")));
  test::expect_same(*index, truth, queries, 10, {.recall = 1.0});
}

TEST_F(AutoIndexTest, UsesTheExactIndexWhereItIsFaster) {
  BruteForce truth(auto_dim, Metric::l2);
  const auto index = make_filled(1600, truth);
  make_slow("graph/int8");
  test::expect_same(*index, truth, clustered_rows(random, 20, auto_dim), 10);
}

TEST_F(AutoIndexTest, LoadsItsGraphUnlessRecallIsOne) {
  const auto index = make(eager);
  index->add(clustered_rows(random, 2000, auto_dim));
  index->remove(Ids{5, 6});
  MemoryWriter writer;
  index->save(writer);
  MemoryReader reader(writer.bytes());
  const auto copy = load_index(reader, {.runtime = &runtime});
  EXPECT_EQ(reader.remaining(), 0U);
  EXPECT_EQ(copy->kind(), "auto");
  EXPECT_EQ(copy->size(), 1998U);
  EXPECT_THAT(copy->explain(), HasSubstr("with a graph: loaded from the file"));
  MemoryReader again(writer.bytes());
  EXPECT_THAT(load_index(again, {.recall = 1.0, .runtime = &runtime})->explain(), Not(HasSubstr("graph")));
}

// Runs a change on another thread during the first write, and waits for it.
class ChangingWriter final : public ByteWriter {
 public:
  explicit ChangingWriter(std::function<void()> change) : change_(std::move(change)) {}
  ~ChangingWriter() override {
    if (thread_.joinable()) thread_.join();
  }
  void write(std::span<const std::byte> some) override {
    if (!thread_.joinable()) {
      std::promise<void> done;
      finished = done.get_future();
      thread_ = std::thread([this, promise = std::move(done)]() mutable {
        change_();
        promise.set_value();
      });
      in_time = finished.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    }
    bytes.insert(bytes.end(), some.begin(), some.end());
  }

  std::vector<std::byte> bytes;
  std::future<void> finished;
  bool in_time = false;

 private:
  std::function<void()> change_;
  std::thread thread_;
};

TEST_F(AutoIndexTest, ChangesDoNotWaitForTheFileOfASave) {
  for (const std::size_t rows : {100U, 2000U}) {  // without and with a graph
    const auto index = make(eager);
    index->add(clustered_rows(random, rows, auto_dim));
    const Floats more = clustered_rows(random, 3, auto_dim);
    ChangingWriter writer([&] {
      index->add(more);
      index->remove(Ids{5});
    });
    index->save(writer);
    EXPECT_TRUE(writer.in_time) << rows;
    MemoryReader reader(writer.bytes);
    const auto copy = load_index(reader, {.runtime = &runtime});
    EXPECT_EQ(copy->size(), rows) << "the file has the index as it was when the call began";
    EXPECT_TRUE(copy->get(5));
    EXPECT_EQ(index->size(), rows + 2);
  }
}

TEST_F(AutoIndexTest, MismatchedExactIndexAndGraphAreCorrupt) {
  const auto index = make(eager);
  index->add(clustered_rows(random, 1600, auto_dim));
  MemoryWriter writer;
  index->save(writer);
  const auto graph_at = [](std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find("VECTISGR");
  };
  std::vector<std::byte> bytes(writer.bytes().begin(), writer.bytes().end());
  const auto other = make_index("graph", auto_dim, Metric::l2, {.runtime = &runtime});
  other->add(clustered_rows(random, 7, auto_dim));
  MemoryWriter wrong;
  other->save(wrong);
  bytes.resize(graph_at(bytes));
  const auto load = [&] {
    MemoryReader reader(bytes);
    return load_index(reader, {.runtime = &runtime});
  };
  EXPECT_ERROR(load(), ErrorCode::corrupt_data, "");
  bytes.insert(bytes.end(), wrong.bytes().begin(), wrong.bytes().end());
  EXPECT_ERROR(load(), ErrorCode::corrupt_data, "other vectors");
  // As many vectors, one of them under another id.
  Ids ids(1600);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i == 700 ? 5000 : i;
  const auto shifted = make_index("graph", auto_dim, Metric::l2, {.runtime = &runtime});
  shifted->add(ids, clustered_rows(random, ids.size(), auto_dim));
  MemoryWriter graph;
  shifted->save(graph);
  bytes.resize(graph_at(bytes));
  bytes.insert(bytes.end(), graph.bytes().begin(), graph.bytes().end());
  EXPECT_ERROR(load(), ErrorCode::corrupt_data, "no vector of id 700");
  bytes[8] ^= std::byte{1};
  EXPECT_ERROR(load(), ErrorCode::unsupported, "version");
}

TEST_F(AutoIndexTest, RejectsInvalidRecall) {
  for (const double recall : {0.0, -1.0, 1.1, std::nan("")}) {
    EXPECT_ERROR(make_index("auto", 2, Metric::l2, {.recall = recall, .runtime = &runtime}), ErrorCode::invalid_input,
                 "a recall of");
  }
}

TEST(GraphWorkloadTest, GrowsWithRowsAndRecall) {
  const graph::GraphTask task{.rows = 100'000, .dim = 128, .k = 10, .recall = 0.95, .threads = 2};
  const auto seconds = [](graph::GraphTask one, std::size_t queries) {
    return graph::search_workload(graph::query_seconds(one), queries, one.threads).host_seconds;
  };
  auto more = task;
  more.recall = 0.99;
  EXPECT_GT(seconds(more, 1), 1.5 * seconds(task, 1));
  more = task;
  more.rows *= 10;
  EXPECT_GT(seconds(more, 1), seconds(task, 1));
  EXPECT_LT(seconds(more, 1), 4 * seconds(task, 1));
  EXPECT_NEAR(seconds(task, 1000), 500 * seconds(task, 1), 1e-9);
  EXPECT_GT(graph::build_seconds(more), 9 * graph::build_seconds(task));
}

}  // namespace
}  // namespace vectis
