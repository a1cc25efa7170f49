#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/split.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1 {

namespace {

using std::chrono::steady_clock;

// The executor whose task or range this thread is running, if any, and whether the thread does so in one of the
// executor's arenas. A task of one executor may run a range of another inside it: `outer` is the task then.
struct Current {
  const void* executor = nullptr;
  bool in_arena = false;
  const Current* outer = nullptr;
};
thread_local Current current;

// Whether this thread is running a task or a range of `executor`, also with ranges of others inside it.
bool is_inside(const void* executor) noexcept {
  for (const Current* scope = &current; scope != nullptr; scope = scope->outer) {
    if (scope->executor == executor) return true;
  }
  return false;
}

class InsideScope {
 public:
  InsideScope(const void* executor, bool in_arena) noexcept
      : before_(std::exchange(current, Current{executor, in_arena, &before_})) {}
  ~InsideScope() { current = before_; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;

 private:
  Current before_;
};

// Whether an ancestor of this process made an executor before the fork. oneTBB then counts on worker threads that exist
// in the ancestor alone, and would never run an enqueued task.
bool workers_stayed_in_parent() noexcept {
  static const std::uint64_t first_generation = fork_generation();
  return fork_generation() != first_generation;
}

// The state shared with the threads. A forked child cannot destroy it, since the threads stay in the parent; the child
// leaks it as a whole.
class ThreadState {
 public:
  explicit ThreadState(const ThreadExecutorOptions& options)
      : threads_(options.threads == 0 ? cpu_info().cores : options.threads),
        random_(options.seed),
        limit_(tbb::global_control::max_allowed_parallelism, std::max<std::size_t>(threads_, cpu_info().cores) + 1),
        workers_(
            std::min(threads_, tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) - 1)),
        arena_(slots(), workers_ == 0 ? 1 : 0),
        own_thread_([this] { run_own_thread(); }) {}

  ~ThreadState() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    own_thread_.join();
    std::unique_lock lock(mutex_);
    task_ended_.wait(lock, [this] { return pending_ == 0; });
  }

  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  void post(Executor::Task task) {
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    try {
      if (without_workers_) return post_to_own_thread(std::move(task));
      arena_.enqueue(Queued{*this, std::move(task)});
    } catch (...) {
      end_task();
      throw;
    }
  }

  void post_after(Duration delay, Executor::Task task) {
    const Duration passed = now();
    const Duration due = delay > Duration::max() - passed ? Duration::max() : passed + delay;
    {
      const std::lock_guard lock(mutex_);
      timers_.emplace(due, std::move(task));  // a multimap keeps timers of equal time in order
    }
    wake_.notify_all();
  }

  [[nodiscard]] Duration now() const { return steady_clock::now() - start_; }

  std::uint64_t random() {
    const std::lock_guard lock(random_mutex_);
    return random_.next();
  }

