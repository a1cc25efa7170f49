// Coroutines on an Executor: Task<T> is a lazy computation; spawn starts one, sync_wait runs one to its end.
//
//   Task<int> half(Executor& executor, int n) {
//     co_await sleep_for(executor, 1ms);
//     co_return n / 2;
//   }
//   int four = sync_wait(executor, half(executor, 8));
//
// Whatever waits is resumed by a post to the executor, never inside the call that woke it: stacks stay flat and a
// simulator sees every step.
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

// When a task ends it hands control to whoever awaited it, unless that one still stands in its await and goes on by
// itself. So a loop over tasks that end at once needs no stack, also where the compiler makes no tail calls.
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
  std::atomic<bool> met{false};  // the end of the task and the sleep of its awaiter: the second one to come acts
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

// Does nothing until awaited; its owner destroys it. Await it once. One thread at a time.
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
      // False: the task has ended already, so the coroutine goes on.
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

// A coroutine nobody awaits: it starts at once and destroys itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }  // spawn's body catches everything before
  };
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
    Task<T> running = std::move(task);  // gone, with all it held, before anybody learns that it is done
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

// A task under way. Dropping it lets the task go on. Thread-safe but for take.
template <class T>
class Spawned {
 public:
  explicit Spawned(std::shared_ptr<detail::SpawnState<T>> state) noexcept : state_(std::move(state)) {}
  [[nodiscard]] bool done() const noexcept { return state_->done.load(std::memory_order_acquire); }
  // The task's value, or its exception; only once done, and once.
  T take() {
    if (state_->error) std::rethrow_exception(state_->error);
    if constexpr (!std::is_void_v<T>) return std::move(*state_->value);
  }

 private:
  std::shared_ptr<detail::SpawnState<T>> state_;
};

// Starts `task` on the executor.
template <class T>
Spawned<T> spawn(Executor& executor, Task<T> task) {
  auto state = std::make_shared<detail::SpawnState<T>>();
  auto held = std::make_shared<Task<T>>(std::move(task));  // std::function wants copyable captures
  executor.post([state, held] { detail::run_detached<T>(state, std::move(*held)); });
  return Spawned<T>{state};
}

// Runs `task` to its end and returns its value. Never from inside a task: that is an Error, since it would block a
// worker.
template <class T>
T sync_wait(Executor& executor, Task<T> task) {
  auto spawned = spawn(executor, std::move(task));
  executor.run_until([&] { return spawned.done(); });
  return spawned.take();
}

// co_await yield(executor): lets others run.
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

// co_await sleep_for(executor, 5ms): in simulation no real time passes.
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
