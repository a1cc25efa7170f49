// Coroutines while the host is out of memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <utility>

#include "tests/support/allocation_faults.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/task.hpp"

namespace vectis::test {
namespace {

Task<int> answer() { co_return 42; }

// What spawn() needs, it allocates itself, where the caller gets the error. An executor's task that runs out of memory
// ends the process on threads; in a simulation run() would throw.
TEST(TasksWithoutMemory, ASpawnedTaskStartsWithoutAllocating) {
  SimulatedExecutor executor(1);
  auto spawned = spawn(executor, answer());
  arm_allocation_fault(nullptr, NewForm::throwing, 1, true);
  EXPECT_NO_THROW(executor.run());
  disarm_allocation_fault();
  ASSERT_TRUE(spawned.done());
  EXPECT_EQ(spawned.take(), 42);
}

TEST(TasksWithoutMemory, ATaskThatCannotBeSpawnedIsDestroyed) {
  SimulatedExecutor executor(1);
  for (std::uint32_t nth = 1;; ++nth) {
    auto task = answer();
    arm_allocation_fault(nullptr, NewForm::throwing, nth);
    bool failed = false;
    try {
      static_cast<void>(spawn(executor, std::move(task)));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    disarm_allocation_fault();
    if (!failed) break;
    EXPECT_EQ(executor.run(), 0U);
  }
  EXPECT_EQ(executor.run(), 1U);
}

}  // namespace
}  // namespace vectis::test
