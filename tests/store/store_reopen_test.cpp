// Loading a store with and without the devices of its collections.
#include "tests/store/fixture.hpp"

#if defined(VECTIS_HAS_OPENCL)

namespace vectis::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t reopen_dim = 12;

class StoreReopen : public testing::Test {
 protected:
  VectorStore filled(Runtime& runtime, const std::string& index, const std::string& device) {
    VectorStore store(runtime);
    Collection made = store.create_collection("c", {.dim = reopen_dim, .index = index, .device = device});
    const Floats values = random_rows(random, 300, reopen_dim);
    made.add(values);
    model.put_all(0, values);
    return store;
  }
  static VectorStore opened(const Bytes& file, Runtime& runtime) {
    MemoryReader reader(file);
    return VectorStore::load(reader, runtime);
  }
  void expect_all(const VectorStore& store) {
    expect_collection(store.collection("c"), model, random_rows(random, 3, reopen_dim), 6);
  }

  Random random{seed()};
  BruteForce model{reopen_dim, Metric::l2};
};

TEST_F(StoreReopen, UsesTheRecordedDevice) {
  for (const char* const index : {"gpu", "auto"}) {
    LoggedRuntime runtime;
    const VectorStore store = filled(*runtime, index, "opencl:0");
    const CollectionMetadata before = store.collection("c").metadata();
    EXPECT_EQ(before.gpu_backend, "opencl");
    EXPECT_GT(before.gpu_memory_total.value(), 0U);
    const std::string labels = index == std::string("auto") ? "cpu, opencl:0" : "opencl:0";
    EXPECT_EQ(before.device, labels);
    EXPECT_THAT(runtime.take_log(), Contains(HasSubstr("info store: collection 'c' is searched on " + labels + ": ")));
    LoggedRuntime next;
    const VectorStore again = opened(saved(store), *next);
    const CollectionMetadata after = again.collection("c").metadata();
    EXPECT_EQ(after.gpu_backend, "opencl");
    EXPECT_EQ(after.gpu_device, before.gpu_device);
    EXPECT_EQ(after.reason, before.reason);
    EXPECT_THAT(next.take_log(), Not(Contains(HasSubstr("warning store"))));
    expect_all(again);
  }
}

TEST_F(StoreReopen, UsesTheCpuWithoutTheRecordedDeviceAndKeepsTheRecord) {
  const std::pair<const char*, Settings::Values> cases[] = {{"failing:0", {{"backend_path", computing_backends()}}},
                                                            {"opencl:0", {{"gpu.enabled", "false"}}}};
  for (const auto& [device, settings] : cases) {
    for (const char* const index : {"gpu", "auto"}) {
      SCOPED_TRACE(std::string(device) + " " + index);
      LoggedRuntime runtime;
      const VectorStore store = filled(*runtime, index, device);
      const Bytes file = saved(store);
      LoggedRuntime without(settings);
      const VectorStore again = opened(file, *without);
      EXPECT_THAT(without.take_log(), Contains(AllOf(HasSubstr("warning store: collection 'c' is searched on the CPU"),
                                                     HasSubstr(device))));
      const CollectionMetadata metadata = again.collection("c").metadata();
      EXPECT_EQ(metadata.gpu_backend, std::nullopt);
      EXPECT_EQ(metadata.device, "cpu");
      EXPECT_THAT(metadata.reason, HasSubstr("cannot be used"));
      EXPECT_EQ(metadata.config.device, device);
      expect_all(again);
      EXPECT_EQ(saved(again), file);
      LoggedRuntime back;
      EXPECT_THAT(opened(saved(again), *back).collection("c").metadata().device, testing::EndsWith(device));
    }
  }
}

