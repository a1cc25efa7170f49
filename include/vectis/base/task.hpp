// Coroutines on an Executor: Task<T> is a lazy coroutine; spawn starts one, sync_wait runs one to completion.
//
//   Task<int> half(Executor& executor, int n) {
//     co_await sleep_for(executor, 1ms);
//     co_return n / 2;
//   }
//   int four = sync_wait(executor, half(executor, 8));
//
// A waiting coroutine is resumed by a post to the executor, never inside the call that wakes it: the stack does not
// grow, and a simulation schedules every step.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1 {

template <class T = void>
class Task;

namespace detail {

// What a coroutine awaits at its end: resumes the coroutine that awaits it, unless that one has not suspended yet and
// continues by itself. A loop over tasks that finish immediately therefore uses constant stack, also where the
// compiler makes no tail calls.
struct FinalAwaiter {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    auto& promise = ended.promise();
    if (promise.met.exchange(true, std::memory_order_acq_rel)) return promise.continuation;
    return std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> continuation;
  // Set by the first of two events: the task finishes, its awaiter suspends. The second event resumes the awaiter.
  std::atomic<bool> met{false};
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
};

template <class T>
struct Promise : PromiseBase {
  std::variant<std::monostate, T, std::exception_ptr> result;

  Task<T> get_return_object();
  void unhandled_exception() { result.template emplace<2>(std::current_exception()); }
  template <class U>
  void return_value(U&& value) {
    result.template emplace<1>(std::forward<U>(value));
  }
  T take() {
    if (result.index() == 2) std::rethrow_exception(std::get<2>(result));
    return std::move(std::get<1>(result));
  }
};

template <>
struct Promise<void> : PromiseBase {
  std::exception_ptr error;

  Task<void> get_return_object();
  void unhandled_exception() { error = std::current_exception(); }
  void return_void() noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

// A coroutine that starts when it is awaited and returns a T. Await it at most once; co_await rethrows an exception
// of the coroutine. The destructor destroys the coroutine's frame. One thread at a time.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      // Starts the task. Returns false, without suspending the awaiting coroutine, when the task has already
      // finished.
      bool await_suspend(std::coroutine_handle<> waiting) const {
        auto& promise = handle.promise();
        promise.continuation = waiting;
        handle.resume();
        return !promise.met.exchange(true, std::memory_order_acq_rel);
      }
      T await_resume() const { return handle.promise().take(); }
    };
    return Awaiter{handle_};
  }

 private:
  Handle handle_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>{std::coroutine_handle<Promise>::from_promise(*this)};
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>{std::coroutine_handle<Promise>::from_promise(*this)};
}

// A coroutine that nobody awaits. start() starts it, once, after which it destroys itself when it finishes; one that is
// not started is destroyed with this object. Its body must not throw: an exception terminates the program.
class Detached {
 public:
  struct promise_type {
    Detached get_return_object() noexcept { return Detached(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }  // unreachable: run_detached catches every exception
  };

  Detached(Detached&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;
  ~Detached() {
    if (handle_) handle_.destroy();
  }
  void start() { std::exchange(handle_, nullptr).resume(); }

 private:
  explicit Detached(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
struct SpawnState {
  std::atomic<bool> done{false};
  std::conditional_t<std::is_void_v<T>, std::monostate, std::optional<T>> value;
  std::exception_ptr error;
};

template <class T>
Detached run_detached(std::shared_ptr<SpawnState<T>> state, Task<T> task) {
  try {
    Task<T> running = std::move(task);  // destroyed, with its captures, before `done` is set
    if constexpr (std::is_void_v<T>) {
      co_await std::move(running);
    } else {
      state->value.emplace(co_await std::move(running));
    }
  } catch (...) {
    state->error = std::current_exception();
  }
  state->done.store(true, std::memory_order_release);
}

}  // namespace detail

// The handle of a task started by spawn(). Destroying it does not stop the task. done() is thread-safe; take() is
// not.
template <class T>
class Spawned {
 public:
  explicit Spawned(std::shared_ptr<detail::SpawnState<T>> state) noexcept : state_(std::move(state)) {}
  // Returns true when the task has finished, with a value or an exception. Never waits. Does not throw.
  [[nodiscard]] bool done() const noexcept { return state_->done.load(std::memory_order_acquire); }
  // Returns the task's value, or throws the task's exception. Must be called once, after done() returned true.
  T take() {
    if (state_->error) std::rethrow_exception(state_->error);
    if constexpr (!std::is_void_v<T>) return std::move(*state_->value);
  }

 private:
  std::shared_ptr<detail::SpawnState<T>> state_;
};

// Starts `task` asynchronously on `executor`, which must outlive the task, and returns its handle; Spawned::take()
// rethrows an exception of the task. Throws Forked in a child process forked after an executor of threads was made.
template <class T>
Spawned<T> spawn(Executor& executor, Task<T> task) {
  auto state = std::make_shared<detail::SpawnState<T>>();
  // Made here, since a task of the executor must not throw, not even for lack of memory. Shared, since std::function
  // requires copyable captures.
  auto detached = std::make_shared<detail::Detached>(detail::run_detached<T>(state, std::move(task)));
  executor.post([detached] { detached->start(); });
  return Spawned<T>{state};
}

// Runs `task` on `executor`, waits until it finishes, and returns its value or throws its exception. Throws
// InvalidInput when called from a task of `executor`, or when a simulation has no task and no timer left to finish
// it; Forked in a child process forked after an executor of threads was made.
template <class T>
T sync_wait(Executor& executor, Task<T> task) {
  auto spawned = spawn(executor, std::move(task));
  executor.run_until([&] { return spawned.done(); });
  return spawned.take();
}

// `co_await yield(executor)` suspends the coroutine and posts it to `executor`, so that other ready tasks run first.
// `executor` must outlive the wait. In a child process forked later the co_await throws Forked.
inline auto yield(Executor& executor) noexcept {
  struct Awaiter {
    Executor& executor;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const {
      executor.post([waiting] { waiting.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{executor};
}

// `co_await sleep_for(executor, 5ms)` suspends the coroutine for `delay` of the executor's clock; in a simulation no
// real time passes. `executor` must outlive the wait: one destroyed before never resumes the coroutine. In a child
// process forked later the co_await throws Forked.
inline auto sleep_for(Executor& executor, Duration delay) noexcept {
  struct Awaiter {
    Executor& executor;
    Duration delay;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const {
      executor.post_after(delay, [waiting] { waiting.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{executor, delay};
}

}  // namespace vectis::inline v0_1
