// Which devices an index may use: chosen, opened and logged when the index is made.
#include "search/device_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>

#include "search/auto_index.hpp"
#include "search/searchers.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"
#include "tests/support/scripted_backend.hpp"
#include "tests/support/seed.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::Floats;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A machine with one GPU, cuda:0, that refuses to make contexts unless a test says otherwise.
class DeviceSetTest : public testing::Test {
 protected:
  DeviceSetTest() {
    cuda.devices = {test::gpu("A")};
    cuda.refusing_contexts = {0};
  }
  RuntimeOptions options() {
    RuntimeOptions made;
    made.os = &os;
    made.log_level = LogLevel::info;
    made.log = [this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      log.push_back(std::string(name(record.level)) + " " + std::string(record.component) + ": " +
                    std::string(record.message));
    };
    return made;
  }

  test::FakeOs os;
  test::Script& cuda = test::ScriptedBackend<0>::install(os, "cuda");
  std::mutex mutex;
  std::vector<std::string> log;
};

TEST_F(DeviceSetTest, AutoLeavesOutAGpuThatCannotBeOpenedWithAWarning) {
  Runtime runtime(options());
  const auto index = make_index("auto", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_TRUE(index->devices().devices.empty());
  EXPECT_EQ(index->devices().labels(), "cpu");
  EXPECT_THAT(index->devices().reason, AllOf(HasSubstr("cuda:0 cannot be used"), HasSubstr("the device is in use")));
  EXPECT_THAT(log, Contains(AllOf(StartsWith("warning search: an index is made without cuda:0 cannot be used"),
                                  HasSubstr("the device is in use"))));
  EXPECT_THAT(log, Contains(StartsWith("info search: an index of kind 'auto' may use cpu: cuda:0 cannot be used")));
  index->add(Floats{1, 2});
  const SearchExplanation found = index->search(Floats{1, 2}, 1).explanation();
  EXPECT_EQ(found.device, "cpu");
  EXPECT_THAT(found.reason, HasSubstr("cuda:0 cannot be used"));
}

TEST_F(DeviceSetTest, AutoLeavesOutAGpuThatCannotBeMeasured) {
  cuda.refusing_contexts.clear();  // but it has no streams
  Runtime runtime(options());
  const auto index = make_index("auto", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_TRUE(index->devices().devices.empty());
  EXPECT_THAT(log, Contains(StartsWith("warning search: an index is made without cuda:0 cannot be used")));
}

// opencl:0 is the same card as cuda:0, opencl:1 another one.
TEST_F(DeviceSetTest, ACardIsUsedThroughTheFirstBackendThatOpensIt) {
  test::ScriptedBackend<1>::install(os, "opencl").devices = {test::gpu("A"), test::gpu("B")};
  for (VectisDeviceInfo* card : {&cuda.devices[0], &test::ScriptedBackend<1>::script.devices[0]}) {
    std::snprintf(card->physical_id, sizeof(card->physical_id), "pci-0000:65:00.0");
  }
  const auto used = [&] {
    Runtime runtime(options());
    std::string labels;
    std::vector<Device> all = runtime.service<DeviceRegistry>().devices();
    std::erase_if(all, [](const Device& device) { return device.backend() == "cpu"; });
    for (const Device& device : detail::usable_devices(runtime, all, false).devices) labels += device.label() + " ";
    return labels;
  };
  EXPECT_EQ(used(), "opencl:0 opencl:1 ") << "cuda:0 makes no contexts";
  EXPECT_THAT(log, Not(Contains(HasSubstr("the same card"))));
  cuda.refusing_contexts.clear();
  EXPECT_EQ(used(), "cuda:0 opencl:1 ");
  EXPECT_THAT(log, Contains("info search: an index is made without opencl:0, the same card as cuda:0"));
}

// The GPU can be opened, but nothing compiles kernels for it.
TEST_F(DeviceSetTest, AutoLeavesOutAGpuThatCanRunNoKernels) {
  cuda.refusing_contexts.clear();
  cuda.devices[0].dialects[0] = '\0';
  Runtime runtime(options());
  const auto index = make_index("auto", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_EQ(index->devices().labels(), "cpu");
  EXPECT_THAT(log, Not(Contains(HasSubstr("cannot be used"))));
  EXPECT_ERROR((void)make_index("gpu", 2, Metric::l2, {.runtime = &runtime}), ErrorCode::backend_creation,
               "cuda:0 can run no kernels");
}

TEST_F(DeviceSetTest, WithoutAGpuNothingIsWarnedAbout) {
  test::FakeOs none;
  RuntimeOptions on_none = options();
  on_none.os = &none;
  Runtime runtime(on_none);
  static_cast<void>(make_index("auto", 2, Metric::l2, {.runtime = &runtime}));
  EXPECT_THAT(log, Not(Contains(StartsWith("warning"))));
  EXPECT_THAT(log, Contains(StartsWith("info search: an index of kind 'auto' may use cpu: no usable GPU")));
}

TEST_F(DeviceSetTest, ANamedDeviceThatCannotBeOpenedIsAnError) {
  Runtime runtime(options());
  for (const char* kind : {"auto", "graph", "gpu"}) {
    EXPECT_ERROR(make_index(kind, 2, Metric::l2, {.device = "cuda", .runtime = &runtime}), ErrorCode::backend_creation,
                 "cuda:0", "the device is in use");
  }
  EXPECT_ERROR(make_index("gpu", 2, Metric::l2, {.runtime = &runtime}), ErrorCode::backend_creation,
               "the device is in use");
  EXPECT_EQ(make_index("flat", 2, Metric::l2, {.runtime = &runtime})->devices().labels(), "cpu");
}

TEST_F(DeviceSetTest, TheSettingNamesTheDeviceOfAutoAndGraph) {
  os.variables["VECTIS_DEVICE"] = "cuda";
  {
    Runtime runtime(options());
    for (const char* kind : {"auto", "graph"}) {
      EXPECT_ERROR(make_index(kind, 2, Metric::l2, {.runtime = &runtime}), ErrorCode::backend_creation,
                   "the device is in use");
    }
  }
  cuda.refusing_contexts.clear();
  Runtime runtime(options());
  const auto exact = make_index("auto", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_EQ(exact->devices().labels(), "cuda:0");
  EXPECT_FALSE(exact->devices().host);
  EXPECT_EQ(exact->devices().reason, "'cuda' was requested by VECTIS_DEVICE");
  EXPECT_EQ(make_index("graph", 2, Metric::l2, {.runtime = &runtime})->devices().devices.front().label(), "cuda:0");
  EXPECT_EQ(make_index("auto", 2, Metric::l2, {.device = "cpu", .runtime = &runtime})->devices().labels(), "cpu");
  EXPECT_ERROR(make_index("auto", 2, Metric::l1, {.runtime = &runtime}), ErrorCode::unsupported, "l1");
}

TEST_F(DeviceSetTest, TheSettingMayNameTheCpu) {
  os.variables["VECTIS_DEVICE"] = "cpu";
  Runtime runtime(options());
  for (const char* kind : {"auto", "graph"}) {
    EXPECT_EQ(make_index(kind, 2, Metric::l2, {.runtime = &runtime})->devices().labels(), "cpu");
  }
  EXPECT_EQ(make_index("auto", 2, Metric::l2, {.runtime = &runtime})->devices().reason,
            "'cpu' was requested by VECTIS_DEVICE");
  EXPECT_THAT(log, Not(Contains(StartsWith("warning"))));
}

TEST_F(DeviceSetTest, GpuTakesTheNextGpuWithAWarning) {
  cuda.devices.push_back(test::gpu("B"));
  Runtime runtime(options());
  const auto index = make_index("gpu", 2, Metric::l2, {.runtime = &runtime});
  EXPECT_EQ(index->devices().labels(), "cuda:1");
  EXPECT_THAT(index->devices().reason, HasSubstr("cuda:0 cannot be used"));
  EXPECT_THAT(log, Contains(StartsWith("warning search: an index is made without cuda:0")));
}

// Also with a device that fails after the index was made.
TEST_F(DeviceSetTest, AutoBuildsGraphsAlthoughADeviceFails) {
  Runtime runtime(options());
  const std::vector<Device> devices = {runtime.service<DeviceRegistry>().find("cuda").value()};
  auto store = std::make_unique<exact::SegmentStore>(runtime.executor(), Metric::l2, 12, Precision::int8);
  auto exact = std::make_unique<exact::ExactIndex>(
      runtime, "auto", std::move(store),
      exact::SearchPlace{exact::make_planned_searcher(runtime, devices, "a test"), {}});
  AutoIndex index(runtime, std::move(exact), nullptr, 0.9, {},
                  AutoRules{.rows_min = 1500, .gain_min = 0, .payback_max = 1e12});
  Random random(test::seed());
  index.add(test::clustered_rows(random, 1600, 12));
  EXPECT_THAT(index.explain(), HasSubstr("with a graph"));
  EXPECT_THAT(log, Contains(AllOf(StartsWith("warning plan: the planner does not choose cuda:0"),
                                  HasSubstr("the device is in use"))));
  const auto warnings = std::ranges::count_if(log, [](const auto& line) { return line.starts_with("warning plan"); });
  EXPECT_THAT(index.search(test::clustered_rows(random, 1, 12), 3).explanation().reason,
              HasSubstr("cuda:0 cannot be used"));
  EXPECT_EQ(warnings, std::ranges::count_if(log, [](const auto& line) { return line.starts_with("warning plan"); }));
}

}  // namespace
}  // namespace vectis
