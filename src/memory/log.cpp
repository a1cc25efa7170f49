#include "vectis/memory/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <map>
#include <ostream>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::size_t AllocationLog::allocations() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(events, AllocationEvent::Kind::allocate, &AllocationEvent::kind));
}

std::uint64_t AllocationLog::peak_bytes() const {
  std::map<std::uint64_t, std::uint64_t> live;  // no hash: a log may have ids chosen to collide
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

constexpr std::string_view log_header = "vectis-allocation-log 1";
constexpr std::array precisions = {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};
constexpr std::string_view no_tag = "-";
constexpr std::size_t max_quoted = 40;  // characters of a faulty field that a message repeats

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char one : text.substr(0, max_quoted)) result += one >= ' ' && one <= '~' ? one : '?';
  return result + (text.size() > max_quoted ? "...'" : "'");
}

// Visible ASCII is written as it is, except '%' and a leading '-' (no tag) or '@' (a time).
bool is_plain(char one, bool first) {
  return one > ' ' && one <= '~' && one != '%' && !(first && (one == '-' || one == '@'));
}

std::string escaped(std::string_view tag) {
  if (tag.empty()) return std::string(no_tag);
  std::string result;
  for (const char one : tag) {
    if (is_plain(one, result.empty())) {
      result += one;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(one));
    }
  }
  return result;
}

std::optional<std::string> unescaped(std::string_view field) {
  if (field == no_tag) return std::string();
  std::string result;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '%') {
      if (!is_plain(field[i], i == 0)) return std::nullopt;
      result += field[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = field.substr(i + 1, 2);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

// Reads the fields of a line in order and keeps the first fault.
class Fields {
 public:
  Fields(std::string_view line, std::string* fault) : rest_(line), fault_(fault) {}

  std::string_view text(std::string_view what) {
    if (!fault_->empty()) return {};
    const std::size_t end = rest_.find(' ');
    const std::string_view field = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    more_ = end != std::string_view::npos;
    if (field.empty()) *fault_ = fmt::format("the {} is missing", what);
    return field;
  }

  std::uint64_t number(std::string_view what, std::uint64_t min, std::uint64_t max) {
    return to_number(text(what), what, min, max);
  }

  std::optional<Duration> time_if_any() {
    if (!fault_->empty() || !more_) return std::nullopt;
    const std::string_view field = text("time");
    if (!field.starts_with('@')) return fail(fmt::format("{} is no time; write @nanoseconds", quoted(field)));
    const std::uint64_t count = to_number(field.substr(1), "time", 0, std::numeric_limits<Duration::rep>::max());
    if (more_) return fail(fmt::format("{} follows the time, which must be last", quoted(rest_)));
    return Duration(static_cast<Duration::rep>(count));
  }

  std::nullopt_t fail(const std::string& fault) {
    if (fault_->empty()) *fault_ = fault;
    return std::nullopt;
  }

 private:
  std::uint64_t to_number(std::string_view field, std::string_view what, std::uint64_t min, std::uint64_t max) {
    if (!fault_->empty()) return 0;
    std::uint64_t value = 0;
    const auto end = std::from_chars(field.data(), field.data() + field.size(), value);
    if (end.ec == std::errc::invalid_argument || end.ptr != field.data() + field.size()) {
      fail(fmt::format("the {} {} is not a number", what, quoted(field)));
    } else if (end.ec != std::errc() || value < min || value > max) {
      fail(fmt::format("the {} {} is not between {} and {}", what, quoted(field), min, max));
    }
    return value;
  }

  std::string_view rest_;
  std::string* fault_;
  bool more_ = true;
};

void parse_allocation(Fields* fields, AllocationEvent* event) {
  event->bytes = fields->number("size", 1, log_live_bytes_max);
  const std::string_view precision = fields->text("precision");
  const auto* known = std::ranges::find_if(precisions, [&](Precision one) { return name(one) == precision; });
  if (known == precisions.end()) {
    fields->fail(fmt::format("{} is no precision; use fp32, fp16, bf16 or int8", quoted(precision)));
  } else {
    event->precision = *known;
  }
  event->stream = static_cast<std::uint32_t>(fields->number("stream", 0, log_streams_max));
  const std::string_view field = fields->text("tag");
  if (const auto tag = unescaped(field)) {
    event->tag = *tag;
  } else {
    fields->fail(fmt::format("{} is no tag; write other than visible ASCII characters as %XX", quoted(field)));
  }
}

// What is wrong with the first line; empty when it is valid.
std::string header_fault(std::string_view line) {
  if (line == log_header) return {};
  const std::string_view name = log_header.substr(0, log_header.find(' ') + 1);
  if (line.starts_with(name)) {
    return fmt::format("version {} of the format is unknown; this version of Vectis reads 1",
                       quoted(line.substr(name.size())));
  }
  return fmt::format("the first line is {}, not '{}'; this is no allocation log", quoted(line), log_header);
}

std::string format_event(const AllocationEvent& event) {
  std::string line = event.kind == AllocationEvent::Kind::release
                         ? fmt::format("f {}", event.id)
                         : fmt::format("a {} {} {} {} {}", event.id, event.bytes, name(event.precision), event.stream,
                                       escaped(event.tag));
  if (event.time) line += fmt::format(" @{}", event.time->count());
  return line;
}

// Sets `fault` when the line is no event.
AllocationEvent parse_event(std::string_view line, std::string* fault) {
  AllocationEvent event;
  Fields fields(line, fault);
  const std::string_view kind = fields.text("operation");
  if (kind != "a" && kind != "f") fields.fail(fmt::format("{} is no operation; use a or f", quoted(kind)));
  event.id = fields.number("id", 0, std::numeric_limits<std::uint64_t>::max());
  if (kind == "a") {
    parse_allocation(&fields, &event);
  } else {
    event.kind = AllocationEvent::Kind::release;
  }
  event.time = fields.time_if_any();
  return event;
}

// What is wrong with the fields of an event that was not read from a text; empty when they are valid.
std::string field_fault(const AllocationEvent& event) {
  if (event.kind == AllocationEvent::Kind::release) return {};
  if (event.kind != AllocationEvent::Kind::allocate) {
    return fmt::format("{} is no kind; use allocate or release", static_cast<int>(event.kind));
  }
  if (event.bytes < 1 || event.bytes > log_live_bytes_max) {
    return fmt::format("the size {} is not between 1 and {}", event.bytes, log_live_bytes_max);
  }
  if (std::ranges::find(precisions, event.precision) == precisions.end()) {
    return fmt::format("{} is no precision; use an enumerator of Precision", static_cast<int>(event.precision));
  }
  if (event.stream > log_streams_max) {
    return fmt::format("the stream {} is not between 0 and {}", event.stream, log_streams_max);
  }
  return {};
}

// Checks that events follow each other as AllocationLog::events requires.
class OrderChecker {
 public:
  // What is wrong with the next event; empty when it is valid.
  std::string fault(const AllocationEvent& event) {
    if (event.time && *event.time < Duration::zero()) return "its time is before the start of the log";
    if (event.time && last_time_ && *event.time < *last_time_)
      return "its time is earlier than that of the event before";
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
      return fmt::format("id {} was allocated before; ids must be unique", event.id);
    }
    live_bytes_ += event.bytes;  // no overflow: both are at most 2^62
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

  std::map<std::uint64_t, Allocation> known_;  // no hash: a log may have ids chosen to collide
  std::uint64_t live_bytes_ = 0;
  std::optional<Duration> last_time_;
};

[[noreturn]] void throw_corrupt(std::size_t line, const std::string& what) {
  throw Error(ErrorCode::corrupt_data, "read_allocation_log", fmt::format("line {}: {}", line, what));
}

// Reads the next line; false at the end of the log.
bool next_line(std::istream& in, std::string* line, std::size_t number) {
  if (!std::getline(in, *line)) {
    if (in.bad()) throw Error(ErrorCode::io, "read_allocation_log", fmt::format("reading failed at line {}", number));
    return false;
  }
  if (in.eof()) throw_corrupt(number, "the last line has no line end; the log is truncated");
  return true;
}

}  // namespace

AllocationLog read_allocation_log(std::istream& in) {
  AllocationLog log;
  OrderChecker order;
  std::string line;
  if (!next_line(in, &line, 1)) throw_corrupt(1, "the log is empty");
  if (std::string fault = header_fault(line); !fault.empty()) throw_corrupt(1, fault);
  for (std::size_t number = 2; next_line(in, &line, number); ++number) {
    if (line.starts_with('#')) continue;
    std::string fault;
    AllocationEvent event = parse_event(line, &fault);
    if (fault.empty()) fault = order.fault(event);
    if (!fault.empty()) throw_corrupt(number, fault);
    log.events.push_back(std::move(event));
  }
  return log;
}

void validate_allocation_log(const AllocationLog& log) {
  OrderChecker order;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    std::string fault = field_fault(log.events[i]);
    if (fault.empty()) fault = order.fault(log.events[i]);
    if (fault.empty()) continue;
    throw Error(ErrorCode::invalid_input, "validate_allocation_log", fmt::format("event {}: {}", i, fault));
  }
}

