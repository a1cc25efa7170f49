// A bounded queue between coroutines, for message passing between actors.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1 {

// A first-in first-out queue of at most `capacity` messages between coroutines; send() to a full or closed mailbox
// returns false. Close it before destroying it if a receiver may still wait. A receiver that was woken may destroy
// it. Thread-safe.
template <class T>
class Mailbox {
 public:
  // Makes an empty, open mailbox. `executor` resumes the receivers and must outlive the mailbox. With `capacity` 0,
  // send() succeeds only while a receiver waits.
  Mailbox(Executor& executor, std::size_t capacity) : executor_(executor), capacity_(capacity) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Passes `message` to the longest-waiting receiver, else queues it; never waits. Returns false, and drops the
  // message, when the mailbox is full or closed. Throws Forked in a forked child when it must resume a receiver on an
  // executor of threads.
  [[nodiscard]] bool send(T message) {
    Executor& executor = executor_;
    std::coroutine_handle<> woken;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      if (waiting_.empty()) {
        if (messages_.size() >= capacity_) return false;
        messages_.push_back(std::move(message));
        return true;
      }
      const Waiting first = waiting_.front();
      waiting_.pop_front();
      first.receiver->message.emplace(std::move(message));
      woken = first.handle;
    }
    // No member is used from here on: the receiver may already have destroyed the mailbox.
    executor.post([woken] { woken.resume(); });
    return true;
  }

  // Closes the mailbox: later send() calls return false, and waiting receivers resume with an empty optional.
  // Messages already queued can still be received. Repeating it has no effect.
  void close() {
    Executor& executor = executor_;
    std::deque<Waiting> woken;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      woken.swap(waiting_);
    }
    for (const Waiting& one : woken) {
      executor.post([handle = one.handle] { handle.resume(); });
    }
  }

  // `co_await mailbox.receive()` waits for the next message and returns it; returns an empty optional once the
  // mailbox is closed and empty. The mailbox must not be destroyed while a coroutine waits: close() it first.
  auto receive() { return Receiver{*this, std::nullopt}; }

 private:
  struct Receiver {
    Mailbox& mailbox;
    std::optional<T> message;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    // Takes a queued message and returns false, without suspending; returns false also when the mailbox is closed.
    // Otherwise adds the coroutine to the waiting receivers and returns true.
    bool await_suspend(std::coroutine_handle<> handle) {
      const std::lock_guard lock(mailbox.mutex_);
      if (!mailbox.messages_.empty()) {
        message.emplace(std::move(mailbox.messages_.front()));
        mailbox.messages_.pop_front();
        return false;
      }
      if (mailbox.closed_) return false;
      mailbox.waiting_.push_back({this, handle});
      return true;
    }
    std::optional<T> await_resume() { return std::move(message); }
  };
  struct Waiting {
    Receiver* receiver;
    std::coroutine_handle<> handle;
  };

  Executor& executor_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::deque<T> messages_;
  std::deque<Waiting> waiting_;
  bool closed_ = false;
};

}  // namespace vectis::inline v0_1
