#include "kernel/profiler/summary.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/golden.hpp"

namespace vectis {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(ProfileSummary, IsATable) {
  const std::vector<ProfileRow> rows = {
      {"training step", "", ProfileClock::host, 10, 0, microseconds(91'000), microseconds(8'000), microseconds(12'500),
       0},
      {"gemm", "cuda:0", ProfileClock::device, 1'200, 0, microseconds(60'000), microseconds(41), microseconds(95),
       std::uint64_t{48} << 30},
      {"copy_to_device", "cuda:0", ProfileClock::device, 20, 3, microseconds(1'500), nanoseconds(70'123),
       nanoseconds(80'456), std::uint64_t{20} << 20},
      {"copy_to_device", "null:0", ProfileClock::host, 1, 0, nanoseconds(1), nanoseconds(1), nanoseconds(1), 7},
      {"never worked", "cuda:0", ProfileClock::host, 0, 5, nanoseconds(0), nanoseconds(0), nanoseconds(0), 0},
  };
  detail::ProfileFrame frame;
  frame.on = 100'000'000;
  frame.capacity = 262'144;
  frame.losses = {.dropped = 12'345, .untimed = 1, .renamed = 1'234'567, .sink_failures = 2};
  std::ostringstream text;
  detail::print_summary(text, rows, frame);
  test::expect_golden("profiler/summary.txt", text.str());
}

TEST(ProfileSummary, OfNothing) {
  std::ostringstream text;
  detail::print_summary(text, {}, {});
  test::expect_golden("profiler/empty.txt", text.str());
}

}  // namespace
}  // namespace vectis
