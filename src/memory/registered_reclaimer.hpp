// A reclaimer registered with a pool, and its calls in progress.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::detail {

// Calls a Reclaimer until it is removed. No lock is held during a call, so that several threads may run the reclaimer
// at once. Thread-safe.
class RegisteredReclaimer {
 public:
  // Makes the reclaimer registered as `id`. `reclaimer.reclaim` must not be empty.
  RegisteredReclaimer(int id, Reclaimer reclaimer) : id_(id), reclaimer_(std::move(reclaimer)) {}
  RegisteredReclaimer(const RegisteredReclaimer&) = delete;
  RegisteredReclaimer& operator=(const RegisteredReclaimer&) = delete;

  [[nodiscard]] int id() const noexcept { return id_; }
  [[nodiscard]] int cost() const noexcept { return reclaimer_.cost; }
  [[nodiscard]] const std::string& name() const noexcept { return reclaimer_.name; }

  // Calls the reclaimer and returns the bytes it freed. Returns 0, without a call, once it was removed, and when this
  // thread is in a call of it: a reclaimer whose own request fails would otherwise call itself without end. Throws what
  // the reclaimer throws.
  std::uint64_t reclaim(int device, std::uint64_t bytes) {
    const std::thread::id self = std::this_thread::get_id();
    {
      const std::lock_guard lock(mutex_);
      if (removed_ || is_called_by(self)) return 0;
      callers_.push_back(self);
      running_.fetch_add(1, std::memory_order_relaxed);
    }
    struct Ended {  // also when the reclaimer throws
      RegisteredReclaimer& owner;
      std::thread::id caller;
      ~Ended() { owner.end_call(caller); }
    };
    const Ended ended{*this, self};
    return reclaimer_.reclaim(device, bytes);
  }

  // Prevents further calls, waits for the calls of other threads and destroys the callback, or lets the last call
  // destroy it. Called from the callback itself, does not wait, since two threads that both do so would wait for each
  // other.
  void remove() {
    std::function<std::uint64_t(int, std::uint64_t)> unused;  // destroyed without the lock
    {
      const std::lock_guard lock(mutex_);
      removed_ = true;
      if (is_called_by(std::this_thread::get_id())) return;
      if (callers_.empty()) unused.swap(reclaimer_.reclaim);
    }
    for (std::size_t running = running_.load(std::memory_order_acquire); running > 0;
         running = running_.load(std::memory_order_acquire)) {
      running_.wait(running, std::memory_order_acquire);
    }
  }

  // Returns whether the reclaimer was removed, so that no further call begins.
  [[nodiscard]] bool is_removed() {
    const std::lock_guard lock(mutex_);
    return removed_;
  }
  // Returns whether the reclaimer was removed and no call is in progress.
  [[nodiscard]] bool has_ended() {
    const std::lock_guard lock(mutex_);
    return removed_ && running_.load(std::memory_order_acquire) == 0;
  }

 private:
  // The caller holds mutex_.
  [[nodiscard]] bool is_called_by(std::thread::id thread) const {
    return std::ranges::find(callers_, thread) != callers_.end();
  }

  void end_call(std::thread::id caller) {
    {
      std::function<std::uint64_t(int, std::uint64_t)> unused;  // destroyed without the lock, before remove() returns
      const std::lock_guard lock(mutex_);
      callers_.erase(std::ranges::find(callers_, caller));
      if (removed_ && callers_.empty()) unused.swap(reclaimer_.reclaim);
    }
    running_.fetch_sub(1, std::memory_order_release);
    running_.notify_all();
  }

  const int id_;
  Reclaimer reclaimer_;
  std::mutex mutex_;
  bool removed_ = false;
  std::vector<std::thread::id> callers_;  // the threads with a call in progress
  std::atomic<std::size_t> running_{0};   // calls that have not ended, which remove() waits for
};

}  // namespace vectis::inline v0_1::detail
