// Where work waits and runs. Everything above that waits does so on an Executor, so the same program runs on threads
// and, from a seed, in a simulator with one thread and an invented clock.
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

  // Runs `task` later, never inside this call. A task must not throw and must not block.
  virtual void post(Task task) = 0;
  // Runs `task` once `delay` has passed; a negative delay is none.
  virtual void post_after(Duration delay, Task task) = 0;
  [[nodiscard]] virtual TimePoint now() const = 0;
  // A random number of the executor's seeded sequence.
  virtual std::uint64_t random() = 0;

  // Calls `body` for disjoint ranges that cover [0, count), each of at least `grain` but the last, and returns when all
  // are done. The cut depends only on count, grain and concurrency. After an exception ranges not yet begun may be left
  // out, and one of the exceptions is rethrown. Inline in simulation, over the arena otherwise.
  virtual void parallel_for(std::size_t count, std::size_t grain, const Range& body) = 0;
  // How many threads parallel_for may use.
  [[nodiscard]] virtual std::size_t concurrency() const = 0;

  // Runs or waits until `done` is true. `done` is asked after each task; sync_wait is the usual caller. Throws Error
  // when it is called from inside a task of this executor, or when a simulation has nothing left that could make it
  // true.
  virtual void run_until(const std::function<bool()>& done) = 0;
};

struct ThreadExecutorOptions {
  std::size_t threads = 0;  // 0: one per core
  std::uint64_t seed = 0;   // of random()
};

// Real threads: one oneTBB arena for tasks and ranges, one thread for timers. Its destructor drops timers that are not
// due and waits for the tasks that were posted; destroy it from outside them. A coroutine asleep on a dropped timer is
// never resumed and its frame never freed, so let spawned tasks end first. In a child forked after it was made, every
// call but now and concurrency throws Forked, and the destructor leaves the parent's threads alone.
VECTIS_API std::shared_ptr<Executor> make_thread_executor(const ThreadExecutorOptions& options = {});

// One thread, an invented clock, and an order of ready tasks drawn from the seed: the same seed, the same run.
// One thread at a time.
class VECTIS_API SimulatedExecutor final : public Executor {
 public:
  explicit SimulatedExecutor(std::uint64_t seed);
  ~SimulatedExecutor() override;

  void post(Task task) override;
  void post_after(Duration delay, Task task) override;
  [[nodiscard]] TimePoint now() const override;
  std::uint64_t random() override;
  void parallel_for(std::size_t count, std::size_t grain, const Range& body) override;
  [[nodiscard]] std::size_t concurrency() const override { return 1; }
  void run_until(const std::function<bool()>& done) override;

  // Runs one task, moving the clock to the next timer when none is ready. False when nothing is left.
  bool step();
  // Steps until nothing is left or `limit` tasks have run; returns how many ran.
  std::size_t run(std::size_t limit = SIZE_MAX);
  // A digest of everything that ran so far: which task of which queue length, at which time.
  [[nodiscard]] std::uint64_t trace() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
