#include "vectis/memory/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <ostream>
#include <utility>

#include "memory/log_text.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::size_t AllocationLog::allocations() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(events, AllocationEvent::Kind::allocate, &AllocationEvent::kind));
}

std::uint64_t AllocationLog::peak_bytes() const {
  std::unordered_map<std::uint64_t, std::uint64_t> live;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;
  for (const AllocationEvent& event : events) {
    if (event.kind == AllocationEvent::Kind::allocate) {
      live.emplace(event.id, event.bytes);
      bytes += event.bytes;
      peak = std::max(peak, bytes);
    } else if (const auto found = live.find(event.id); found != live.end()) {
      bytes -= found->second;
      live.erase(found);
    }
  }
  return peak;
}

namespace {

// What the lines so far say about the next one.
class Order {
 public:
  // Empty: the event may come next.
  std::string fault(const AllocationEvent& event) {
    if (event.time && last_time_ && *event.time < *last_time_) return "its time is before that of an earlier line";
    if (event.time) last_time_ = event.time;
    return event.kind == AllocationEvent::Kind::allocate ? allocate(event) : release(event);
  }

 private:
  struct Allocation {
    std::uint64_t bytes;
    bool live;
  };

  std::string allocate(const AllocationEvent& event) {
    if (!known_.emplace(event.id, Allocation{event.bytes, true}).second) {
      return fmt::format("id {} was allocated before; every allocation needs its own", event.id);
    }
    live_bytes_ += event.bytes;  // both at most 2^62
    if (live_bytes_ > log_live_bytes_max) return fmt::format("more than {} bytes are live at once", log_live_bytes_max);
    return {};
  }

  std::string release(const AllocationEvent& event) {
    const auto found = known_.find(event.id);
    if (found == known_.end()) return fmt::format("id {} is released but was never allocated", event.id);
    if (!found->second.live) return fmt::format("id {} is released a second time", event.id);
    found->second.live = false;
    live_bytes_ -= found->second.bytes;
    return {};
  }

  std::unordered_map<std::uint64_t, Allocation> known_;
  std::uint64_t live_bytes_ = 0;
  std::optional<Duration> last_time_;
};

[[noreturn]] void corrupt(std::size_t line, const std::string& what) {
  throw Error(ErrorCode::corrupt_data, "read_allocation_log", fmt::format("line {}: {}", line, what));
}

// False at the end of the log.
bool next_line(std::istream& in, std::string* line, std::size_t number) {
  if (!std::getline(in, *line)) {
    if (in.bad()) throw Error(ErrorCode::io, "read_allocation_log", fmt::format("reading failed at line {}", number));
    return false;
  }
  if (in.eof()) corrupt(number, "the last line has no end; the log was cut off");
  return true;
}

}  // namespace

AllocationLog read_allocation_log(std::istream& in) {
  AllocationLog log;
  Order order;
  std::string line;
  if (!next_line(in, &line, 1)) corrupt(1, "the log is empty");
  if (std::string fault = detail::header_fault(line); !fault.empty()) corrupt(1, fault);
  for (std::size_t number = 2; next_line(in, &line, number); ++number) {
    if (line.starts_with('#')) continue;
    std::string fault;
    AllocationEvent event = detail::parse_event(line, &fault);
    if (fault.empty()) fault = order.fault(event);
    if (!fault.empty()) corrupt(number, fault);
    log.events.push_back(std::move(event));
  }
  return log;
}

void write_allocation_log(std::ostream& out, const AllocationLog& log) {
  out << detail::log_header << '\n';
  for (const AllocationEvent& event : log.events) out << detail::format_event(event) << '\n';
}

AllocationRecorder::AllocationRecorder(std::ostream& out, const Executor* clock) : out_(out), clock_(clock) {
  if (clock_ != nullptr) start_ = clock_->now();
  out_ << detail::log_header << '\n';
  complete_ = out_.good();
}

std::optional<Duration> AllocationRecorder::elapsed() const {
  return clock_ == nullptr ? std::nullopt : std::optional<Duration>(clock_->now() - start_);
}

std::uint32_t AllocationRecorder::number_of(const Stream* stream) {
  if (stream == nullptr) return 0;
  const auto next = static_cast<std::uint32_t>(stream_numbers_.size() + 1);
  const std::uint32_t number = stream_numbers_.emplace(stream->core(), next).first->second;
  return (number - 1) % log_streams_max + 1;  // beyond the format's most, streams share numbers
}

void AllocationRecorder::write(const AllocationEvent& event) {
  out_ << detail::format_event(event) << '\n';
  if (!out_.good()) complete_ = false;
}

void AllocationRecorder::allocated(std::uint64_t key, const MemoryRequest& request) noexcept {
  const std::lock_guard lock(mutex_);
  if (!complete_) return;
  try {
    const std::uint64_t id = next_id_++;
    ids_.insert_or_assign(key, id);
    write({AllocationEvent::Kind::allocate, id, request.bytes, request.precision, number_of(request.stream),
           std::string(request.context.memory_tag()), elapsed()});
  } catch (...) {
    complete_ = false;
  }
}

void AllocationRecorder::released(std::uint64_t key) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  if (found == ids_.end()) return;
  const std::uint64_t id = found->second;
  ids_.erase(found);
  if (!complete_) return;
  try {
    AllocationEvent event;
    event.kind = AllocationEvent::Kind::release;
    event.id = id;
    event.time = elapsed();
    write(event);
  } catch (...) {
    complete_ = false;
  }
}

bool AllocationRecorder::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

namespace {

// A live block's handle is its own.
std::uint64_t key_of(const MemoryBlock& block) { return reinterpret_cast<std::uintptr_t>(block.memory.core().get()); }

}  // namespace

LogResource::LogResource(MemoryResource& upstream, std::ostream& out, const Executor* clock)
    : upstream_(upstream), recorder_(out, clock) {}

MemoryBlock LogResource::allocate(const MemoryRequest& request) {
  MemoryBlock block = upstream_.allocate(request);
  recorder_.allocated(key_of(block), request);
  return block;
}

// Recorded first: once the upstream has it, another thread may get the same handle.
void LogResource::deallocate(MemoryBlock block, Stream* stream) noexcept {
  recorder_.released(key_of(block));
  upstream_.deallocate(std::move(block), stream);
}

}  // namespace vectis::inline v0_1
