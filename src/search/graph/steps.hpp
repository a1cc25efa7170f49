// Work that is done in steps, with other work in between.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Rows that a beam search scores in the time that some work takes: counted instead of time, so that the steps of a
// change do not depend on the machine.
using Work = std::uint64_t;

// Where a coroutine that returns Steps may be left: co_yield Pause{...}.
struct Pause {
  Work done = 0;  // since the last pause
  Work next = 0;  // expected until the next one
};

// A coroutine that step() continues from pause to pause. It may co_await other Steps, whose pauses are its own.
// Destroying it ends the coroutine where it is. Arguments of the coroutine must outlive it. Not thread-safe; different
// threads may call step() one after the other.
class [[nodiscard]] Steps {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    promise_type* root = this;
    Handle innermost;  // of the root: the coroutine that step() continues
    Handle caller;     // null: step()
    Pause pause;       // of the root
    std::exception_ptr error;

    struct ReturnToCaller {
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      [[nodiscard]] std::coroutine_handle<> await_suspend(Handle ended) const noexcept {
        promise_type& promise = ended.promise();
        if (!promise.caller) return std::noop_coroutine();
        promise.root->innermost = promise.caller;
        return promise.caller;
      }
      void await_resume() const noexcept {}
    };

    Steps get_return_object() noexcept {
      innermost = Handle::from_promise(*this);
      return Steps(innermost);
    }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] ReturnToCaller final_suspend() const noexcept { return {}; }
    std::suspend_always yield_value(const Pause& at) noexcept {
      root->pause = at;
      return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }
  };

  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const noexcept { return handle_.done(); }
  // Returns the work that the next step is expected to take. Does not throw.
  [[nodiscard]] Work next_work() const noexcept { return handle_.promise().pause.next; }
  // Continues to the next pause or to the end, and returns the work that this took. Must not be done(), not checked.
  // Throws what the coroutine throws, which ends it.
  Work step() {
    promise_type& promise = handle_.promise();
    promise.pause = {};
    promise.innermost.resume();
    if (promise.error) std::rethrow_exception(std::exchange(promise.error, nullptr));
    return promise.pause.done;
  }

  // Awaiting Steps runs them to their end, and throws what they throw.
  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle inner;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      [[nodiscard]] std::coroutine_handle<> await_suspend(Handle outer) const noexcept {
        inner.promise().root = outer.promise().root;
        inner.promise().caller = outer;
        outer.promise().root->innermost = inner;
        return inner;
      }
      void await_resume() const {
        if (inner.promise().error) std::rethrow_exception(inner.promise().error);
      }
    };
    return Awaiter{handle_};
  }

 private:
  explicit Steps(Handle handle) noexcept : handle_(handle) {}
  Handle handle_;
};

// Work of a step that ends with all that is to be done.
inline constexpr Work all_at_once = std::numeric_limits<Work>::max();

// Runs steps to their end. Throws what they throw.
inline void run(Steps steps) {
  while (!steps.done()) steps.step();
}

// Appends zeros to `values` until they are `count`, in steps of about `step_work`: new memory costs time when it is
// first written.
template <class Value>
Steps grow_in_steps(std::vector<Value>* values, std::size_t count, Work step_work) {
  constexpr std::size_t together = 16'384;
  constexpr Work work = 400;
  values->reserve(count);
  if (step_work == all_at_once) values->resize(count);
  while (values->size() < count) {
    values->resize(std::min(count, values->size() + together));
    co_yield Pause{.done = work, .next = work};
  }
}

// Calls `body` for disjoint ranges of [0, count), on all threads of `executor`, which must outlive the steps. A step
// takes as many items, each of `item_work`, as `step_work` allows, at least `grain`. Throws what `body` throws.
inline Steps parallel_steps(Executor* executor, std::size_t count, std::size_t grain, Work item_work, Work step_work,
                            Executor::Range body) {
  const std::size_t together =
      step_work == all_at_once ? count : std::max<std::size_t>(grain, step_work / std::max<Work>(item_work, 1));
  for (std::size_t first = 0; first < count; first += together) {
    const std::size_t items = std::min(together, count - first);
    executor->parallel_for(items, grain, [&](std::size_t begin, std::size_t end) { body(first + begin, first + end); });
    co_yield Pause{.done = items * item_work, .next = together * item_work};
  }
}

}  // namespace vectis::inline v0_1::graph
