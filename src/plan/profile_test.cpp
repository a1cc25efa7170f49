#include "vectis/plan/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "kernel/cache/disk_cache.hpp"
#include "plan/profile_store.hpp"
#include "tests/support/compiling_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/simulated_device.hpp"
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
    explicit Process(FakeOs& os) : runtime(test::options_on(os)) {}
    Device device(const std::string& name) { return runtime.service<DeviceRegistry>().find(name).value(); }
    Runtime runtime;
  };

  // The profile of the CPU as a new process sees it.
  DeviceProfile cpu() {
    Process process(os);
    return profile(process.device("cpu"));
  }
  // Retries until the profile is complete and stored: a busy machine may exceed the time budget.
  DeviceProfile stored_cpu() {
    DeviceProfile found = cpu();
    for (int i = 0; i < 20 && os.files.empty(); ++i) found = cpu();
    if (os.files.size() != 1) throw std::runtime_error("the profile was never stored: the machine is too busy");
    return found;
  }

  FakeOs os;
};

TEST_F(ProfileTest, IsMeasuredOnceAndStored) {
  const DeviceProfile first = stored_cpu();
  EXPECT_EQ(first.device, "cpu:0");
  EXPECT_GT(first.operations_per_second.fp32, 0);
  EXPECT_EQ(cpu(), first);  // to the last bit of every number: nothing was measured again
  EXPECT_THAT(os.files.begin()->first, HasSubstr("/cache/profiles/"));

  Process process(os);
  const Device device = process.device("cpu");
  EXPECT_EQ(&profile(device), &profile(device));
}

