#include "replay/replay.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "replay/allocators.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::app {

namespace {

// One event with its lookups done beforehand, so that they are not timed.
struct Step {
  bool allocate;
  std::size_t slot;  // index of its allocation
};

// A log prepared for replay: streams created, ids resolved to slots.
class Trace {
 public:
  Trace(const AllocationLog& log, const DeviceContext& context) {
    std::map<std::uint64_t, std::size_t> slots;  // no hash: a log may have ids chosen to collide
    std::map<std::string, Context, std::less<>> tags;
    std::uint32_t streams = 0;
    for (const AllocationEvent& event : log.events) streams = std::max(streams, event.stream);
    streams_.reserve(streams);
    for (std::uint32_t i = 0; i < streams; ++i) streams_.emplace_back(context);
    for (const AllocationEvent& event : log.events) {
      if (event.kind == AllocationEvent::Kind::release) {
        steps_.push_back({false, slots.at(event.id)});
        continue;
      }
      const auto tag = tags.try_emplace(event.tag, Context{}.with_memory_tag(event.tag)).first;
      Stream* stream = event.stream == 0 ? nullptr : &streams_[event.stream - 1];
      slots.emplace(event.id, requests_.size());
      steps_.push_back({true, requests_.size()});
      requests_.push_back({event.bytes, event.precision, stream, tag->second});
    }
  }

  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
  [[nodiscard]] const MemoryRequest& request(std::size_t slot) const { return requests_[slot]; }
  [[nodiscard]] std::size_t slots() const noexcept { return requests_.size(); }

  void apply(const Step& step, ReplayAllocator& allocator) const {
    if (step.allocate) {
      allocator.allocate(step.slot, requests_[step.slot]);
    } else {
      allocator.release(step.slot);
    }
  }

 private:
  std::vector<Stream> streams_;
  std::vector<MemoryRequest> requests_;
  std::vector<Step> steps_;
};

// Collects the waste of one pass. The maximum needs the final high-water mark, so every sample is kept.
class WasteMeter {
 public:
  void add(std::uint64_t allocated, std::uint64_t requested) {
    if (requested == 0) return;
    const auto asked = static_cast<double>(requested);
    const double waste = (static_cast<double>(allocated) - asked) / asked;
    samples_.push_back({requested, waste});
    wasted_ += static_cast<double>(allocated) - asked;
    asked_ += asked;
  }

  [[nodiscard]] ReplayWaste result() const {
    ReplayWaste result;
    if (samples_.empty()) return result;
    const Sample& peak = *std::ranges::max_element(samples_, {}, &Sample::requested);
    result.at_peak = peak.waste;
    result.mean = wasted_ / asked_;
    for (const Sample& one : samples_) {
      if (one.requested >= peak.requested / 16) result.max = std::max(result.max, one.waste);
    }
    return result;
  }

 private:
  struct Sample {
    std::uint64_t requested;
    double waste;
  };
  std::vector<Sample> samples_;
  double wasted_ = 0;
  double asked_ = 0;
};

ReplayResult measure(const Trace& trace, ReplayAllocator& allocator) {
  WasteMeter meter;
  std::uint64_t requested = 0;
  for (const Step& step : trace.steps()) {
    trace.apply(step, allocator);
    const std::uint64_t bytes = trace.request(step.slot).bytes;
    requested = step.allocate ? requested + bytes : requested - bytes;
    meter.add(allocator.allocated_bytes(), requested);
  }
  return {allocator.name(), Duration{0}, allocator.peak_bytes(), meter.result(), allocator.device_allocations(), 0};
}

Duration time_round(const Executor& executor, const Trace& trace, ReplayAllocator& allocator) {
  const TimePoint start = executor.now();
  for (const Step& step : trace.steps()) trace.apply(step, allocator);
  const Duration total = executor.now() - start;
  allocator.release_all();
  return total / static_cast<Duration::rep>(std::max<std::size_t>(trace.steps().size(), 1));
}

Duration median(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

ReplayReport replay(Runtime& runtime, const Device& device, const AllocationLog& log, std::size_t rounds) {
  if (rounds == 0) throw Error(ErrorCode::invalid_input, "replay", "got 0 rounds; ask for at least 1");
  validate_allocation_log(log);
  const DeviceContext context(device);
  const Trace trace(log, context);
  const auto allocators = make_allocators(runtime, context, trace.slots());
  ReplayReport report{fmt::format("{} ({})", device.label(), device.info().name),
                      log.events.size(),
                      trace.slots(),
                      log.peak_bytes(),
                      rounds,
                      {}};
  for (const auto& allocator : allocators) {
    report.results.push_back(measure(trace, *allocator));
    allocator->release_all();
  }
  std::vector<std::vector<Duration>> times(allocators.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < allocators.size(); ++i) {
      const std::uint64_t before = allocators[i]->device_allocations();
      times[i].push_back(time_round(runtime.executor(), trace, *allocators[i]));
      report.results[i].device_allocations_last = allocators[i]->device_allocations() - before;
    }
  }
  for (std::size_t i = 0; i < allocators.size(); ++i) report.results[i].per_event = median(std::move(times[i]));
  return report;
}

namespace {

using Row = std::array<std::string, 9>;

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1U << 20));
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

