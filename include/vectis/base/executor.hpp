// Executors run tasks, timers and parallel loops. Code that waits does so through an Executor, so the same program runs
// on real threads and in a deterministic simulation with one thread, a seed and a simulated clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

// Thread-safe.
class VECTIS_API Executor {
 public:
  using Task = std::function<void()>;
  using Range = std::function<void(std::size_t begin, std::size_t end)>;

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Runs `task` asynchronously, never inside this call. The task must not throw (that terminates the program) and must
  // not block.
  virtual void post(Task task) = 0;
  // Runs `task` after `delay`; a negative delay counts as 0.
  virtual void post_after(Duration delay, Task task) = 0;
  // The executor's clock, real or simulated.
  [[nodiscard]] virtual TimePoint now() const = 0;
  // The next 64-bit value of the executor's seeded random sequence.
  virtual std::uint64_t random() = 0;

  // Calls `body` in parallel for disjoint ranges that cover [0, count), and returns when all calls have returned. Each
  // range has at least `grain` elements, except the last. The split depends only on count, grain and concurrency. When
  // a body throws, ranges not yet started may be skipped, and one of the exceptions is rethrown. A simulation calls the
  // bodies one after the other in the calling thread.
  virtual void parallel_for(std::size_t count, std::size_t grain, const Range& body) = 0;
  // The number of threads that parallel_for uses at most.
  [[nodiscard]] virtual std::size_t concurrency() const = 0;

  // Runs tasks (simulation) or waits (threads) until `done` returns true; `done` is called after each task. Used by
  // sync_wait. Throws InvalidInput when called from a task of this executor, or when a simulation has no task and no
  // timer left.
  virtual void run_until(const std::function<bool()>& done) = 0;
};

// Options of make_thread_executor.
struct ThreadExecutorOptions {
  std::size_t threads = 0;  // 0: one per core
  std::uint64_t seed = 0;   // of Executor::random
};

// An executor on real threads: a oneTBB arena for tasks and parallel loops, and a timer thread. The destructor discards
// timers that are not due and waits for posted tasks; it must not run inside a task. A coroutine that sleeps on a
// discarded timer is never resumed and its frame leaks, so wait for spawned tasks first. In a child process forked
// later, every call except now and concurrency throws Forked. Throws InvalidInput for more than 1024 threads.
VECTIS_API std::shared_ptr<Executor> make_thread_executor(const ThreadExecutorOptions& options = {});

// A deterministic executor: one thread, a simulated clock, and a schedule of ready tasks drawn from the seed. The same
// seed gives the same run. One thread at a time.
class VECTIS_API SimulatedExecutor final : public Executor {
 public:
  // Starts at time 0 with no tasks. Equal seeds give equal schedules.
  explicit SimulatedExecutor(std::uint64_t seed);
  ~SimulatedExecutor() override;

  void post(Task task) override;
  void post_after(Duration delay, Task task) override;
  [[nodiscard]] TimePoint now() const override;
  std::uint64_t random() override;
  void parallel_for(std::size_t count, std::size_t grain, const Range& body) override;
  [[nodiscard]] std::size_t concurrency() const override { return 1; }
  void run_until(const std::function<bool()>& done) override;

  // Runs one task; when none is ready, first advances the clock to the next timer. Returns false when nothing is left.
  // Throws InvalidInput when called from a task.
  bool step();
  // Runs tasks until none is left or `limit` tasks have run; returns the number of tasks run.
  std::size_t run(std::size_t limit = SIZE_MAX);
  // A hash of the schedule so far: queue length, chosen index and time of each task. Equal traces mean equal runs.
  [[nodiscard]] std::uint64_t trace() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
