#include <atomic>
#include <sstream>

#include "tests/memory/conformance.hpp"

namespace vectis {
namespace {

using test::MakeResource;
using test::ResourceConformance;
using test::ResourceStack;

ResourceStack plain(const DeviceContext& context) {
  ResourceStack stack;
  stack.layers.push_back(std::make_unique<DeviceResource>(context));
  return stack;
}

template <class Resource, class... Arguments>
ResourceStack wrapped(ResourceStack stack, Arguments... arguments) {
  MemoryResource& upstream = stack.top();
  stack.layers.push_back(std::make_unique<Resource>(upstream, std::move(arguments)...));
  return stack;
}

ResourceStack logged(ResourceStack stack) {
  static std::ostringstream out;  // the content is tested in log_test.cpp
  MemoryResource& upstream = stack.top();
  stack.layers.push_back(std::make_unique<LogResource>(upstream, out));
  return stack;
}

const auto never = [](std::uint64_t, const MemoryRequest&) { return false; };

INSTANTIATE_TEST_SUITE_P(
    All, ResourceConformance,
    testing::Values(MakeResource{"device", plain},
                    MakeResource{"limit", [](const auto& c) { return wrapped<LimitResource>(plain(c), 1ULL << 30); }},
                    MakeResource{"statistics", [](const auto& c) { return wrapped<StatisticsResource>(plain(c)); }},
                    MakeResource{"log", [](const auto& c) { return logged(plain(c)); }},
                    MakeResource{"failing", [](const auto& c) { return wrapped<FailingResource>(plain(c), never); }},
                    MakeResource{"stacked",
                                 [](const auto& c) {
                                   return wrapped<StatisticsResource>(
                                       wrapped<LimitResource>(wrapped<FailingResource>(plain(c), never), 1ULL << 30));
                                 }}),
    [](const auto& one) { return one.param.name; });

class Resources : public test::MemoryTest {
 protected:
  DeviceResource base{DeviceContext(device("cpu"))};
};

TEST_F(Resources, TheLimitIsExact) {
  LimitResource limited(base, 1000);
  MemoryBlock most = limited.allocate({.bytes = 999});
  EXPECT_ERROR(static_cast<void>(limited.allocate({.bytes = 2})), ErrorCode::allocation,
               "2 bytes requested, 999 in use, limit 1000");
  MemoryBlock last = limited.allocate({.bytes = 1});
  EXPECT_EQ(limited.used_bytes(), 1000U);
  limited.deallocate(std::move(most), nullptr);
  limited.deallocate(std::move(last), nullptr);
  EXPECT_EQ(limited.used_bytes(), 0U);
  EXPECT_ERROR(static_cast<void>(limited.allocate({.bytes = 1001})), ErrorCode::allocation, "1001");
}

TEST_F(Resources, AFailureUpstreamChangesNothing) {
  FailingResource failing(base, [](std::uint64_t number, const MemoryRequest&) { return number == 1; });
  LimitResource limited(failing, 100);
  StatisticsResource counted(limited);
  EXPECT_ERROR(static_cast<void>(counted.allocate({.bytes = 100})), ErrorCode::allocation,
               "injected failure at call 1, 100 bytes");
  EXPECT_EQ(limited.used_bytes(), 0U);
  MemoryBlock block = counted.allocate({.bytes = 100});
  const ResourceStatistics now = counted.statistics();
  EXPECT_EQ(now.failures, 1U);
  EXPECT_EQ(now.allocations, 1U);
  EXPECT_EQ(now.live_bytes, 100U);
  counted.deallocate(std::move(block), nullptr);
  EXPECT_EQ(counted.statistics().live_bytes, 0U);
  EXPECT_EQ(counted.statistics().peak_bytes, 100U);
  EXPECT_EQ(counted.statistics().deallocations, 1U);
}

}  // namespace
}  // namespace vectis
