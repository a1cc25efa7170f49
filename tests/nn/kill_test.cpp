// Training that is killed (SIGKILL) at random moments and continues from its checkpoint ends as if it had not been.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/random.hpp"
#include "vectis/base/time.hpp"
#include "vectis/nn/checkpoint.hpp"

namespace vectis::nn {
namespace {

using namespace std::chrono_literals;

// VECTIS_TEST_KILLS, or 5.
int kills_wanted() {
  const char* const text = std::getenv("VECTIS_TEST_KILLS");
  return text == nullptr ? 5 : std::atoi(text);
}

ProcessResult run_training(const std::string& checkpoint, Duration limit) {
  return real_os().run({VECTIS_TRAIN_WITH_CHECKPOINTS, checkpoint}, limit);
}

TEST(KillTest, TrainingContinuesAfterKillsAsIfThereWereNone) {
  const test::TemporaryFolder folder;
  const std::uint64_t begin = monotonic_nanoseconds();
  const ProcessResult expected = run_training(folder.path("expected.ckpt"), 300s);
  const std::uint64_t duration = monotonic_nanoseconds() - begin;
  ASSERT_EQ(expected.end, ProcessResult::End::exited) << expected.error;
  ASSERT_EQ(expected.code, 0) << expected.error;
  Random random(test::seed());
  const std::string path = folder.path("run.ckpt");
  int kills = 0;
  int kills_while_training = 0;
  while (kills < kills_wanted()) {
    // Not the whole duration, so that several kills hit one run.
    const auto limit = static_cast<Duration::rep>(random.below(duration * 3 / 4) + 1);
    const ProcessResult result = run_training(path, Duration(limit));
    if (result.end == ProcessResult::End::timed_out) {
      ++kills;
      if (!std::filesystem::exists(path)) continue;
      ++kills_while_training;
      ASSERT_NO_THROW(static_cast<void>(load_checkpoint(path)));
      continue;
    }
    ASSERT_EQ(result.end, ProcessResult::End::exited) << result.error;
    ASSERT_EQ(result.output, expected.output) << "after " << kills << " kills";
    std::filesystem::remove(path);
  }
  EXPECT_EQ(run_training(path, 300s).output, expected.output) << "after " << kills << " kills";
  RecordProperty("kills_with_a_checkpoint", kills_while_training);
  std::printf("%d kills, %d of them with a checkpoint\n", kills, kills_while_training);
}

}  // namespace
}  // namespace vectis::nn
