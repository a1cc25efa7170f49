// Lets each call of a device fail once during each operation, and compares the store with its model afterwards.
#include <functional>
#include <iostream>
#include <utility>

#include "tests/store/fixture.hpp"

namespace vectis::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t fault_dim = 6;
constexpr std::size_t first_rows = 40;

// A collection on the failing device, and its model.
class FaultFixture {
 public:
  explicit FaultFixture(Metric metric) : model(fault_dim, metric), store(*runtime), random(seed()) {
    reset();
    store.create_collection("c", {.dim = fault_dim, .metric = metric, .index = "gpu", .device = "failing"});
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
    const Floats values = random_rows(random, ids.size(), fault_dim);
    is_new ? collection().add(ids, values) : collection().upsert(ids, values);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      model.put(ids[i], std::span(values).subspan(i * fault_dim, fault_dim));
    }
  }

  void fail(std::size_t call, const std::string& status) {
    runtime.registry().configure("failing", "fail", "any " + std::to_string(call) + " " + status);
  }
  void reset() { runtime.registry().configure("failing", "reset", ""); }
  // Returns how many calls are left until a fault at call `max_calls` occurs, by making calls until it does; 0: it
  // occurred.
  std::size_t calls_left(std::size_t max_calls) {
    const Device device = runtime.registry().find("failing").value();
    for (std::size_t calls = 1; calls <= max_calls; ++calls) {
      try {
        if (!device.memory()) return calls;
      } catch (const Error&) {
        return calls;
      }
    }
    return 0;  // the fault occurred before
  }

  LoggedRuntime runtime;
  BruteForce model;
  VectorStore store;
  Random random;
};

struct Operation {
  const char* name;
  std::function<void(FaultFixture&)> act;  // changes the store, then the model
};

std::vector<Operation> operations() {
  return {
      {"insert", [](FaultFixture& fixture) { fixture.put(FaultFixture::numbered(100, 200), true); }},
      {"upsert", [](FaultFixture& fixture) { fixture.put(FaultFixture::numbered(20, 90), false); }},
      {"erase",
       [](FaultFixture& fixture) {
         const Ids ids = FaultFixture::numbered(5, 30);
         EXPECT_EQ(fixture.collection().remove(ids), 30U);
         for (const std::uint64_t id : ids) fixture.model.remove(id);
       }},
      {"search",
       [](FaultFixture& fixture) {
         fixture.put({500, 501}, true);  // so that vectors must be copied to the device again
         const Floats queries = random_rows(fixture.random, 5, fault_dim);
         const SearchResult found = fixture.collection().search(queries, 7);
         for (std::size_t i = 0; i < 5; ++i) {  // a failure that was handled changed no result
           EXPECT_EQ(hits_of(found, i), fixture.model.search(std::span(queries).subspan(i * fault_dim, fault_dim), 7));
         }
       }},
      {"save", [](FaultFixture& fixture) { (void)saved(fixture.store); }},
      {"create",
       [](FaultFixture& fixture) {
         fixture.store.create_collection("d", {.dim = 2, .index = "gpu", .device = "failing"}).add(Floats{1, 2});
       }},
  };
}

// Returns the number of device calls of the operation without faults.
std::size_t calls_of(const Operation& operation, Metric metric) {
  constexpr std::size_t many = 5000;
  FaultFixture fixture(metric);
  fixture.fail(many, "driver_failure");
  operation.act(fixture);
  const std::size_t left = fixture.calls_left(many);
  fixture.reset();
  return many - left;
}

// Lets one call fail. Returns whether the operation failed.
bool try_fault(const Operation& operation, Metric metric, std::size_t call, const std::string& status) {
  FaultFixture fixture(metric);
  fixture.fail(call, status);
  bool failed = false;
  try {
    operation.act(fixture);
  } catch (const Error& error) {
    failed = true;
    EXPECT_THAT(error.what(), HasSubstr("failing"));
  }
  EXPECT_EQ(fixture.calls_left(call), 0U) << "the fault did not occur";
  fixture.reset();
  if (failed && operation.name == std::string("search")) {
    EXPECT_THAT(fixture.runtime.take_log(), Contains(AllOf(StartsWith("error store: a search in collection 'c' failed"),
                                                           HasSubstr("backend failing"))));
  }
  expect_collection(fixture.collection(), fixture.model, random_rows(fixture.random, 2, fault_dim), 9);
  return failed;
}

