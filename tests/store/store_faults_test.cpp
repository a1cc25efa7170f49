// Every call of a device fails once, in every operation: the store is as it was before, or as it is after.
#include <functional>
#include <iostream>

#include "tests/store/fixture.hpp"

namespace vectis::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t fault_dim = 6;
constexpr std::size_t first_rows = 40;

// A collection on the failing device beside its oracle.
class FaultScene {
 public:
  explicit FaultScene(Metric distance) : truth(fault_dim, distance), store(*runtime), random(seed()) {
    reset();
    store.create_collection("c", {.dim = fault_dim, .metric = distance, .index = "gpu", .device = "failing"});
    put(numbered(0, first_rows), true);
    (void)collection().search(random_rows(random, 1, fault_dim), 3);
    runtime.take_log();
  }

  [[nodiscard]] Collection collection() { return store.collection("c"); }
  static Ids numbered(std::uint64_t first, std::size_t count) {
    Ids ids(count);
    for (std::size_t i = 0; i < count; ++i) ids[i] = first + i;
    return ids;
  }
  void put(const Ids& ids, bool is_new) {
    const Floats numbers = random_rows(random, ids.size(), fault_dim);
    is_new ? collection().add(ids, numbers) : collection().upsert(ids, numbers);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      truth.put(ids[i], std::span(numbers).subspan(i * fault_dim, fault_dim));
    }
  }

  void fail(std::size_t call, const std::string& status) {
    runtime.registry().configure("failing", "fail", "any " + std::to_string(call) + " " + status);
  }
  void reset() { runtime.registry().configure("failing", "reset", ""); }
  // How many calls of a fault that waits for `most` are still to come: they are made until it comes.
  std::size_t calls_left(std::size_t most) {
    const Device device = runtime.registry().find("failing").value();
    for (std::size_t calls = 1; calls <= most; ++calls) {
      try {
        if (!device.memory()) return calls;
      } catch (const Error&) {
        return calls;
      }
    }
    return 0;  // it came before
  }

  LoggedRuntime runtime;
  BruteForce truth;
  VectorStore store;
  Random random;
};

struct Operation {
  const char* name;
  std::function<void(FaultScene&)> act;  // changes store, then truth
};

std::vector<Operation> operations() {
  return {
      {"insert", [](FaultScene& scene) { scene.put(FaultScene::numbered(100, 200), true); }},
      {"upsert", [](FaultScene& scene) { scene.put(FaultScene::numbered(20, 90), false); }},
      {"erase",
       [](FaultScene& scene) {
         const Ids ids = FaultScene::numbered(5, 30);
         EXPECT_EQ(scene.collection().remove(ids), 30U);
         for (const std::uint64_t id : ids) scene.truth.remove(id);
       }},
      {"search",
       [](FaultScene& scene) {
         scene.put({500, 501}, true);  // so that something has to go to the device again
         const Floats queries = random_rows(scene.random, 5, fault_dim);
         const SearchResult found = scene.collection().search(queries, 7);
         for (std::size_t i = 0; i < 5; ++i) {  // a failure that was survived changed no answer
           EXPECT_EQ(hits_of(found, i), scene.truth.search(std::span(queries).subspan(i * fault_dim, fault_dim), 7));
         }
       }},
      {"save", [](FaultScene& scene) { (void)saved(scene.store); }},
      {"create",
       [](FaultScene& scene) {
         scene.store.create_collection("d", {.dim = 2, .index = "gpu", .device = "failing"}).add(Floats{1, 2});
       }},
  };
}

// How many calls of the device the operation makes when all goes well.
std::size_t calls_of(const Operation& operation, Metric distance) {
  constexpr std::size_t many = 5000;
  FaultScene scene(distance);
  scene.fail(many, "driver_failure");
  operation.act(scene);
  const std::size_t left = scene.calls_left(many);
  scene.reset();
  return many - left;
}

// One failing call. Says whether the operation failed with it.
bool try_fault(const Operation& operation, Metric distance, std::size_t call, const std::string& status) {
  FaultScene scene(distance);
  scene.fail(call, status);
  bool failed = false;
  try {
    operation.act(scene);
  } catch (const Error& error) {
    failed = true;
    EXPECT_THAT(error.what(), HasSubstr("failing"));
  }
  EXPECT_EQ(scene.calls_left(call), 0U) << "the fault was not met";
  scene.reset();
  if (failed && operation.name == std::string("search")) {
    EXPECT_THAT(scene.runtime.take_log(), Contains(AllOf(StartsWith("error store: a search in collection 'c' failed"),
                                                         HasSubstr("backend failing"))));
  }
  expect_collection(scene.collection(), scene.truth, random_rows(scene.random, 2, fault_dim), 9);
  return failed;
}

TEST(StoreFaults, EveryFailureAtEveryCallLeavesTheStoreConsistent) {
  for (const Operation& operation : operations()) {
    int points = 0;
    int errors = 0;
    for (const Metric distance : {Metric::l2, Metric::cosine}) {
      const std::size_t calls = calls_of(operation, distance);
      for (const char* const status : {"driver_failure", "allocation", "invalid_input", "unsupported"}) {
        for (std::size_t call = 1; call <= calls; ++call, ++points) {
          SCOPED_TRACE(std::string(operation.name) + ", call " + std::to_string(call) + " says " + status);
          errors += static_cast<int>(try_fault(operation, distance, call, status));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
    std::cout << operation.name << ": " << points << " failures of the device, " << errors
              << " of them errors of the operation; the store agrees with the model after each\n";
  }
}

TEST(StoreFaults, ADeviceLostAtAnyCallLosesNoVector) {
  std::size_t points = 0;
  for (const Operation& operation : operations()) {
    const std::size_t calls = calls_of(operation, Metric::l2);
    for (std::size_t call = 1; call <= calls; ++call, ++points) {
      SCOPED_TRACE(std::string(operation.name) + ", lost at call " + std::to_string(call));
      FaultScene scene(Metric::l2);
      const Floats queries = random_rows(scene.random, 2, fault_dim);
      scene.runtime.registry().configure("failing", "lose", std::to_string(call));
      try {
        operation.act(scene);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
      }
      EXPECT_ERROR((void)scene.collection().search(queries, 9), ErrorCode::device_lost, "failing");
      ASSERT_EQ(scene.collection().size(), scene.truth.rows().size());
      for (const auto& [id, vector] : scene.truth.rows()) ASSERT_EQ(scene.collection().get(id), vector);
      const Bytes file = saved(scene.store);
      scene.reset();
      LoggedRuntime next;
      MemoryReader reader(file);
      const VectorStore again = VectorStore::load(reader, *next);
      expect_collection(again.collection("c"), scene.truth, queries, 9);
      if (testing::Test::HasFailure()) return;
    }
  }
  std::cout << points << " calls at which the device was lost; every vector is still there\n";
}

}  // namespace
}  // namespace vectis::test