void write_allocation_log(std::ostream& out, const AllocationLog& log) {
  out << log_header << '\n';
  for (const AllocationEvent& event : log.events) out << format_event(event) << '\n';
}

AllocationRecorder::AllocationRecorder(std::ostream& out, const Executor* clock) : out_(out), clock_(clock) {
  if (clock_ != nullptr) start_ = clock_->now();
  out_ << log_header << '\n';
  complete_ = out_.good();
}

std::optional<Duration> AllocationRecorder::elapsed() const {
  return clock_ == nullptr ? std::nullopt : std::optional<Duration>(clock_->now() - start_);
}

std::uint32_t AllocationRecorder::number_of(const Stream* stream) {
  if (stream == nullptr) return 0;
  const auto next = static_cast<std::uint32_t>(stream_numbers_.size() + 1);
  const std::uint32_t number = stream_numbers_.emplace(stream->core(), next).first->second;
  return (number - 1) % log_streams_max + 1;  // beyond the format's limit, streams share numbers
}

void AllocationRecorder::write(const AllocationEvent& event) {
  out_ << format_event(event) << '\n';
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

// Unique among live blocks.
std::uint64_t key_of(const MemoryBlock& block) { return reinterpret_cast<std::uintptr_t>(block.memory.core().get()); }

}  // namespace

LogResource::LogResource(MemoryResource& upstream, std::ostream& out, const Executor* clock)
    : upstream_(upstream), recorder_(out, clock) {}

MemoryBlock LogResource::allocate(const MemoryRequest& request) {
  MemoryBlock block = upstream_.allocate(request);
  recorder_.allocated(key_of(block), request);
  return block;
}

// Recorded first: once the upstream has the block, another thread may get the same handle.
void LogResource::deallocate(MemoryBlock block, Stream* stream) noexcept {
  recorder_.released(key_of(block));
  upstream_.deallocate(std::move(block), stream);
}

}  // namespace vectis::inline v0_1
