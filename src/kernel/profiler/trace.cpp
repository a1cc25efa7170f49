#include "kernel/profiler/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr int host_process = 1;
constexpr int first_device_process = 100;
constexpr std::size_t piece_bytes = 1 << 16;

// A JSON string, quotes included; bytes that are no UTF-8 become replacement characters.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with all their nanoseconds.
std::string microseconds(std::uint64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

int process_of(int device) { return device < 0 ? host_process : first_device_process + device; }

class TraceWriter {
 public:
  TraceWriter(const ProfileCopy& copy, const std::function<void(std::string_view)>& write)
      : copy_(copy), write_(write) {
    names_.reserve(copy.names.size());
    for (const std::string& name : copy.names) names_.push_back(json_text(name));
  }

  void write_all() {
    buffer_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
    write_tracks();
    for (const SpanRecord& span : copy_.spans) write_span(span);
    for (const SampleRecord& sample : copy_.samples) write_sample(sample);
    if (copy_.frame.losses.dropped > 0) write_dropped();
    buffer_ += fmt::format(
        R"(],"otherData":{{"made by":{},"events dropped":"{}","work without device times":"{}","capacity":"{}"}}}})",
        json_text(fmt::format("vectis {}", version())), copy_.frame.losses.dropped, copy_.frame.losses.untimed,
        copy_.frame.capacity);
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
    if (buffer_.size() < piece_bytes) return;
    write_(buffer_);
    buffer_.clear();
  }

  // Since the profile began. Work given before may still have been under way then.
  [[nodiscard]] std::string time(std::uint64_t host) const {
    return microseconds(host - std::min(host, copy_.frame.origin));
  }
  static std::string length(std::uint64_t begin, std::uint64_t end) { return microseconds(end - std::min(begin, end)); }

  void write_process(int process, const std::string& name, int place) {
    event(R"("ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}})", process, json_text(name));
    event(R"("ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}})", process, place);
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
    for (const SpanRecord& span : copy_.spans) {
      threads.insert(span.thread);
      if (span.timed_by == TimedBy::device) streams.emplace(span.device, span.stream);
    }
    for (const auto& [device, stream] : streams) devices.insert(device);
    for (const SampleRecord& sample : copy_.samples) devices.insert(sample.device);
    write_process(host_process, "host", 0);
    for (const std::uint32_t thread : threads) write_thread(host_process, thread, "thread");
    for (const int device : devices) {
      const auto at = static_cast<std::size_t>(device);
      write_process(process_of(device), fmt::format("{} {}", copy_.device_labels[at], copy_.device_names[at]),
                    1 + device);
    }
    for (const auto& [device, stream] : streams) write_thread(process_of(device), stream, "stream");
  }

  // {"bytes":…} and what else is known.
  [[nodiscard]] std::string arguments(const SpanRecord& span, std::uint64_t nanoseconds) const {
    std::string text = fmt::format(R"({{"id":{})", span.id);
    if (span.device >= 0) {
      text += fmt::format(R"(,"device":{})", json_text(copy_.device_labels[static_cast<std::size_t>(span.device)]));
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
    if (span.crossing) {  // slices of one track must nest; one that does not is drawn on a track of its own
      event(R"("ph":"b","cat":"range","name":{},"id":{},"pid":{},"tid":{},"ts":{},"args":{})", name, span.id,
            host_process, span.thread, time(span.begin), details);
      event(R"("ph":"e","cat":"range","name":{},"id":{},"pid":{},"tid":{},"ts":{})", name, span.id, host_process,
            span.thread, time(span.end));
      return;
    }
    event(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{})", vectis::name(span.kind),
          name, host_process, span.thread, time(span.begin), length(span.begin, span.end), details);
    if (span.timed_by == TimedBy::device) write_device_work(span);
  }

  void write_device_work(const SpanRecord& span) {
    const int process = process_of(span.device);
    event(R"("ph":"s","cat":"flow","name":"given to device","id":{},"pid":{},"tid":{},"ts":{})", span.id, host_process,
          span.thread, time(span.begin));
    event(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{})", vectis::name(span.kind),
          names_[span.name], process, span.stream, time(span.device_begin), length(span.device_begin, span.device_end),
          arguments(span, span.device_end - span.device_begin));
    event(R"("ph":"f","bp":"e","cat":"flow","name":"given to device","id":{},"pid":{},"tid":{},"ts":{})", span.id,
          process, span.stream, time(span.device_begin));
  }

  void write_sample(const SampleRecord& sample) {
    event(R"("ph":"C","name":"memory pool","pid":{},"tid":0,"ts":{},"args":{{"live bytes":{},"cached bytes":{}}})",
          process_of(sample.device), time(sample.time), sample.live_bytes, sample.cached_bytes);
  }

  void write_dropped() {
    const std::string text =
        fmt::format("{} events dropped; raise capacity (now {})", copy_.frame.losses.dropped, copy_.frame.capacity);
    event(R"("ph":"i","s":"g","name":{},"pid":{},"tid":0,"ts":0)", json_text(text), host_process);
  }

  const ProfileCopy& copy_;
  const std::function<void(std::string_view)>& write_;
  std::vector<std::string> names_;
  std::string buffer_;
  bool first_ = true;
};

}  // namespace

void write_trace(const ProfileCopy& copy, const std::function<void(std::string_view)>& write) {
  TraceWriter(copy, write).write_all();
}

}  // namespace vectis::inline v0_1::detail
