// Fails every allocation of every call of an index, one at a time, on the host and on a device. The index must be as
// before the call, and the next call must work.
#include <cstdlib>
#include <functional>
#include <iostream>

#include "tests/indexes/kinds.hpp"
#include "tests/support/allocation_faults.hpp"
#include "vectis/device.hpp"

namespace vectis::test {
namespace {

constexpr std::size_t failing_dim = 5;

// An index, what it contains, and its answers.
struct Contents {
  explicit Contents(const Index& index) : size(index.size()) {
    for (std::uint64_t id = 0; id < 700; ++id) {
      if (auto vector = index.get(id)) vectors.emplace(id, *std::move(vector));
    }
    Random random(5);
    // A graph compares its codes first, which a failed call may have trained again: it is asked for all vectors.
    const bool graph = index.kind() == "graph";
    const SearchOptions options{.recall = graph ? std::nullopt : std::optional(1.0)};
    const SearchResult found = index.search(random_rows(random, 4, failing_dim), graph ? 1000 : 7, options);
    for (std::size_t i = 0; i < found.queries(); ++i) answers.push_back(hits_of(found, i));
  }
  bool operator==(const Contents&) const = default;

  std::size_t size;
  std::map<std::uint64_t, Floats> vectors;
  std::vector<std::vector<Hit>> answers;
};

// The graph of an "auto" index, if it has one, has the vectors of the exact index: a beam that is wide enough for all
// of them finds the same ones.
void expect_graph_like_exact(const Index& index) {
  if (index.kind() != "auto") return;
  Random random(6);
  const Floats query = random_rows(random, 1, failing_dim);
  const SearchResult exact = index.search(query, 1000, {.recall = 1.0});
  const SearchResult beam = index.search(query, 1000, {.ef = 1000});
  EXPECT_TRUE(hits_of(beam, 0) == hits_of(exact, 0)) << "the graph differs from the exact index";
}

struct FailingCall {
  const char* name;
  std::function<void(Index&)> act;
  bool change = true;  // must throw Allocation
};

// Made at their first use alone, so that a call which is repeated allocates nothing for its arguments.
const Floats& fixed_rows(std::size_t rows, std::uint64_t seed) {
  static std::map<std::pair<std::size_t, std::uint64_t>, Floats> all;
  if (const auto found = all.find({rows, seed}); found != all.end()) return found->second;
  Random random(seed);
  return all[{rows, seed}] = random_rows(random, rows, failing_dim);
}
const Ids& ids_from(std::uint64_t first, std::size_t count) {
  static std::map<std::pair<std::uint64_t, std::size_t>, Ids> all;
  if (const auto found = all.find({first, count}); found != all.end()) return found->second;
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = first + i;
  return all[{first, count}] = ids;
}

std::vector<FailingCall> failing_calls() {
  return {
      {"add one", [](Index& index) { static_cast<void>(index.add(fixed_rows(1, 1))); }},
      {"add", [](Index& index) { static_cast<void>(index.add(fixed_rows(30, 1))); }},
      {"add many", [](Index& index) { static_cast<void>(index.add(fixed_rows(300, 2))); }},
      {"add ids", [](Index& index) { index.add(ids_from(500, 20), fixed_rows(20, 3)); }},
      {"add a view",
       [](Index& index) { static_cast<void>(index.add(MatrixView(fixed_rows(12, 4).data(), 5, failing_dim, 10))); }},
      {"upsert", [](Index& index) { index.upsert(ids_from(30, 90), fixed_rows(90, 5)); }},
      {"update", [](Index& index) { index.update(3, fixed_rows(1, 6)); }},
      {"remove", [](Index& index) { static_cast<void>(index.remove(ids_from(10, 5))); }},
      {"remove most", [](Index& index) { static_cast<void>(index.remove(ids_from(0, 75))); }},
      {"compact", [](Index& index) { index.compact(); }},
      {"set_precision",
       [](Index& index) { index.set_precision(index.kind() == "graph" ? Precision::int8 : Precision::bf16); }},
      {"drop_full_precision", [](Index& index) { index.drop_full_precision(); }},
      {"get", [](Index& index) { static_cast<void>(index.get(3)); }, false},
      {"search", [](Index& index) { static_cast<void>(index.search(fixed_rows(3, 7), 10)); }, false},
      {"filtered search",
       [](Index& index) { static_cast<void>(index.search(fixed_rows(1, 8), 4, {.filter = IdFilter::range(5, 40)})); },
       false},
      {"statistics", [](Index& index) { static_cast<void>(index.statistics()); }, false},
      {"explain", [](Index& index) { static_cast<void>(index.explain()); }, false},
      {"save", [](Index& index) { static_cast<void>(file_of(index)); }, false},
  };
}

// One thread, so that every allocation is made by the thread whose allocations fail.
RuntimeOptions one_thread() {
  RuntimeOptions options;
  options.threads = 1;
  return options;
}

class AllocationFailures : public testing::TestWithParam<IndexKind> {
 protected:
  [[nodiscard]] const IndexKind& kind() const { return GetParam(); }

