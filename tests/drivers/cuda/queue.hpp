// Work enqueued on streams that has not run yet. It runs as late as possible, when it is waited for, in an order drawn
// from a seed within what streams and events allow: code that forgets to wait finds it not done.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "memory.hpp"

namespace vectis::test_driver {

struct Context {
  int device = 0;
  int holders = 0;
  int failure = 0;  // a failure of work, which sticks
  std::int64_t objects = 0;
  std::set<int> peers;  // devices whose memory it may access
};

struct Stream;

// A position in a stream's order.
struct Place {
  Stream* stream = nullptr;
  bool passed = false;
  std::uint64_t time = 0;
  std::uint64_t due = 0;  // on the timeline
};

struct Work {
  std::function<void()> run;                          // null: nothing to do
  std::vector<std::shared_ptr<Allocation>> memories;  // that it uses; null: memory the driver does not know
  std::shared_ptr<Place> after;                       // cannot run before this has passed
  std::shared_ptr<Place> marks;                       // passes when it has run
};

struct Stream {
  Context* context = nullptr;
  std::deque<Work> work;
};

class Queue {
 public:
  // 0: everything runs at once.
  void set_order(std::uint64_t seed);
  void advance_clock(std::uint64_t nanoseconds) { ahead_ += nanoseconds; }

  void add(Stream& stream);
  void remove(Stream& stream);  // its work runs first
  void push(Stream& stream, Work work);

  void finish(Stream& stream);
  void finish(const Context& context);
  void reach(const Place& place);
  // Runs some work, as the passing of time would.
  void pass_time();
  std::mt19937_64& random() { return random_; }

 private:
  static bool is_ready(const Stream& stream);
  // The stream whose head must run next for `wanted` to go on.
  static Stream& needed(Stream& wanted);
  Stream* any_ready();
  void run_head(Stream& stream);
  template <class Done>
  void run_until(Stream& stream, const Done& done);

  std::vector<Stream*> streams_;  // in the order they were made: addresses differ between runs
  std::mt19937_64 random_{1};
  bool late_ = true;
  std::uint64_t ahead_ = 0;
};

}  // namespace vectis::test_driver
