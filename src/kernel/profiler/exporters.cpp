#include "kernel/profiler/exporters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base/format.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t columns = 12;
constexpr std::size_t left_aligned = 3;  // name, device, clock
using Line = std::array<std::string, columns>;

// 12345 as "12,345".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

double milliseconds(Duration time) { return static_cast<double>(time.count()) * 1e-6; }
double microseconds(Duration time) { return static_cast<double>(time.count()) * 1e-3; }

Line line_of(const ProfileRow& row, std::uint64_t on) {
  const double share = on == 0 ? 0.0 : 100.0 * static_cast<double>(row.total.count()) / static_cast<double>(on);
  return {row.name,
          row.device.empty() ? "-" : row.device,
          std::string(name(row.clock)),
          grouped(row.calls),
          row.failed == 0 ? "-" : grouped(row.failed),
          fmt::format("{:.3f}", milliseconds(row.total)),
          fmt::format("{:.2f}", row.mean_nanoseconds() * 1e-3),
          fmt::format("{:.2f}", microseconds(row.min)),
          fmt::format("{:.2f}", microseconds(row.max)),
          fmt::format("{:.1f} %", share),
          row.bytes == 0 ? "-" : format_bytes(row.bytes),
          row.bytes == 0 ? "-" : fmt::format("{:.2f}", row.gigabytes_per_second())};
}

void print_line(std::ostream& out, const Line& line, const std::array<std::size_t, columns>& widths) {
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) {
    if (i > 0) text += "  ";
    text += i < left_aligned ? fmt::format("{:<{}}", line[i], widths[i]) : fmt::format("{:>{}}", line[i], widths[i]);
  }
  out << text << '\n';
}

void print_losses(std::ostream& out, const ProfileSession& session) {
  const ProfileLosses& lost = session.losses;
  if (lost.dropped > 0) {
    out << grouped(lost.dropped) << " events dropped from the trace; raise capacity (now " << grouped(session.capacity)
        << ")\n";
  }
  if (lost.untimed > 0) {
    out << grouped(lost.untimed) << " launches, copies or fills without device timestamps; their rows show host time\n";
  }
  if (lost.other_names > 0) {
    out << grouped(lost.other_names) << " calls under '" << StringTable::other
        << "'; use fewer different names (at most " << grouped(StringTable::names_max) << ")\n";
  }
  if (lost.sink_failures > 0) {
    out << grouped(lost.sink_failures) << " exceptions thrown by sinks; fix the sink\n";
  }
}

}  // namespace

void print_summary(std::ostream& out, std::span<const ProfileRow> rows, const ProfileSession& session) {
  std::vector<Line> lines = {{"name", "device", "clock", "calls", "failed", "total ms", "mean us", "min us", "max us",
                              "share", "bytes", "GB/s"}};
  for (const ProfileRow& row : rows) lines.push_back(line_of(row, session.on));
  std::array<std::size_t, columns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) print_line(out, line, widths);
  out << fmt::format("{} rows; shares are of the {:.3f} ms the profiler was on\n", rows.size(),
                     static_cast<double>(session.on) * 1e-6);
  print_losses(out, session);
}