  void parallel_for(const Split& split, const Executor::Range& body) {
    const bool in_arena = current.executor == this && current.in_arena;
    const auto run_piece = [&](std::size_t index, bool piece_in_arena) {
      const InsideScope inside(this, piece_in_arena);
      const SubRange range = split.piece(index);
      body(range.begin, range.end);
    };
    if (split.pieces() == 1 || without_workers_) {
      for (std::size_t index = 0; index < split.pieces(); ++index) run_piece(index, in_arena);
      return;
    }
    // Isolated: a thread that waits for its own pieces must not run pieces of another loop inside its body.
    const auto run = [&] {
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
            std::size_t{0}, split.pieces(), [&](std::size_t index) { run_piece(index, true); },
            tbb::simple_partitioner{});
      });
    };
    if (in_arena) return run();
    const CallerArena arena(*this);
    arena->execute(run);
  }

  [[nodiscard]] std::size_t threads() const noexcept { return threads_; }

  // Calls `done` without the lock, so it may use the executor. `ended_` detects tasks that end meanwhile.
  void run_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const std::uint64_t seen = ended_;
      lock.unlock();
      if (done()) return;
      lock.lock();
      task_ended_.wait(lock, [&] { return ended_ != seen; });
    }
  }

 private:
  // An arena with a slot reserved for the one thread outside all arenas that uses it. Such a caller must not wait for a
  // slot among other threads: it may hold a lock that all of them wait for.
  class CallerArena {
   public:
    explicit CallerArena(ThreadState& state) : state_(state) {
      const std::lock_guard lock(state.arenas_mutex_);
      if (state.idle_arenas_.empty()) {
        state.idle_arenas_.reserve(++state.caller_arenas_);  // so that the destructor does not allocate
        arena_ = std::make_unique<tbb::task_arena>(state.slots(), 1);
      } else {
        arena_ = std::move(state.idle_arenas_.back());  // the last one used: workers may still be in it
        state.idle_arenas_.pop_back();
      }
    }
    ~CallerArena() {
      const std::lock_guard lock(state_.arenas_mutex_);
      state_.idle_arenas_.push_back(std::move(arena_));
    }
    CallerArena(const CallerArena&) = delete;
    CallerArena& operator=(const CallerArena&) = delete;
    tbb::task_arena* operator->() const noexcept { return arena_.get(); }

   private:
    ThreadState& state_;
    std::unique_ptr<tbb::task_arena> arena_;
  };

  // Slots of an arena: a caller or a worker takes one.
  [[nodiscard]] int slots() const noexcept { return workers_ == 0 ? 1 : static_cast<int>(workers_); }

  // Mutable, since oneTBB calls a const copy.
  struct Queued {
    ThreadState& state;
    mutable Executor::Task task;
    void operator()() const noexcept { state.run(task, true); }
  };

  void post_to_own_thread(Executor::Task task) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
    }
    wake_.notify_all();
  }

  // noexcept: a task must not throw; an exception terminates the program, as in any thread.
  void run(Executor::Task& task, bool in_arena) noexcept {
    {
      const InsideScope inside(this, in_arena);
      task();
      task = nullptr;  // destroys the captures before the end is published
    }
    end_task();
  }

  void end_task() noexcept {
    // Notifies with the lock held, so that the destructor cannot destroy the condition variable meanwhile.
    const std::lock_guard lock(mutex_);
    --pending_;
    ++ended_;
    task_ended_.notify_all();
  }

  // Gives the task of a timer to the workers. Runs it in this thread when there are none, or when oneTBB has no memory
  // for it, which oneTBB finds out before it moves the task.
  void start(Executor::Task task) noexcept {
    Queued queued{*this, std::move(task)};
    try {
      if (!without_workers_) return arena_.enqueue(std::move(queued));
    } catch (...) {  // NOLINT(bugprone-empty-catch): handled below
    }
    run(queued.task, false);
  }

  // Starts the tasks of timers when they are due, and runs posted tasks when there are no workers.
  void run_own_thread() {
    constexpr Duration wait_max = std::chrono::hours(1);  // wait_for adds it to the clock: avoids overflow
    std::unique_lock lock(mutex_);
    const auto unlocked = [&](const auto& call) {
      lock.unlock();
      call();
      lock.lock();
    };
    for (;;) {
      if (!posted_.empty()) {
        Executor::Task task = std::move(posted_.front());
        posted_.pop_front();
        unlocked([&] { run(task, false); });
      } else if (stopping_) {
        return;
      } else if (timers_.empty()) {
        wake_.wait(lock);
      } else if (const Duration left = timers_.begin()->first - now(); left > Duration::zero()) {
        wake_.wait_for(lock, std::min(left, wait_max));
      } else {
        Executor::Task task = std::move(timers_.extract(timers_.begin()).mapped());
        ++pending_;
        unlocked([&] { start(std::move(task)); });
      }
    }
  }

  const steady_clock::time_point start_ = steady_clock::now();
  const std::size_t threads_;
  const bool without_workers_ = workers_stayed_in_parent();

  std::mutex random_mutex_;
  Random random_;

  std::mutex mutex_;
  std::condition_variable task_ended_;
  std::condition_variable wake_;  // of the own thread: a new timer, a posted task, or the end
  std::multimap<Duration, Executor::Task> timers_;
  std::deque<Executor::Task> posted_;  // to the own thread, since there are no workers
  std::uint64_t pending_ = 0;          // tasks posted and not yet ended
  std::uint64_t ended_ = 0;
  bool stopping_ = false;

  // oneTBB's limit is per process and counts the calling thread, hence `threads_` + 1; the smallest limit in the
  // process applies. The arena requests no more workers than the limit leaves, since oneTBB would print a warning. That
  // may be 0; oneTBB then runs enqueued tasks on one thread of its own.
  tbb::global_control limit_;
  const std::size_t workers_;
  tbb::task_arena arena_;  // of posted tasks

  std::mutex arenas_mutex_;
  std::vector<std::unique_ptr<tbb::task_arena>> idle_arenas_;  // not in use by a caller of parallel_for
  std::size_t caller_arenas_ = 0;                              // idle or in use

  std::thread own_thread_;  // last member: starts when all others are constructed
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(const ThreadExecutorOptions& options)
      : generation_(fork_generation()), state_(std::make_unique<ThreadState>(options)) {}

  ~ThreadExecutor() override {
    if (forked()) static_cast<void>(state_.release());
  }

  void post(Task task) override { state("post").post(std::move(task)); }
  void post_after(Duration delay, Task task) override {
    if (delay <= Duration::zero()) return post(std::move(task));
    state("post_after").post_after(delay, std::move(task));
  }
  [[nodiscard]] TimePoint now() const override { return TimePoint(state_->now()); }
  std::uint64_t random() override { return state("random").random(); }
  void parallel_for(std::size_t count, std::size_t grain, const Range& body) override {
    ThreadState& threads = state("parallel_for");
    if (count > 0) threads.parallel_for(Split(count, grain, threads.threads()), body);
  }
  [[nodiscard]] std::size_t concurrency() const override { return state_->threads(); }
  void run_until(const std::function<bool()>& done) override {
    ThreadState& threads = state("run_until");
    if (is_inside(&threads)) {
      throw Error(ErrorCode::invalid_input, "run_until",
                  "called from inside a task of the same executor, where waiting would block one of its threads; "
                  "co_await instead");
    }
    threads.run_until(done);
  }

 private:
  [[nodiscard]] bool forked() const noexcept { return fork_generation() != generation_; }

  ThreadState& state(std::string_view op) const {
    if (forked()) {
      throw Error(ErrorCode::forked, op,
                  "this process was forked after the executor was made, and its threads stay in the parent; create a "
                  "new Runtime in the child");
    }
    return *state_;
  }

  const std::uint64_t generation_;
  std::unique_ptr<ThreadState> state_;
};

}  // namespace

std::shared_ptr<Executor> make_thread_executor(const ThreadExecutorOptions& options) {
  constexpr std::size_t threads_max = 1024;
  if (options.threads > threads_max) {
    throw Error(ErrorCode::invalid_input, "make_thread_executor",
                fmt::format("{} threads were requested, the limit is {}; request fewer, or 0 for one per core",
                            options.threads, threads_max));
  }
  return std::make_shared<ThreadExecutor>(options);
}

}  // namespace vectis::inline v0_1