TEST(StoreFaults, StoreIsConsistentAfterEveryFault) {
  for (const Operation& operation : operations()) {
    int points = 0;
    int errors = 0;
    for (const Metric metric : {Metric::l2, Metric::cosine}) {
      const std::size_t calls = calls_of(operation, metric);
      for (const char* const status : {"driver_failure", "allocation", "invalid_input", "unsupported"}) {
        for (std::size_t call = 1; call <= calls; ++call, ++points) {
          SCOPED_TRACE(std::string(operation.name) + ", call " + std::to_string(call) + " says " + status);
          errors += static_cast<int>(try_fault(operation, metric, call, status));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
    std::cout << operation.name << ": " << points << " device failures, " << errors
              << " of them errors of the operation; the store agrees with its model after each\n";
  }
}

TEST(StoreFaults, LosesNoVectorWithTheDevice) {
  std::size_t points = 0;
  for (const Operation& operation : operations()) {
    const std::size_t calls = calls_of(operation, Metric::l2);
    for (std::size_t call = 1; call <= calls; ++call, ++points) {
      SCOPED_TRACE(std::string(operation.name) + ", lost at call " + std::to_string(call));
      FaultFixture fixture(Metric::l2);
      const Floats queries = random_rows(fixture.random, 2, fault_dim);
      fixture.runtime.registry().configure("failing", "lose", std::to_string(call));
      try {
        operation.act(fixture);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
      }
      EXPECT_ERROR((void)fixture.collection().search(queries, 9), ErrorCode::device_lost, "failing");
      EXPECT_THAT(fixture.collection().metadata().reason, HasSubstr("failing:0 was lost: searches on it fail"));
      ASSERT_EQ(fixture.collection().size(), fixture.model.rows().size());
      for (const auto& [id, vector] : fixture.model.rows()) ASSERT_EQ(fixture.collection().get(id), vector);
      const Bytes file = saved(fixture.store);
      fixture.reset();
      LoggedRuntime next;
      MemoryReader reader(file);
      const VectorStore again = VectorStore::load(reader, *next);
      expect_collection(again.collection("c"), fixture.model, queries, 9);
      if (testing::Test::HasFailure()) return;
    }
  }
  std::cout << points << " calls at which the device was lost; no vector was lost\n";
}

// Errors of the device are logged by what threw them, not by their words.
TEST(StoreFaults, LogsErrorsOfTheDeviceAndNotOfTheCaller) {
  LoggedRuntime runtime;
  VectorStore store(*runtime);
  Collection graph = store.create_collection("c", {.dim = fault_dim, .index = "graph", .device = "failing"});
  Random random(seed());
  graph.add(random_rows(random, 1500, fault_dim));
  const Floats query = random_rows(random, 1, fault_dim);
  const std::string label = runtime.registry().find("failing").value().label();
  runtime.take_log();
  const auto rejects = [&](std::uint64_t /*id*/) -> bool {
    throw Error(ErrorCode::invalid_input, "predicate", "the caller knows nothing of " + label);
  };
  EXPECT_ERROR((void)graph.search(query, 3, {.filter = IdFilter::predicate(rejects)}), ErrorCode::invalid_input,
               "the caller knows");
  EXPECT_THAT(runtime.take_log(), testing::IsEmpty());
  for (const auto& [status, code] :
       {std::pair("invalid_input", ErrorCode::invalid_input), std::pair("unsupported", ErrorCode::unsupported),
        std::pair("driver_failure", ErrorCode::driver_failure)}) {
    SCOPED_TRACE(status);
    runtime.registry().configure("failing", "fail", std::string("copy_to_device 1 ") + status);
    EXPECT_ERROR((void)graph.search(query, 3, {.ef = 10}), code, "failing");
    EXPECT_THAT(runtime.take_log(), Contains(StartsWith("error store: a search in collection 'c' failed")));
    runtime.registry().configure("failing", "reset", "");
  }
}

}  // namespace
}  // namespace vectis::test