namespace {

constexpr int host_process = 1;
constexpr int first_device_process = 100;
constexpr std::size_t chunk_bytes = 1 << 16;

// A quoted JSON string; invalid UTF-8 becomes replacement characters.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with three decimals.
std::string microseconds(std::uint64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

int process_of(int device) { return device < 0 ? host_process : first_device_process + device; }

class TraceWriter {
 public:
  TraceWriter(const ProfileSnapshot& snapshot, const std::function<void(std::string_view)>& write)
      : snapshot_(snapshot), write_(write) {
    names_.reserve(snapshot.names.size());
    for (const std::string& name : snapshot.names) names_.push_back(json_text(name));
  }

  void write_all() {
    buffer_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
    write_tracks();
    for (const SpanRecord& span : snapshot_.spans) write_span(span);
    for (const SampleRecord& sample : snapshot_.samples) write_sample(sample);
    if (snapshot_.session.losses.dropped > 0) write_dropped();
    buffer_ += fmt::format(
        R"(],"otherData":{{"made by":{},"events dropped":"{}","work without device times":"{}","capacity":"{}"}}}})",
        json_text(fmt::format("vectis {}", version())), snapshot_.session.losses.dropped,
        snapshot_.session.losses.untimed, snapshot_.session.capacity);
    buffer_ += '\n';
    write_(buffer_);
  }

 private:
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    buffer_ += first_ ? "\n{" : ",\n{";
    first_ = false;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
    buffer_ += '}';
    if (buffer_.size() < chunk_bytes) return;
    write_(buffer_);
    buffer_.clear();
  }

  // Time since the start of the profile; work submitted earlier starts at 0.
  [[nodiscard]] std::string time(std::uint64_t host) const {
    return microseconds(host - std::min(host, snapshot_.session.origin));
  }
  static std::string length(std::uint64_t begin, std::uint64_t end) { return microseconds(end - std::min(begin, end)); }

  void write_process(int process, const std::string& name, int sequence) {
    event(R"("ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}})", process, json_text(name));
    event(R"("ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}})", process, sequence);
  }
  void write_thread(int process, std::uint64_t thread, const char* kind) {
    event(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{} {}"}})", process, thread, kind,
          thread);
    event(R"("ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}})", process, thread,
          thread);
  }

  void write_tracks() {
    std::set<std::uint32_t> threads;
    std::set<std::pair<int, std::uint64_t>> streams;
    std::set<int> devices;
    for (const SpanRecord& span : snapshot_.spans) {
      threads.insert(span.thread);
      if (span.time_source == TimeSource::device) streams.emplace(span.device, span.stream);
    }
    for (const auto& [device, stream] : streams) devices.insert(device);
    for (const SampleRecord& sample : snapshot_.samples) devices.insert(sample.device);
    write_process(host_process, "host", 0);
    for (const std::uint32_t thread : threads) write_thread(host_process, thread, "thread");
    for (const int device : devices) {
      const auto at = static_cast<std::size_t>(device);
      write_process(process_of(device), fmt::format("{} {}", snapshot_.device_labels[at], snapshot_.device_names[at]),
                    1 + device);
    }
    for (const auto& [device, stream] : streams) write_thread(process_of(device), stream, "stream");
  }

  // The "args" object of an event.
  [[nodiscard]] std::string arguments(const SpanRecord& span, std::uint64_t nanoseconds) const {
    std::string text = fmt::format(R"({{"id":{})", span.id);
    if (span.device >= 0) {
      text += fmt::format(R"(,"device":{})", json_text(snapshot_.device_labels[static_cast<std::size_t>(span.device)]));
    }
    if (span.stream > 0) text += fmt::format(R"(,"stream":{})", span.stream);
    if (span.bytes > 0) text += fmt::format(R"(,"bytes":{})", span.bytes);
    if (span.bytes > 0 && nanoseconds > 0) {
      text += fmt::format(R"(,"GB/s":{:.3f})", static_cast<double>(span.bytes) / static_cast<double>(nanoseconds));
    }
    if (span.operations > 0) text += fmt::format(R"(,"operations":{:.0f})", span.operations);
    if (span.failed) text += R"(,"failed":true)";
    if (span.open) text += R"(,"open":true)";
    return text + '}';
  }

  void write_span(const SpanRecord& span) {
    const std::string& name = names_[span.name];
    const bool range = span.kind == SpanKind::range;
    const std::string details = arguments(span, range ? span.end - span.begin : 0);
    if (span.overlapping) {  // slices of one track must nest; an overlapping range gets a track of its own
      event(R"("ph":"b","cat":"range","name":{},"id":{},"pid":{},"tid":{},"ts":{},"args":{})", name, span.id,
            host_process, span.thread, time(span.begin), details);
      event(R"("ph":"e","cat":"range","name":{},"id":{},"pid":{},"tid":{},"ts":{})", name, span.id, host_process,
            span.thread, time(span.end));
      return;
    }
    event(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{})", vectis::name(span.kind),
          name, host_process, span.thread, time(span.begin), length(span.begin, span.end), details);
    if (span.time_source == TimeSource::device) write_device_work(span);
  }

  void write_device_work(const SpanRecord& span) {
    const int process = process_of(span.device);
    event(R"("ph":"s","cat":"flow","name":"submit","id":{},"pid":{},"tid":{},"ts":{})", span.id, host_process,
          span.thread, time(span.begin));
    event(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{})", vectis::name(span.kind),
          names_[span.name], process, span.stream, time(span.device_begin), length(span.device_begin, span.device_end),
          arguments(span, span.device_end - span.device_begin));
    event(R"("ph":"f","bp":"e","cat":"flow","name":"submit","id":{},"pid":{},"tid":{},"ts":{})", span.id, process,
          span.stream, time(span.device_begin));
  }

  void write_sample(const SampleRecord& sample) {
    event(R"("ph":"C","name":"memory pool","pid":{},"tid":0,"ts":{},"args":{{"live bytes":{},"cached bytes":{}}})",
          process_of(sample.device), time(sample.time), sample.live_bytes, sample.cached_bytes);
  }

  void write_dropped() {
    const std::string text = fmt::format("{} events dropped; raise capacity (now {})", snapshot_.session.losses.dropped,
                                         snapshot_.session.capacity);
    event(R"("ph":"i","s":"g","name":{},"pid":{},"tid":0,"ts":0)", json_text(text), host_process);
  }

  const ProfileSnapshot& snapshot_;
  const std::function<void(std::string_view)>& write_;
  std::vector<std::string> names_;
  std::string buffer_;
  bool first_ = true;
};

}  // namespace

void write_trace(const ProfileSnapshot& snapshot, const std::function<void(std::string_view)>& write) {
  TraceWriter(snapshot, write).write_all();
}

}  // namespace vectis::inline v0_1::detail
