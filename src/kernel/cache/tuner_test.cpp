#include "vectis/kernel/tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/compiling_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::CompilingBackend;
using test::FakeOs;

constexpr std::array<std::uint32_t, 4> candidates{32, 64, 128, 256};

class TunerTest : public testing::Test {
 protected:
  void SetUp() override {
    CompilingBackend::install(os);
    os.variables["VECTIS_CACHE_PATH"] = "/cache";
    os.variables["VECTIS_AUTOTUNE"] = "on";
  }

  struct Process {
    explicit Process(FakeOs& os) : runtime(options_on(os)) {}
    std::uint32_t group(const std::string& key, const Tuner::Measure& measure, std::uint32_t standard = 64) {
      return tuner(runtime).group(*runtime.service<DeviceRegistry>().find("cuda"), key, standard, candidates, measure);
    }
    Runtime runtime;
  };

  // A device with these times; asking counts.
  Tuner::Measure law(std::map<std::uint32_t, double> times) {
    return [this, times = std::move(times)](std::uint32_t group) {
      ++asked;
      return times.at(group);
    };
  }

  FakeOs os;
  int asked = 0;
};

TEST_F(TunerTest, TheFastestSizeIsMeasuredOnceAndCached) {
  const auto times = law({{32, 9.0}, {64, 8.0}, {128, 3.0}, {256, 5.0}});
  Process first(os);
  EXPECT_EQ(first.group("k", times), 128U);
  const int once = asked;
  EXPECT_EQ(once, 4 * 4);
  EXPECT_EQ(first.group("k", times), 128U);
  EXPECT_EQ(first.group("other", times), 128U);
  EXPECT_EQ(asked, 2 * once);
  EXPECT_EQ(tuner(first.runtime).statistics().measured, 2U);
  EXPECT_EQ(tuner(first.runtime).statistics().memory_hits, 1U);
  EXPECT_EQ(os.files.size(), 2U);

  Process second(os);
  EXPECT_EQ(second.group("k", times), 128U);
  EXPECT_EQ(asked, 2 * once);
  EXPECT_EQ(tuner(second.runtime).statistics().disk_hits, 1U);
}

TEST_F(TunerTest, NoiseDoesNotReplaceTheDefault) {
  EXPECT_EQ(Process(os).group("close", law({{32, 9.0}, {64, 8.0}, {128, 7.7}, {256, 7.9}})), 64U);
  EXPECT_EQ(Process(os).group("clear", law({{32, 9.0}, {64, 8.0}, {128, 7.5}, {256, 7.9}})), 128U);
  // One slow run among three, as another process causes it, does not count.
  int runs = 0;
  const auto noisy = [&](std::uint32_t group) { return group == 32 && ++runs != 2 ? 1.0 : 2.0; };
  EXPECT_EQ(Process(os).group("noisy", noisy), 32U);
}

TEST_F(TunerTest, EveryDriverIsMeasuredSeparately) {
  (void)Process(os).group("k", law({{32, 1.0}, {64, 8.0}, {128, 3.0}, {256, 5.0}}));
  CompilingBackend::install(os, "driver 1.1");
  EXPECT_EQ(Process(os).group("k", law({{32, 9.0}, {64, 8.0}, {128, 3.0}, {256, 5.0}})), 128U);
}

TEST_F(TunerTest, MeasuresOnlyWithAutotuneOn) {
  const auto times = law({{32, 1.0}, {64, 8.0}, {128, 3.0}, {256, 5.0}});
  os.variables.erase("VECTIS_AUTOTUNE");
  Process unasked(os);
  EXPECT_EQ(unasked.group("k", times), 64U);
  EXPECT_EQ(unasked.group("k", times), 64U);
  EXPECT_EQ(asked, 0);
  os.variables["VECTIS_AUTOTUNE"] = "on";
  EXPECT_EQ(Process(os).group("k", times), 32U);
  os.variables.erase("VECTIS_AUTOTUNE");
  EXPECT_EQ(Process(os).group("k", times), 32U);  // known by now
  os.variables["VECTIS_AUTOTUNE"] = "off";
  EXPECT_EQ(Process(os).group("k", times), 64U);
  os.variables["VECTIS_AUTOTUNE"] = "maybe";
  EXPECT_ERROR((void)Process(os).group("k", times), ErrorCode::invalid_input, "maybe", "VECTIS_AUTOTUNE", "known");
}

TEST_F(TunerTest, ACorruptOrForeignEntryIsMeasuredAgain) {
  const auto times = law({{32, 1.0}, {64, 8.0}, {128, 3.0}, {256, 5.0}});
  (void)Process(os).group("k", times);
  ASSERT_EQ(os.files.size(), 1U);
  std::string& file = os.files.begin()->second;
  const std::string good = file;
  for (std::size_t place = 0; place < good.size(); ++place) {
    file = good;
    file[place] = static_cast<char>(file[place] ^ 1);
    Process process(os);
    ASSERT_EQ(process.group("k", times), 32U);
    ASSERT_EQ(tuner(process.runtime).statistics().rebuilt, 1U);
    ASSERT_EQ(file, good);
  }
  // A whole entry of a size that is no candidate any more.
  Process process(os);
  const Device device = *process.runtime.service<DeviceRegistry>().find("cuda");
  EXPECT_EQ(tuner(process.runtime).group(device, "k", 64, std::array<std::uint32_t, 1>{128}, times), 128U);
  EXPECT_EQ(tuner(process.runtime).statistics().rebuilt, 1U);
}

TEST_F(TunerTest, SizesThatFailAreExcluded) {
  const auto refusing = [](std::uint32_t group) {
    if (group > 64) throw Error(ErrorCode::invalid_input, "launch", "too large");
    return group == 32 ? 1.0 : 2.0;
  };
  EXPECT_EQ(Process(os).group("k", refusing), 32U);
  const auto broken = [](std::uint32_t) -> double { throw Error(ErrorCode::invalid_input, "launch", "no"); };
  EXPECT_ERROR((void)Process(os).group("broken", broken), ErrorCode::invalid_input, "no");
  const auto lost = [](std::uint32_t group) {
    if (group == 128) throw Error(ErrorCode::device_lost, "launch", "gone");
    return 1.0;
  };
  EXPECT_ERROR((void)Process(os).group("lost", lost), ErrorCode::device_lost, "gone");
  EXPECT_EQ(os.files.size(), 1U);
  const auto nothing = [](std::uint32_t group) { return group == 64 ? 1.0 : std::numeric_limits<double>::quiet_NaN(); };
  EXPECT_EQ(Process(os).group("nan", nothing), 64U);
}

class TunerConcurrent : public TunerTest {};

TEST_F(TunerConcurrent, OneThreadMeasuresWhileOthersTakeTheDefault) {
  Process process(os);
  std::atomic<int> measuring{0};
  std::atomic<int> runs{0};
  const auto measure = [&](std::uint32_t group) {
    EXPECT_EQ(measuring.fetch_add(1), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++runs;
    --measuring;
    return group == 256 ? 1.0 : 2.0;
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_THAT(process.group("k", measure), testing::AnyOf(64U, 256U));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 4 * 4);
  EXPECT_EQ(process.group("k", measure), 256U);
}

}  // namespace
}  // namespace vectis