TEST_F(ProfileTest, ACorruptFileIsMeasuredAgain) {
  const DeviceProfile first = stored_cpu();
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
  const DeviceProfile first = stored_cpu();
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

TEST_F(ProfileTest, NothingIsStoredWhenTheCacheIsOff) {
  os.variables["VECTIS_CACHE_PATH"] = "off";
  EXPECT_NE(cpu(), cpu());
  EXPECT_TRUE(os.files.empty());
}

// Replaces the payload of the one stored file, keeping its key.
void replace_payload(FakeOs& os, const DeviceProfile& profile) {
  std::string& file = os.files.begin()->second;
  std::uint64_t key_bytes = 0;
  std::memcpy(&key_bytes, file.data() + 12, sizeof(key_bytes));  // after magic and version
  const auto bytes = detail::encode_cache_entry(file.substr(20, key_bytes), detail::encode_profile(profile));
  file.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TEST_F(ProfileTest, AProfileMeasuredOnABusyMachineIsMeasuredAgain) {
  DeviceProfile busy = stored_cpu();
  EXPECT_EQ(busy.measurements, 1U);
  EXPECT_EQ(busy.measured_at, os.now_seconds);
  busy.launch_seconds *= 1000;
  busy.operations_per_second.fp32 /= 1000;
  const double impossible_rate = busy.memory_bytes_per_second *= 1000;
  replace_payload(os, busy);

  os.now_seconds += 599;  // the machine may still be busy
  EXPECT_EQ(cpu(), busy);
  os.now_seconds += 1;
  DeviceProfile again = cpu();
  for (int i = 0; i < 20 && cpu() != again; ++i) again = cpu();  // until complete, and with that stored
  EXPECT_LT(again.launch_seconds, busy.launch_seconds);
  EXPECT_GT(again.operations_per_second.fp32, busy.operations_per_second.fp32);
  EXPECT_EQ(again.memory_bytes_per_second, impossible_rate) << "the better value is kept";
  EXPECT_EQ(again.measurements, 2U);
  EXPECT_EQ(again.measured_at, os.now_seconds);
}

TEST_F(ProfileTest, ThreeMeasurementsAreEnoughForAMonth) {
  constexpr std::int64_t day = 86'400;
  DeviceProfile confirmed = stored_cpu();
  confirmed.measurements = 3;
  confirmed.launch_seconds = 1000;  // recognizable
  replace_payload(os, confirmed);
  os.now_seconds += 30 * day;
  EXPECT_EQ(cpu(), confirmed);
  os.now_seconds += 1;
  EXPECT_LT(cpu().launch_seconds, 1) << "replaced, not combined";
}

TEST_F(ProfileTest, RecalibratingCombinesAndStores) {
  DeviceProfile slow = stored_cpu();
  slow.launch_seconds = 1000;
  replace_payload(os, slow);
  DeviceProfile found;
  for (int i = 0; i < 20 && cpu() == slow; ++i) {
    Process process(os);
    found = recalibrate(process.device("cpu"));
  }
  EXPECT_LT(found.launch_seconds, 1);
  EXPECT_EQ(found.measurements, 2U);
  EXPECT_EQ(cpu(), found);
}

TEST(ProfileStore, CombinesTheBestOfTwo) {
  DeviceProfile older;
  older.launch_seconds = 1;
  older.to_host = {2, 30};
  older.operations_per_second = {4, 0, 6, 7};
  older.measurements = 2;
  DeviceProfile newer = older;
  newer.launch_seconds = 2;
  newer.to_host = {1, 40};
  newer.operations_per_second = {3, 5, 6, 8};
  newer.measurements = 1;
  newer.measured_at = 50;
  const DeviceProfile best = detail::combine_best(older, newer);
  EXPECT_EQ(best.launch_seconds, 1);
  EXPECT_EQ(best.to_host, (CopySpeed{1, 40}));
  EXPECT_EQ(best.operations_per_second, (ByPrecision{4, 5, 6, 8}));
  EXPECT_EQ(best.measurements, 3U);
  EXPECT_EQ(best.measured_at, 50);
  EXPECT_EQ(detail::age_of(best, 49), detail::ProfileAge::expired) << "the clock was set back";
}

TEST_F(ProfileTest, ADeviceThatCannotBeCalibratedIsExcluded) {
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
  EXPECT_THAT(choice.reason, HasSubstr("cpu:0 is the only usable candidate"));
  EXPECT_THAT(choice.explain(), HasSubstr("cuda:0 is excluded: " + message));
  EXPECT_ERROR((void)planner(process.runtime).choose(std::array{ways[0]}), ErrorCode::unsupported, message);
}

TEST_F(ProfileTest, ADeviceThatCannotBeCalibratedIsTriedAgainLater) {
  test::CompilingBackend::install(os);
  Process process(os);
  const Device broken = process.device("cuda");
  const auto tries = [&] {
    const int before = test::CompilingBackend::counters.contexts_made;
    EXPECT_THROW((void)profile(broken), Error);
    return test::CompilingBackend::counters.contexts_made - before;
  };
  EXPECT_EQ(tries(), 1);
  EXPECT_EQ(tries(), 0);
  os.now_seconds += 59;
  EXPECT_EQ(tries(), 0);
  os.now_seconds += 1;
  EXPECT_EQ(tries(), 1);
  os.now_seconds -= 1000;  // the clock was set back
  EXPECT_EQ(tries(), 1);
}

TEST(ProfileStore, RoundTripsAndRejectsInvalidValues) {
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

TEST(Calibration, MeasuresASimulatedDevice) {
  test::CostLaw law{.name = "model", .launch_seconds = 2e-5, .compile_seconds = 0.1};
  law.to_device = {1e-5, 1.2e10};
  law.to_host = {2e-5, 6e9};
  // One measurement of a hundred takes three times as long, and a rate is the difference of two: the median of five
  // calibrations is not disturbed.
  std::array<DeviceProfile, 5> profiles;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    profiles[i] = test::SimulatedDevice(law, test::seed() + i).profile();
  }
  const auto median = [&](const auto& value_of) {
    std::array<double, profiles.size()> values{};
    std::ranges::transform(profiles, values.begin(), value_of);
    std::ranges::nth_element(values, values.begin() + values.size() / 2);
    return values[values.size() / 2];
  };
  using Profile = DeviceProfile;
  EXPECT_EQ(median([](const Profile& p) { return p.complete ? 1.0 : 0.0; }), 1) << "a slow compiler may end one early";
  EXPECT_LT(median([](const Profile& p) { return p.calibration_seconds; }), 0.5);
  EXPECT_NEAR(median([](const Profile& p) { return p.launch_seconds; }) / law.launch_seconds, 1, 0.1);
  EXPECT_NEAR(median([](const Profile& p) { return p.compile_seconds; }) / law.compile_seconds, 1, 0.2);
  EXPECT_NEAR(median([](const Profile& p) { return p.to_device.bytes_per_second; }) / 1.2e10, 1, 0.1);
  EXPECT_NEAR(median([](const Profile& p) { return p.to_host.bytes_per_second; }) / 6e9, 1, 0.1);
  EXPECT_NEAR(median([](const Profile& p) { return p.to_host.call_seconds; }) / 2e-5, 1, 0.15);
  EXPECT_NEAR(median([](const Profile& p) { return p.memory_bytes_per_second; }) / law.bytes_per_second, 1, 0.25);
  const auto& operations = law.operations_per_second;
  EXPECT_NEAR(median([](const Profile& p) { return p.operations_per_second.fp32; }) / operations.fp32, 1, 0.25);
  EXPECT_NEAR(median([](const Profile& p) { return p.operations_per_second.int8; }) / operations.int8, 1, 0.4);
}

TEST(Calibration, OfASlowCompilerStopsInTime) {
  test::CostLaw law{.name = "slow", .compile_seconds = 0.4, .hiccups = 0};
  const DeviceProfile found = test::SimulatedDevice(law, test::seed()).profile();
  EXPECT_FALSE(found.complete);
  EXPECT_GT(found.operations_per_second.fp32, 0);
  EXPECT_EQ(found.operations_per_second.fp16, 0);
  EXPECT_LT(found.calibration_seconds, 0.6);
}

}  // namespace
}  // namespace vectis
