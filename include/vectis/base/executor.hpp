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

// Runs tasks, timers and parallel loops on real threads (make_thread_executor) or in a deterministic simulation
// (SimulatedExecutor). An executor on threads is thread-safe, and its calls throw Forked in a child process forked
// later.
class VECTIS_API Executor {
 public:
  using Task = std::function<void()>;
  using Range = std::function<void(std::size_t begin, std::size_t end)>;

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Runs `task` asynchronously, never inside this call. `task` must not block and, on threads, must not throw: an
  // exception terminates the program. An executor on threads throws Forked in a child process forked later.
  virtual void post(Task task) = 0;
  // Runs `task` asynchronously once `delay` has passed on the executor's clock; a delay of 0 or less means at once.
  // `task` must not block and must not throw. An executor on threads throws Forked in a child process forked later.
  virtual void post_after(Duration delay, Task task) = 0;
  // Returns the time since the executor was made, real or simulated. Compare only time points of one executor.
  [[nodiscard]] virtual TimePoint now() const = 0;
  // Returns the next 64-bit value of the executor's seeded random sequence. An executor on threads throws Forked in a
  // child process forked later.
  virtual std::uint64_t random() = 0;

  // Calls `body` in parallel for disjoint ranges of at least `grain` elements (the last may be smaller) that cover
  // [0, count), and returns when all calls have returned. The ranges depend only on count, grain and concurrency().
  // When a body throws, ranges not yet started may be skipped and one exception is rethrown. Throws Forked in a
  // forked child.
  virtual void parallel_for(std::size_t count, std::size_t grain, const Range& body) = 0;
  // Returns the largest number of threads that parallel_for uses: at least 1, and 1 in a simulation.
  [[nodiscard]] virtual std::size_t concurrency() const = 0;

  // Waits until `done` returns true, running tasks meanwhile (simulation); calls `done` at the start and after each
  // task. Throws InvalidInput when called from a task of this executor, or when a simulation has no task and no timer
  // left; Forked in a child process forked after a thread executor was made.
  virtual void run_until(const std::function<bool()>& done) = 0;
};

// Options of make_thread_executor. More than 1024 threads make it throw InvalidInput.
struct ThreadExecutorOptions {
  std::size_t threads = 0;  // 0: one per core
  std::uint64_t seed = 0;   // of Executor::random
};

// Makes an executor on a oneTBB arena and a timer thread. Throws InvalidInput for more than 1024 threads. Its
// destructor waits for posted tasks, must not run inside a task, and discards timers not yet due: a coroutine that
// sleeps then leaks, so wait for spawned tasks first. In a child process forked later, calls except now() and
// concurrency() throw Forked. A child whose parent had an executor can make its own, which has no workers, since those
// of oneTBB stay in the parent: posted tasks run on one thread, parallel_for in the calling thread.
VECTIS_API std::shared_ptr<Executor> make_thread_executor(const ThreadExecutorOptions& options = {});

// A deterministic executor: one thread, a simulated clock, and a schedule of ready tasks drawn from the seed; equal
// seeds give equal runs. step(), run() and run_until() throw InvalidInput when called from one of its tasks. One
// thread at a time.
class VECTIS_API SimulatedExecutor final : public Executor {
 public:
  // Starts at time 0 with no tasks. Any seed is valid; equal seeds give equal schedules and equal random() values.
  explicit SimulatedExecutor(std::uint64_t seed);
  ~SimulatedExecutor() override;

  // Adds `task` to the ready tasks; step(), run() or run_until() runs it, in an order drawn from the seed. An
  // exception of the task is thrown by the call that runs it.
  void post(Task task) override;
  // Makes `task` ready once the simulated clock has advanced by `delay`; a delay of 0 or less makes it ready at once.
  // An exception of the task is thrown by the step(), run() or run_until() that runs it.
  void post_after(Duration delay, Task task) override;
  // Returns the simulated time, which advances only when no task is ready and a timer is next.
  [[nodiscard]] TimePoint now() const override;
  // Returns the next value of the program's random sequence. Calls do not change the schedule, which has its own
  // sequence.
  std::uint64_t random() override;
  // Calls `body` one range after the other in the calling thread. An exception of `body` ends the loop and is
  // rethrown.
  void parallel_for(std::size_t count, std::size_t grain, const Range& body) override;
  [[nodiscard]] std::size_t concurrency() const override { return 1; }
  // Runs tasks until `done` returns true; calls `done` before each task. Throws InvalidInput when called from a task
  // of this executor, or when `done` is false and no task and no timer is left. Throws what a task throws.
  void run_until(const std::function<bool()>& done) override;

  // Runs one ready task; when none is ready, first advances the clock to the next timer. Returns false when no task
  // and no timer is left. Throws InvalidInput when called from a task of this executor, and what the task throws.
  bool step();
  // Runs tasks until no task and no timer is left or `limit` tasks have run; returns the number of tasks run. Throws
  // InvalidInput when called from a task of this executor, and what a task throws.
  std::size_t run(std::size_t limit = SIZE_MAX);
  // Returns a hash of the schedule so far: number of ready tasks, chosen index and time of each task run. Equal runs
  // have equal traces; different runs have different ones but for hash collisions. Does not throw.
  [[nodiscard]] std::uint64_t trace() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