// A device that exists but fails: left out of an `auto` collection with a warning, and reported as it is.
TEST_F(StoreReopen, LeavesOutADeviceThatCannotBeOpened) {
  LoggedRuntime runtime(
      {{"gpu.allow_software", "true"}, {"backends.failing.fail", "context_create 1 backend_creation"}});
  VectorStore store(*runtime);
  const Collection made = store.create_collection("c", {.dim = reopen_dim});
  const CollectionMetadata metadata = made.metadata();
  EXPECT_EQ(metadata.gpu_backend, "opencl");
  EXPECT_THAT(metadata.device, AllOf(HasSubstr("cpu, opencl:0"), Not(HasSubstr("failing"))));
  EXPECT_THAT(metadata.reason, HasSubstr("failing:0 cannot be used"));
  EXPECT_THAT(runtime.take_log(),
              Contains(AllOf(HasSubstr("warning search: an index is made without failing:0"), HasSubstr("injected"))));
}

TEST_F(StoreReopen, UsesTheCpuWhenTheRecordedDeviceCannotBeOpened) {
  for (const char* const index : {"gpu", "auto", "graph"}) {
    SCOPED_TRACE(index);
    LoggedRuntime runtime;
    const Bytes file = saved(filled(*runtime, index, "failing:0"));
    LoggedRuntime broken(Settings::Values{{"backends.failing.fail", "context_create 1 backend_creation"}});
    const VectorStore again = opened(file, *broken);
    EXPECT_EQ(again.collection("c").metadata().device, "cpu");
    EXPECT_EQ(again.collection("c").metadata().gpu_memory_used, std::nullopt);
    EXPECT_THAT(broken.take_log(), Contains(AllOf(HasSubstr("warning store: collection 'c' is searched on the CPU"),
                                                  HasSubstr("injected"))));
    model = BruteForce{reopen_dim, Metric::l2};
  }
}

TEST_F(StoreReopen, TheSettingReplacesARecordedDeviceThatNobodyNamed) {
  LoggedRuntime runtime(Settings::Values{{"device", "failing"}});
  VectorStore store(*runtime);
  Collection made = store.create_collection("c", {.dim = reopen_dim});
  EXPECT_EQ(made.metadata().device, "failing:0");
  EXPECT_EQ(made.metadata().reason, "'failing' was requested by api");
  made.add(random_rows(random, 300, reopen_dim));
  const Bytes file = saved(store);
  LoggedRuntime next(Settings::Values{{"device", "cpu"}});
  EXPECT_EQ(opened(file, *next).collection("c").metadata().device, "cpu");
  LoggedRuntime same(Settings::Values{{"device", "failing"}});
  EXPECT_EQ(opened(file, *same).collection("c").metadata().device, "failing:0");
}

TEST_F(StoreReopen, DoesNotUseAnotherDeviceOfTheSameLabel) {
  LoggedRuntime runtime;
  const VectorStore store = filled(*runtime, "gpu", "opencl:0");
  Bytes file = saved(store);
  const std::string name = store.collection("c").metadata().gpu_device.value();
  // Replaces the name in the record by another of the same length, and corrects the checksum.
  const std::string other(name.size(), '?');
  auto at = std::search(file.begin(), file.end(), std::as_bytes(std::span(name)).begin(),
                        std::as_bytes(std::span(name)).end());
  ASSERT_NE(at, file.end());
  std::ranges::copy(std::as_bytes(std::span(other)), at);
  constexpr std::size_t record_begin = 8 + 4 + 24 + 8;
  const auto record_end = static_cast<std::size_t>(at - file.begin()) + name.size();
  const std::uint64_t sum = checksum(std::span(file).subspan(record_begin, record_end - record_begin));
  std::ranges::copy(std::as_bytes(std::span(&sum, 1)), file.begin() + static_cast<std::ptrdiff_t>(record_end));
  const VectorStore again = opened(file, *runtime);
  EXPECT_EQ(again.collection("c").metadata().device, "cpu");
  EXPECT_THAT(again.collection("c").metadata().reason, HasSubstr("backend opencl has no device named '??"));
  expect_all(again);
}

TEST_F(StoreReopen, RejectsADeviceForTheKindFlat) {
  LoggedRuntime runtime;
  VectorStore store(*runtime);
  EXPECT_ERROR(store.create_collection("c", {.dim = 2, .index = "flat", .device = "opencl:0"}), ErrorCode::unsupported,
               "'flat' searches on the host", "'opencl:0' was requested");
  EXPECT_TRUE(store.list_collections().empty());
}

}  // namespace
}  // namespace vectis::test

#endif
