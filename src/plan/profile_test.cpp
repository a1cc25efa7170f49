#include "vectis/plan/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel/cache/disk_cache.hpp"
#include "plan/profile_bytes.hpp"
#include "tests/support/compiling_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/modeled_device.hpp"
#include "tests/support/seed.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis {
namespace {

using test::FakeOs;
using testing::HasSubstr;

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() { os.variables["VECTIS_CACHE_PATH"] = "/cache"; }

  struct Process {
    explicit Process(FakeOs& os) : runtime(options_for(os)) {}
    static RuntimeOptions options_for(FakeOs& os) {
      RuntimeOptions options;
      options.os = &os;
      options.threads = 1;
      return options;
    }
    Device device(const std::string& name) { return runtime.service<DeviceRegistry>().find(name).value(); }
    Runtime runtime;
  };

  // What a process finds out about the CPU.
  DeviceProfile cpu() {
    Process process(os);
    return profile(process.device("cpu"));
  }
  // Until it is complete, which a busy machine may take more than half a second for.
  DeviceProfile kept_cpu() {
    DeviceProfile found = cpu();
    for (int i = 0; i < 20 && os.files.empty(); ++i) found = cpu();
    EXPECT_EQ(os.files.size(), 1U);
    return found;
  }

  FakeOs os;
};

TEST_F(ProfileTest, IsMeasuredOnceAndKept) {
  const DeviceProfile first = kept_cpu();
  EXPECT_EQ(first.device, "cpu:0");
  EXPECT_GT(first.operations_per_second.fp32, 0);
  EXPECT_EQ(cpu(), first);  // to the last bit of every number: nothing was measured again
  EXPECT_THAT(os.files.begin()->first, HasSubstr("/cache/profiles/"));

  Process process(os);
  const Device device = process.device("cpu");
  EXPECT_EQ(&profile(device), &profile(device));
}

TEST_F(ProfileTest, ADamagedFileIsMeasuredAgain) {
  const DeviceProfile first = kept_cpu();
  std::string& file = os.files.begin()->second;
  const std::string good = file;
  for (const std::size_t place : {std::size_t{3}, good.size() / 2, good.size() - 1}) {
    file = good;
    file[place] = static_cast<char>(file[place] ^ 1);
    EXPECT_NE(cpu(), first);
  }
  file = good.substr(0, good.size() - 9);
  EXPECT_NE(cpu(), first);
  file = good;
  EXPECT_EQ(cpu(), first);
}

TEST_F(ProfileTest, AnotherMachineOrDriverIsMeasuredAgain) {
  const DeviceProfile first = kept_cpu();
  const std::string path = os.files.begin()->first;
  os.total_bytes *= 2;
  EXPECT_NE(cpu(), first);
  os.total_bytes /= 2;
  EXPECT_EQ(cpu(), first);
  os.files["/etc/machine-id"] = "another";
  EXPECT_NE(cpu(), first);
  os.files.erase("/etc/machine-id");
  EXPECT_EQ(cpu(), first);
  // The file of this device, holding what was measured with another driver.
  const auto bytes = detail::encode_cache_entry("vectis\ndriver another", detail::encode_profile(first));
  os.files[path].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_NE(cpu(), first);
}

TEST_F(ProfileTest, NothingIsKeptWhereNothingShallBe) {
  os.variables["VECTIS_CACHE_PATH"] = "off";
  EXPECT_NE(cpu(), cpu());
  EXPECT_TRUE(os.files.empty());
}

TEST_F(ProfileTest, ADeviceThatCannotBeMeasuredIsPassedOver) {
  test::CompilingBackend::install(os);  // its memory cannot be allocated
  Process process(os);
  const Device broken = process.device("cuda");
  std::string message;
  try {
    (void)profile(broken);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_FALSE(message.empty());
  EXPECT_ERROR((void)profile(broken), ErrorCode::unsupported, message);

  const Workload work{.name = "x", .bytes = 1};
  const std::array ways{Placement(broken, work), Placement(process.device("cpu"), work)};
  const Choice choice = planner(process.runtime).choose(ways);
  EXPECT_EQ(choice.index, 1U);
  EXPECT_THAT(choice.candidates[0].excluded, HasSubstr(message));
  EXPECT_THAT(choice.reason, HasSubstr("cpu:0 is the only candidate that may be used"));
  EXPECT_THAT(choice.explain(), HasSubstr("cuda:0 is passed over: " + message));
  EXPECT_ERROR((void)planner(process.runtime).choose(std::array{ways[0]}), ErrorCode::unsupported, message);
}

TEST(ProfileBytes, OnlyMeasurementsAreRead) {
  DeviceProfile profile;
  profile.device = "x:0";
  profile.complete = true;
  profile.launch_seconds = 1;
  profile.to_host = {2, 3};
  profile.operations_per_second = {4, 5, 6, 7};
  const auto bytes = detail::encode_profile(profile);
  EXPECT_EQ(detail::decode_profile(bytes, "x:0"), profile);
  EXPECT_FALSE(detail::decode_profile(std::span(bytes).first(bytes.size() - 1), "x:0").has_value());
  EXPECT_FALSE(detail::decode_profile({}, "x:0").has_value());
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    DeviceProfile wrong = profile;
    wrong.to_device.bytes_per_second = bad;
    EXPECT_FALSE(detail::decode_profile(detail::encode_profile(wrong), "x:0").has_value());
  }
}

TEST(Calibration, FindsTheLawOfAModeledDevice) {
  test::CostLaw law{.name = "model", .launch_seconds = 2e-5, .compile_seconds = 0.1};
  law.to_device = {1e-5, 1.2e10};
  law.to_host = {2e-5, 6e9};
  const DeviceProfile found = test::ModeledDevice(law, test::seed()).profile();
  EXPECT_TRUE(found.complete);
  EXPECT_LT(found.calibration_seconds, 0.5);
  EXPECT_NEAR(found.launch_seconds / law.launch_seconds, 1, 0.1);
  EXPECT_NEAR(found.compile_seconds / law.compile_seconds, 1, 0.2);
  EXPECT_NEAR(found.to_device.bytes_per_second / 1.2e10, 1, 0.1);
  EXPECT_NEAR(found.to_host.bytes_per_second / 6e9, 1, 0.1);
  EXPECT_NEAR(found.to_host.call_seconds / 2e-5, 1, 0.15);
  EXPECT_NEAR(found.memory_bytes_per_second / law.bytes_per_second, 1, 0.25);
  EXPECT_NEAR(found.operations_per_second.fp32 / law.operations_per_second.fp32, 1, 0.25);
  EXPECT_NEAR(found.operations_per_second.int8 / law.operations_per_second.int8, 1, 0.4);
}

TEST(Calibration, OfASlowCompilerStopsInTime) {
  test::CostLaw law{.name = "slow", .compile_seconds = 0.4};
  const DeviceProfile found = test::ModeledDevice(law, test::seed()).profile();
  EXPECT_FALSE(found.complete);
  EXPECT_GT(found.operations_per_second.fp32, 0);
  EXPECT_EQ(found.operations_per_second.fp16, 0);
  EXPECT_LT(found.calibration_seconds, 0.6);
}

}  // namespace
}  // namespace vectis
