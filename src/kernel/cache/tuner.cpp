#include "vectis/kernel/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cores.hpp"
#include "kernel/cache/disk_cache.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr int timed_runs = 3;
constexpr std::size_t kernels_max = 4096;  // kept in memory
constexpr double gain_min = 0.95;          // of the default_size's time: what a better size must reach

enum class Mode : std::uint8_t { off, known, on };

Mode mode_of(const Settings& settings) {
  const Setting setting = settings.get("autotune");
  if (setting.value == "off") return Mode::off;
  if (setting.value == "known") return Mode::known;
  if (setting.value == "on") return Mode::on;
  throw Error(ErrorCode::invalid_input, "autotune",
              fmt::format("autotune is `{}` (from {}); use `off`, `known` or `on`", setting.value, setting.source));
}

// What is known of one kernel on one device.
struct Known {
  std::mutex mutex;
  bool looked_up = false;               // on disk; guarded by mutex
  std::atomic<std::uint32_t> group{0};  // 0: not known
};

std::string disk_key(const Device& device, std::string_view key) {
  return fmt::format("vectis {}\nbackend {}\ndevice {}\ndriver {}\nkernel {}", version(), device.backend(),
                     device.info().name, device.info().driver, key);
}

bool ends_tuning(const Error& error) {
  return error.code() == ErrorCode::device_lost || error.code() == ErrorCode::forked;
}

// The best of some runs after a warm-up.
double time_of(std::uint32_t group, const Tuner::Measure& measure) {
  (void)measure(group);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < timed_runs; ++run) best = std::min(best, measure(group));
  return best;
}

std::uint32_t fastest(std::uint32_t default_size, std::span<const std::uint32_t> candidates,
                      const Tuner::Measure& measure) {
  double best_time = time_of(default_size, measure) * gain_min;
  std::uint32_t best = default_size;
  for (const std::uint32_t candidate : candidates) {
    if (candidate == default_size) continue;
    try {
      const double time = time_of(candidate, measure);
      if (!(time < best_time)) continue;
      best_time = time;
      best = candidate;
    } catch (const Error& error) {
      if (ends_tuning(error)) throw;
    }
  }
  return best;
}

}  // namespace

struct Tuner::State {
  explicit State(Runtime& owner) : disk(owner, "tuned"), mode(mode_of(owner.settings())) {}

  detail::DiskCache disk;
  Mode mode;
  std::atomic<std::uint64_t> measured{0};
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> rebuilt{0};
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Known>> kernels;  // by disk key; guarded by mutex

  std::shared_ptr<Known> known_of(const std::string& key) {
    const std::lock_guard lock(mutex);
    // Kernels are looked up on disk again, and those that a thread measures stay.
    if (kernels.size() >= kernels_max)
      std::erase_if(kernels, [](auto& entry) { return entry.second.use_count() == 1; });
    std::shared_ptr<Known>& known = kernels[key];
    if (known == nullptr) known = std::make_shared<Known>();
    return known;
  }

  // The size cached on disk; 0 if there is none, or it is not a candidate.
  std::uint32_t load(const std::string& key, std::uint32_t default_size, std::span<const std::uint32_t> candidates) {
    const auto found = disk.find(key);
    std::uint32_t group = 0;
    if (found.payload && found.payload->size() == sizeof(group)) {
      std::memcpy(&group, found.payload->data(), sizeof(group));
    }
    if (group == default_size || std::ranges::find(candidates, group) != candidates.end()) {
      ++disk_hits;
      return group;
    }
    if (found.corrupt || found.payload) ++rebuilt;
    return 0;
  }
};

Tuner::Tuner(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {}
Tuner::~Tuner() = default;

std::uint32_t Tuner::group(const Device& device, std::string_view key, std::uint32_t default_size,
                           std::span<const std::uint32_t> candidates, const Measure& measure) {
  if (state_->mode == Mode::off) return default_size;
  const std::string whole_key = disk_key(device, key);
  const auto known = state_->known_of(whole_key);
  if (const std::uint32_t group = known->group.load(std::memory_order_acquire); group != 0) {
    ++state_->memory_hits;
    return group;
  }
  const std::unique_lock lock(known->mutex, std::try_to_lock);
  if (!lock.owns_lock()) return default_size;
  std::uint32_t group = known->group.load(std::memory_order_acquire);
  if (group == 0 && !known->looked_up) {
    group = state_->load(whole_key, default_size, candidates);
    known->looked_up = true;
  }
  if (group == 0 && state_->mode == Mode::on) {
    group = fastest(default_size, candidates, measure);
    ++state_->measured;
    state_->disk.put(whole_key, std::as_bytes(std::span(&group, 1)));
  }
  if (group == 0) return default_size;
  known->group.store(group, std::memory_order_release);
  return group;
}

TunerStatistics Tuner::statistics() const {
  return {state_->measured, state_->memory_hits, state_->disk_hits, state_->rebuilt};
}

Tuner& tuner(Runtime& runtime) { return runtime.service<Tuner>(); }

namespace {

// How long `work` takes on the stream: by the device's clock where it keeps one, else by the host's.
double measure_on(Stream& stream, const std::function<void()>& work) {
  const Event begin(stream.context());
  const Event end(stream.context());
  stream.synchronize();
  const std::uint64_t host_begin = monotonic_nanoseconds();
  stream.record(begin);
  work();
  stream.record(end);
  stream.synchronize();
  const auto host_time = static_cast<double>(monotonic_nanoseconds() - host_begin);
  const auto first = begin.timestamp();
  const auto last = end.timestamp();
  if (!first || !last) return host_time;
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(*last - *first).count());
}

}  // namespace

std::uint32_t tuned_group(Stream& stream, std::string_view key, std::uint64_t items, std::uint32_t default_size,
                          const std::function<void(std::uint32_t group)>& enqueue) {
  if (items < tuned_items_min) return default_size;
  const Device device = stream.context().device();
  const DeviceLimits& limits = device.info().limits;
  const std::uint32_t limit = std::min({limits.group_items_max, limits.group_size_max[0], 1024U});
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t group = 32; group <= limit; group *= 2) candidates.push_back(group);
  return tuner(device.core()->backend->runtime).group(device, key, default_size, candidates, [&](std::uint32_t group) {
    return measure_on(stream, [&] { enqueue(group); });
  });
}

}  // namespace vectis::inline v0_1
