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

// A first-in first-out queue of at most `capacity` messages. Close it before it is destroyed if a receiver may still
// wait. A receiver that was woken may destroy it. Thread-safe.
template <class T>
class Mailbox {
 public:
  Mailbox(Executor& executor, std::size_t capacity) : executor_(executor), capacity_(capacity) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns false when the mailbox is full or closed: the message is dropped, as on a network. Never waits.
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

  // Wakes all waiting receivers with an empty result. Messages already queued can still be received.
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

  // `co_await mailbox.receive()` returns the next message, or an empty optional once the mailbox is closed and empty.
  auto receive() { return Receiver{*this, std::nullopt}; }

 private:
  struct Receiver {
    Mailbox& mailbox;
    std::optional<T> message;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    // Returns false, without suspending, when a message is queued or the mailbox is closed.
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
