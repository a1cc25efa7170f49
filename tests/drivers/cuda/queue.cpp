#include "queue.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "control.hpp"

namespace vectis::test_driver {

namespace {

void count_users(const Work& work, std::int64_t change) {
  for (const auto& memory : work.memories) {
    if (memory != nullptr) memory->pending += change;
  }
}

}  // namespace

void Queue::set_order(std::uint64_t seed) {
  late_ = seed != 0;
  random_.seed(seed);
}

void Queue::add(Stream& stream) { streams_.push_back(&stream); }

void Queue::remove(Stream& stream) {
  finish(stream);
  std::erase(streams_, &stream);
}

void Queue::push(Stream& stream, Work work) {
  count_users(work, 1);
  if (work.marks != nullptr) work.marks->stream = &stream;
  stream.work.push_back(std::move(work));
  if (!late_) finish(stream);
  if (late_ && random_() % 8 == 0) pass_time();
}

bool Queue::is_ready(const Stream& stream) {
  if (stream.work.empty()) return false;
  const Work& head = stream.work.front();
  return head.after == nullptr || head.after->passed;
}

Stream& Queue::needed(Stream& wanted) {
  Stream* stream = &wanted;
  while (!is_ready(*stream)) stream = stream->work.front().after->stream;
  return *stream;
}

Stream* Queue::any_ready() {
  std::vector<Stream*> ready;
  std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(ready),
               [](const Stream* stream) { return is_ready(*stream); });
  return ready.empty() ? nullptr : ready[random_() % ready.size()];
}

void Queue::run_head(Stream& stream) {
  const Work work = std::move(stream.work.front());
  stream.work.pop_front();
  count_users(work, -1);
  if (stream.context->failure == 0 && work.run != nullptr) {
    const auto planned = Control::get().begin_work();
    if (planned) {
      stream.context->failure = *planned;
    } else {
      work.run();
    }
  }
  if (work.marks == nullptr) return;
  work.marks->passed = true;
  work.marks->time = ahead_ + static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Half of the time nothing runs but what must, half of the time whatever can.
template <class Done>
void Queue::run_until(Stream& stream, const Done& done) {
  const bool sparing = random_() % 2 == 0;
  while (!done()) {
    Stream* other = sparing ? nullptr : any_ready();
    run_head(other == nullptr ? needed(stream) : *other);
  }
}

void Queue::finish(Stream& stream) {
  run_until(stream, [&] { return stream.work.empty(); });
}

void Queue::finish(const Context& context) {
  for (Stream* stream : streams_) {
    if (stream->context == &context) finish(*stream);
  }
}

void Queue::reach(const Place& place) {
  if (place.passed) return;
  run_until(*place.stream, [&] { return place.passed; });
}

void Queue::pass_time() {
  if (Stream* stream = any_ready(); stream != nullptr) run_head(*stream);
}

}  // namespace vectis::test_driver
