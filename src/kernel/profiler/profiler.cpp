#include "vectis/kernel/profiler.hpp"

#include <array>
#include <exception>
#include <ostream>

#include "kernel/profiler/exporters.hpp"
#include "kernel/profiler/profiler_service.hpp"
#include "kernel/profiler/recorder.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::string_view name(ProfileClock clock) noexcept { return clock == ProfileClock::host ? "host" : "device"; }

std::string_view name(SpanKind kind) noexcept {
  constexpr std::array<std::string_view, 7> names = {"range",        "launch",         "operation", "copy_to_device",
                                                     "copy_to_host", "copy_on_device", "fill"};
  return names[static_cast<std::size_t>(kind)];
}

double ProfileRow::mean_nanoseconds() const noexcept {
  return calls == 0 ? 0.0 : static_cast<double>(total.count()) / static_cast<double>(calls);
}

double ProfileRow::gigabytes_per_second() const noexcept {
  return total.count() == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(total.count());
}

ProfilerSink::~ProfilerSink() = default;
void ProfilerSink::begin(const HostSpan& /*span*/) {}
void ProfilerSink::end(const HostSpan& /*span*/) {}
void ProfilerSink::device_span(const DeviceSpan& /*span*/) {}
void ProfilerSink::pool_sample(const PoolSample& /*sample*/) {}

Profiler::Profiler(Runtime& runtime, const ProfilerOptions& options)
    : recorder_(std::make_shared<detail::Recorder>(runtime, options)),
      service_(&runtime.service<detail::ProfilerService>()) {
  resume();
}

Profiler::~Profiler() { service_->remove(recorder_); }

void Profiler::start(std::string_view name) { static_cast<void>(recorder_->open({.name = name})); }
void Profiler::end(std::string_view name, std::uint64_t bytes, int device) { recorder_->close(name, bytes, device); }

void Profiler::pause() {
  service_->remove(recorder_);
  recorder_->stop();
}

void Profiler::resume() {
  service_->add(recorder_);
  recorder_->sample();
}

bool Profiler::paused() const { return !recorder_->enabled(); }
void Profiler::clear() { recorder_->clear(); }
std::vector<ProfileRow> Profiler::rows() const { return recorder_->rows(); }
ProfileLosses Profiler::losses() const { return recorder_->session().losses; }
int Profiler::add_sink(std::shared_ptr<ProfilerSink> sink) { return recorder_->add_sink(std::move(sink)); }
void Profiler::remove_sink(int number) { recorder_->remove_sink(number); }

void Profiler::print_summary(std::ostream& out) const {
  const std::vector<ProfileRow> rows = recorder_->rows();
  detail::print_summary(out, rows, recorder_->session());
}

void Profiler::write_trace(std::ostream& out) const {
  detail::write_trace(recorder_->snapshot(), [&](std::string_view text) {
    if (out << text) return;
    throw Error(ErrorCode::io, "write_trace", "the stream took no more; check the disk and the path");
  });
}

void Profiler::write_trace(ByteWriter& out) const {
  detail::write_trace(recorder_->snapshot(), [&](std::string_view text) { out.write(std::as_bytes(std::span(text))); });
}

ProfileRange::ProfileRange(Profiler& profiler, std::string_view name, std::uint64_t bytes, int device)
    : recorder_(profiler.recorder_), id_(recorder_->open({.name = name, .bytes = bytes, .device = device})) {}

ProfileRange::~ProfileRange() {
  try {
    recorder_->close(id_);
  } catch (const std::exception&) {
    recorder_->count_dropped();
  }
}

}  // namespace vectis::inline v0_1
