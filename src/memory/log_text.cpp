#include "memory/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::array precisions = {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};
constexpr std::string_view no_tag = "-";
constexpr std::size_t quoted_max = 40;  // characters of a faulty text that a message repeats

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char one : text.substr(0, quoted_max)) result += one >= ' ' && one <= '~' ? one : '?';
  return result + (text.size() > quoted_max ? "...'" : "'");
}

// Visible ASCII stands for itself, but for the escape sign and what would be no tag or a time.
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

// Takes the fields of a line one after another and keeps the first fault.
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
    if (!field.starts_with('@')) return fail(fmt::format("{} is no time, which reads @nanoseconds", quoted(field)));
    const std::uint64_t count = to_number(field.substr(1), "time", 0, std::numeric_limits<Duration::rep>::max());
    if (more_) return fail(fmt::format("nothing may follow the time, but {} does", quoted(rest_)));
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
      fail(fmt::format("the {} {} is no number", what, quoted(field)));
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
    fields->fail(fmt::format("{} is no precision; there are fp32, fp16, bf16 and int8", quoted(precision)));
  } else {
    event->precision = *known;
  }
  event->stream = static_cast<std::uint32_t>(fields->number("stream", 0, log_streams_max));
  const std::string_view field = fields->text("tag");
  if (const auto tag = unescaped(field)) {
    event->tag = *tag;
  } else {
    fields->fail(fmt::format("{} is no tag; other than visible characters are written %XX", quoted(field)));
  }
}

}  // namespace

std::string header_fault(std::string_view line) {
  if (line == log_header) return {};
  const std::string_view name = log_header.substr(0, log_header.find(' ') + 1);
  if (line.starts_with(name)) {
    return fmt::format("version {} of the format is not known, only 1", quoted(line.substr(name.size())));
  }
  return fmt::format("it reads {}, not '{}'; this is no allocation log", quoted(line), log_header);
}

std::string format_event(const AllocationEvent& event) {
  std::string line = event.kind == AllocationEvent::Kind::release
                         ? fmt::format("f {}", event.id)
                         : fmt::format("a {} {} {} {} {}", event.id, event.bytes, name(event.precision), event.stream,
                                       escaped(event.tag));
  if (event.time) line += fmt::format(" @{}", event.time->count());
  return line;
}

AllocationEvent parse_event(std::string_view line, std::string* fault) {
  AllocationEvent event;
  Fields fields(line, fault);
  const std::string_view kind = fields.text("operation");
  if (kind != "a" && kind != "f") fields.fail(fmt::format("{} is no operation; there are a and f", quoted(kind)));
  event.id = fields.number("id", 0, std::numeric_limits<std::uint64_t>::max());
  if (kind == "a") {
    parse_allocation(&fields, &event);
  } else {
    event.kind = AllocationEvent::Kind::release;
  }
  event.time = fields.time_if_any();
  return event;
}

}  // namespace vectis::inline v0_1::detail