  // 80 vectors, some removed, some replaced.
  std::unique_ptr<Index> first_index() {
    auto index = kind().label == growing_kind.label ? growing_index(failing_dim, Metric::l2, runtime, 70)
                                                    : made(kind(), failing_dim, Metric::l2, runtime);
    index->add(fixed_rows(80, 9));
    index->remove(Ids{7, 9, 11});
    index->upsert(Ids{20, 21}, fixed_rows(2, 10));
    static_cast<void>(index->search(fixed_rows(1, 11), 3));  // what a first search allocates for good
    return index;
  }

  enum class Fault : std::uint8_t { host, host_persistent, device };

  // Runs the call with the fault that `arm` sets and `disarm` removes. Returns whether it threw. The index must then be
  // as before, else as after.
  bool try_call(const FailingCall& call, Index& index, const Contents& before, const Contents& after, Fault fault,
                const std::function<void()>& arm, const std::function<void()>& disarm) {
    bool threw = true;
    std::string text = "std::bad_alloc";
    arm();
    try {
      call.act(index);
      disarm();
      threw = false;
    } catch (const Error& error) {
      disarm();
      text = error.what();
      if (call.change && fault != Fault::device) {
        EXPECT_EQ(describe(error.code()).name, describe(ErrorCode::allocation).name) << text;
      }
    } catch (const std::bad_alloc&) {
      disarm();
      // With no memory at all there is none for a message either.
      EXPECT_TRUE(!call.change || fault == Fault::host_persistent) << "std::bad_alloc instead of Allocation";
    } catch (const std::exception& error) {
      disarm();
      ADD_FAILURE() << "another exception: " << error.what();
    }
    failures_ += threw ? 1U : 0U;
    const Contents now(index);
    const Contents& expected = threw ? before : after;
    EXPECT_EQ(now.size, expected.size) << text;
    EXPECT_TRUE(now.vectors == expected.vectors) << "other vectors after: " << text;
    EXPECT_TRUE(now.answers == expected.answers) << "other answers after: " << text;
    EXPECT_EQ(index.statistics().vectors, now.size);
    expect_graph_like_exact(index);
    return threw;
  }

  struct Expected {
    Contents before;
    Contents after;
  };
  Expected expected_of(const FailingCall& call) {
    const auto index = first_index();
    const Contents before(*index);
    call.act(*index);
    return {before, Contents(*index)};
  }

  static void expect_contents(const Index& index, const Contents& expected) {
    const Contents now(index);
    EXPECT_EQ(now.size, expected.size);
    EXPECT_TRUE(now.vectors == expected.vectors) << "other vectors after the next call";
    EXPECT_TRUE(now.answers == expected.answers) << "other answers after the next call";
  }

  Runtime runtime{one_thread()};
  std::size_t failures_ = 0;
};

// One index goes through the failures of a call until the call succeeds: in a soak through every one, and a new index
// through each of them as well; otherwise through the first ones and ever fewer of the later ones.
TEST_P(AllocationFailures, OfTheHostChangeNothing) {
  const bool soak = std::getenv("VECTIS_TEST_RUNS") != nullptr;
  for (const FailingCall& call : failing_calls()) {
    const Expected expected = expected_of(call);
    for (const Fault fault : {Fault::host, Fault::host_persistent}) {
      for (const bool fresh : {false, true}) {
        if (fresh && !soak) continue;
        auto index = first_index();
        bool more = true;
        for (std::uint32_t nth = 1; more && !HasFailure(); nth += soak ? 1 : 1 + nth / 16) {
          SCOPED_TRACE(std::string(call.name) + ": allocation " + std::to_string(nth) +
                       (fault == Fault::host ? "" : " and all later ones"));
          const bool threw = try_call(
              call, *index, expected.before, expected.after, fault,
              [&] { arm_allocation_fault(nullptr, NewForm::throwing, nth, fault == Fault::host_persistent); },
              [&] { more = disarm_allocation_fault() >= nth; });
          if (threw && fresh) call.act(*index);  // the next call works
          if (threw && fresh) expect_contents(*index, expected.after);
          if (!threw || fresh) index = first_index();
        }
      }
    }
  }
  std::cout << kind().label << ": " << failures_ << " failed allocations of the host\n";
}

TEST_P(AllocationFailures, OfADeviceChangeNothing) {
  if (kind().device == nullptr) GTEST_SKIP() << "it uses the host alone";
  DeviceRegistry& registry = runtime.service<DeviceRegistry>();
  for (const FailingCall& call : failing_calls()) {
    const Expected expected = expected_of(call);
    for (const char* const status : {"allocation", "driver_failure"}) {
      auto index = first_index();
      bool threw = true;
      for (std::uint32_t nth = 1; (threw || nth < 20) && !HasFailure(); ++nth) {  // it may go on without the device
        SCOPED_TRACE(std::string(call.name) + ", " + status + " at call " + std::to_string(nth) + " of the device");
        threw = try_call(
            call, *index, expected.before, expected.after, Fault::device,
            [&] { registry.configure("failing", "fail", "any " + std::to_string(nth) + ' ' + status); },
            [&] { registry.configure("failing", "reset", ""); });
        if (!threw) index = first_index();
      }
    }
  }
  std::cout << kind().label << ": " << failures_ << " failed calls of the device\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, AllocationFailures, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Growing, AllocationFailures, testing::Values(growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
