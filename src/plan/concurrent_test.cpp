#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan.hpp"

namespace vectis {
namespace {

constexpr std::size_t threads = 4;

template <class Body>
void in_threads(const Body& body) {
  std::vector<std::thread> all;
  all.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) all.emplace_back([&body, i] { body(i); });
  for (std::thread& one : all) one.join();
}

class PlannerConcurrent : public testing::Test {
 protected:
  PlannerConcurrent() {
    os.variables["VECTIS_CACHE_PATH"] = "/cache";
    runtime.emplace(test::options_on(os));
  }
  test::FakeOs os;
  std::optional<Runtime> runtime;
};

TEST_F(PlannerConcurrent, ManyChooseAndRecordAtOnce) {
  constexpr int rounds = 300;
  std::array<DeviceProfile, 2> profiles;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    profiles[i].device = i == 0 ? "a" : "b";
    profiles[i].launch_seconds = 1e-5;
    profiles[i].memory_bytes_per_second = 1e9;
  }
  Planner& plan = planner(*runtime);
  in_threads([&](std::size_t thread) {
    for (int i = 0; i < rounds; ++i) {
      const double bytes = 1e3 * (1 + (i * 7 + static_cast<int>(thread)) % 50);
      const Workload work{.name = thread % 2 == 0 ? "even" : "odd", .bytes = bytes};
      const std::array ways{Placement(profiles[0], work), Placement(profiles[1], work)};
      const Choice choice = plan.choose(ways);
      plan.record(ways[choice.index], (choice.index == 0 ? 2 : 1) * (1e-5 + bytes / 1e9));
      plan.record(ways[0], 2 * (1e-5 + bytes / 1e9));
    }
  });
  const Workload work{.name = "even", .bytes = 1e4};
  const std::array ways{Placement(profiles[0], work), Placement(profiles[1], work)};
  const Choice choice = plan.choose(ways);
  EXPECT_EQ(choice.index, 1U);
  EXPECT_GE(choice.candidates[0].records, static_cast<std::uint64_t>(rounds) * threads / 2);
  EXPECT_NEAR(choice.candidates[0].predicted.correction, 2, 0.2);
}

TEST_F(PlannerConcurrent, ADeviceIsMeasuredOnceForAll) {
  const Device device = runtime->service<DeviceRegistry>().find("cpu").value();
  std::array<const DeviceProfile*, threads> found{};
  in_threads([&](std::size_t thread) { found[thread] = &profile(device); });
  for (const DeviceProfile* one : found) EXPECT_EQ(one, found[0]);
}

}  // namespace
}  // namespace vectis