double ratio(std::uint64_t value, std::uint64_t base) {
  return base == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(base);
}

// Best fit is the last result.
std::uint64_t ideal_peak(const ReplayReport& report) {
  return report.results.empty() ? 0 : report.results.back().peak_bytes;
}

Row row(const ReplayResult& result, std::uint64_t ideal) {
  return {result.allocator,
          fmt::format("{} ns", result.per_event.count()),
          mebibytes(result.peak_bytes),
          fmt::format("{:.3f}", ratio(result.peak_bytes, ideal)),
          percent(result.waste.at_peak),
          percent(result.waste.mean),
          percent(result.waste.max),
          fmt::format("{}", result.device_allocations),
          fmt::format("{}", result.device_allocations_last)};
}

void print_rows(std::ostream& out, const std::vector<Row>& rows) {
  std::array<std::size_t, 9> width{};
  for (const Row& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) width[i] = std::max(width[i], cells[i].size());
  }
  for (const Row& cells : rows) {
    std::string line = fmt::format("{:<{}}", cells[0], width[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) line += fmt::format("  {:>{}}", cells[i], width[i]);
    fmt::print(out, "{}\n", line);
  }
}

}  // namespace

void print(std::ostream& out, const ReplayReport& report) {
  fmt::print(out, "{} events, {} allocations, at most {} requested at once, on {}\n\n", report.events,
             report.allocations, mebibytes(report.peak_requested_bytes), report.device);
  std::vector<Row> rows = {{"allocator", "per event", "peak", "vs best fit", "waste at peak", "mean", "max",
                            "device allocations", "last round"}};
  for (const ReplayResult& result : report.results) rows.push_back(row(result, ideal_peak(report)));
  print_rows(out, rows);
  fmt::print(
      out,
      "\nPer event: median of {} interleaved rounds. The other columns are from the first pass, except the last.\n"
      "Waste: (allocated - requested) / requested, over the live buffers.\n",
      report.rounds);
}

void write_json(std::ostream& out, const ReplayReport& report) {
  using Json = nlohmann::ordered_json;
  Json results = Json::array();
  for (const ReplayResult& result : report.results) {
    results.push_back({{"allocator", result.allocator},
                       {"ns_per_event", result.per_event.count()},
                       {"peak_bytes", result.peak_bytes},
                       {"peak_of_best_fit", ratio(result.peak_bytes, ideal_peak(report))},
                       {"waste_at_peak", result.waste.at_peak},
                       {"waste_mean", result.waste.mean},
                       {"waste_max", result.waste.max},
                       {"device_allocations", result.device_allocations},
                       {"device_allocations_last", result.device_allocations_last}});
  }
  const Json root = {{"device", report.device},           {"events", report.events},
                     {"allocations", report.allocations}, {"peak_requested_bytes", report.peak_requested_bytes},
                     {"rounds", report.rounds},           {"results", results}};
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace vectis::app
