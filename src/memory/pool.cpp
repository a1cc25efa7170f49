#include "vectis/memory/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "device/cores.hpp"
#include "memory/device_pool.hpp"
#include "memory/registered_reclaimer.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr double default_share = 0.7;  // of a device's memory; the rest is left to drivers and other processes

constexpr std::uint64_t assumed_bytes = std::uint64_t{4} << 30;  // of a card whose memory no backend knows

// The physical memory of a device: equal for its sub-devices and for the same card through other backends.
std::string memory_id(const Device& device) {
  return device.info().physical_id.empty() ? device.label() : device.info().physical_id;
}

// Of the backends that see a card, the first in the order of ids that knows its memory size decides.
std::uint64_t default_limit(const std::vector<Device>& devices, const std::string& memory) {
  const auto known = std::ranges::find_if(
      devices, [&](const Device& other) { return memory_id(other) == memory && other.info().memory_bytes > 0; });
  const std::uint64_t bytes = known == devices.end() ? assumed_bytes : known->info().memory_bytes;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * default_share);
}

// The buffers that get_buffer handed out, so that return_buffer can validate its arguments. Thread-safe.
class RawBuffers {
 public:
  DeviceMemory add(int device, ManagedBuffer buffer) {
    DeviceMemory memory = buffer.memory();
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(memory.core().get(), Entry{device, std::move(buffer)});
    return memory;
  }

  // Throws InvalidInput unless the buffer is out, on that device, with that size and precision.
  void remove(int device, const DeviceMemory& memory, std::size_t elements, Precision precision) {
    ManagedBuffer returned;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(memory.core().get());
    if (found == entries_.end())
      throw_invalid("the buffer is not out: it was returned before, or is not from get_buffer");
    const Entry& entry = found->second;
    if (entry.device != device) throw_invalid(fmt::format("the buffer is on device {}, not {}", entry.device, device));
    if (entry.buffer.elements() != elements || entry.buffer.precision() != precision) {
      throw_invalid(fmt::format("the buffer has {} elements of {}, not {} of {}", entry.buffer.elements(),
                                name(entry.buffer.precision()), elements, name(precision)));
    }
    returned = std::move(found->second.buffer);
    entries_.erase(found);
  }

 private:
  struct Entry {
    int device;
    ManagedBuffer buffer;
  };

  [[noreturn]] static void throw_invalid(const std::string& message) {
    throw Error(ErrorCode::invalid_input, "return_buffer", message + "; pass what get_buffer returned and was given");
  }

  std::mutex mutex_;
  std::map<const detail::MemoryCore*, Entry> entries_;
};

}  // namespace

BufferBatch::BufferBatch(MemoryPool& pool, int device) : pool_(&pool), device_(device) {}

ManagedBuffer& BufferBatch::add_buffer(std::span<const std::byte> host_bytes, std::size_t elements,
                                       Precision precision) {
  if (host_bytes.size() / size_of(precision) != elements || host_bytes.size() % size_of(precision) != 0) {
    throw Error(ErrorCode::invalid_input, "add_buffer",
                fmt::format("{} host bytes given for {} elements of {}, which need {} each", host_bytes.size(),
                            elements, name(precision), size_of(precision)));
  }
  auto buffer = std::make_unique<ManagedBuffer>(pool_->get_managed_buffer(device_, elements, precision));
  Stream stream(buffer->memory().context());
  stream.copy_to_device(buffer->memory(), 0, host_bytes);
  stream.synchronize();
  buffers_.push_back(std::move(buffer));
  return *buffers_.back();
}

struct MemoryPool::State {
  explicit State(Runtime& owner) : runtime(owner), by_id(devices().size()) {}

  Runtime& runtime;
  const std::uint64_t generation = fork_generation();  // of the process that made the pool
  mutable std::mutex mutex;
  std::vector<std::atomic<detail::DevicePool*>> by_id;  // lock-free view of `pools`
  std::map<int, std::shared_ptr<detail::DevicePool>> pools;
  std::map<std::string, std::shared_ptr<detail::Budget>> budgets;        // by physical id
  std::vector<std::shared_ptr<detail::RegisteredReclaimer>> reclaimers;  // by cost
  int next_reclaimer = 1;
  HealthThresholds thresholds;
  RawBuffers raw;

  const std::vector<Device>& devices() { return runtime.service<DeviceRegistry>().devices(); }
  [[nodiscard]] bool exists(int device) { return device >= 0 && static_cast<std::size_t>(device) < devices().size(); }

  // The pool of a device, null before its first use. Lock-free, since every request calls it.
  [[nodiscard]] detail::DevicePool* find_fast(int device) const noexcept {
    const bool known = device >= 0 && static_cast<std::size_t>(device) < by_id.size();
    return known ? by_id[static_cast<std::size_t>(device)].load(std::memory_order_acquire) : nullptr;
  }
  std::shared_ptr<detail::DevicePool> find(int device) const;
  std::shared_ptr<detail::DevicePool> find_or_make(int device, std::string_view op);
  std::shared_ptr<detail::Budget> budget_of(const Device& device);
  // The pools of the other devices that share the physical memory, and so the limit, of `device`. The caller holds
  // `mutex`.
  [[nodiscard]] std::vector<std::shared_ptr<detail::DevicePool>> pools_beside(int device) const;
  std::vector<detail::ReclaimAction> reclaim_order(int device) const;
  detail::PoolPolicy policy() const;
};

std::shared_ptr<detail::DevicePool> MemoryPool::State::find(int device) const {
  const std::lock_guard lock(mutex);
  const auto found = pools.find(device);
  return found == pools.end() ? nullptr : found->second;
}

std::shared_ptr<detail::Budget> MemoryPool::State::budget_of(const Device& device) {
  const std::string memory = memory_id(device);
  auto& budget = budgets[memory];
  if (budget == nullptr) budget = std::make_shared<detail::Budget>(default_limit(devices(), memory));
  return budget;
}

detail::PoolPolicy MemoryPool::State::policy() const {
  detail::PoolPolicy policy;
  // Longer than a Duration can say is as good as the longest one.
  constexpr auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(Duration::max());
  policy.trim_after = std::chrono::milliseconds(
      std::min<std::uint64_t>(runtime.settings().number("memory.trim_after_ms"), longest.count()));
  policy.trim_allocations = runtime.settings().number("memory.trim_allocations");
  if (policy.trim_allocations == 0) policy.trim_allocations = UINT64_MAX;  // 0: never
  policy.snapshot_folder = runtime.settings().text("memory.snapshots");
  policy.live_folder = runtime.settings().text("memory.live");
  policy.caching = runtime.settings().flag("memory.pool");
  return policy;
}

std::shared_ptr<detail::DevicePool> MemoryPool::State::find_or_make(int device, std::string_view op) {
  if (auto pool = find(device)) return pool;
  const Device& target = runtime.service<DeviceRegistry>().at(device, op);
  auto upstream = std::make_unique<DeviceResource>(DeviceContext(target));
  const std::lock_guard lock(mutex);
  auto& pool = pools[device];
  if (pool == nullptr) {
    pool = std::make_shared<detail::DevicePool>(runtime, std::move(upstream), budget_of(target), policy());
    pool->set_thresholds(thresholds.warn, thresholds.clean);
    by_id[static_cast<std::size_t>(device)].store(pool.get(), std::memory_order_release);
  }
  return pool;
}

std::vector<std::shared_ptr<detail::DevicePool>> MemoryPool::State::pools_beside(int device) const {
  std::vector<std::shared_ptr<detail::DevicePool>> result;
  const auto own = pools.find(device);
  for (const auto& [other, pool] : pools) {
    if (own != pools.end() && other != device && &pool->budget() == &own->second->budget()) result.push_back(pool);
  }
  return result;
}

std::vector<detail::ReclaimAction> MemoryPool::State::reclaim_order(int device) const {
  const std::lock_guard lock(mutex);
  std::vector<detail::ReclaimAction> result;
  for (const auto& pool : pools_beside(device)) {
    result.push_back({"returning the cache of " + pool->context().device().label(),
                      [pool](std::uint64_t /*bytes*/) { return pool->cleanup(); }});
  }
  for (const auto& one : reclaimers) {
    if (one->is_removed()) continue;
    result.push_back({one->name(), [device, one](std::uint64_t bytes) { return one->reclaim(device, bytes); }});
  }
  return result;
}

MemoryPool::MemoryPool(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {}

MemoryPool::~MemoryPool() {
  const bool forked = fork_generation() != state_->generation;
  if (forked || !state_->runtime.settings().flag("debug")) return;
  const std::string leaks = leak_report();
  if (!leaks.empty()) state_->runtime.logger().log(LogLevel::warning, "memory", "at shutdown, " + leaks);
}

std::string MemoryPool::leak_report() const {
  std::string report;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [device, pool] : state_->pools) {
    const std::string one = pool->leak_report();
    if (!one.empty()) report += (report.empty() ? "" : "\n") + one;
  }
  return report;
}

ManagedBuffer MemoryPool::get_managed_buffer(int device, std::size_t elements, Precision precision,
                                             const BufferOptions& options) {
  constexpr std::string_view op = "get_managed_buffer";
  detail::DevicePool* pool = state_->find_fast(device);
  if (pool == nullptr) pool = state_->find_or_make(device, op).get();
  if (elements > UINT64_MAX / size_of(precision)) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("{} elements of {} exceed 2^64 bytes; split the buffer", elements, name(precision)));
  }
  const MemoryRequest request{elements * size_of(precision), precision, options.stream, options.context};
  detail::PoolBlock* block = pool->acquire(request, [&] { return state_->reclaim_order(device); });
  return {pool, block, elements, precision};
}

ManagedBuffer MemoryPool::allocate_bytes(int device, std::uint64_t bytes, const BufferOptions& options) {
  return get_managed_buffer(device, bytes, Precision::int8, options);
}

BufferBatch MemoryPool::create_buffer_batch(int device) {
  state_->find_or_make(device, "create_buffer_batch");
  return {*this, device};
}

void MemoryPool::warm_up(int device, std::size_t elements, Precision precision, std::size_t count) {
  std::vector<ManagedBuffer> buffers;  // not reserved: most counts that do not fit the device do not fit the host
  for (std::size_t i = 0; i < count; ++i) buffers.push_back(get_managed_buffer(device, elements, precision));
}

bool MemoryPool::set_max_pool_size(int device, std::uint64_t bytes) {
  if (!state_->exists(device)) return false;
  const auto pool = state_->find_or_make(device, "set_max_pool_size");
  pool->budget().set_limit(bytes);
  if (!pool->budget().is_exceeded()) return true;
  std::vector<std::shared_ptr<detail::DevicePool>> beside;
  {
    const std::lock_guard lock(state_->mutex);
    beside = state_->pools_beside(device);
  }
  pool->cleanup();
  for (const auto& other : beside) other->cleanup();
  return true;
}

void MemoryPool::set_health_thresholds(HealthThresholds thresholds) {
  if (!(thresholds.warn >= 0 && thresholds.warn <= thresholds.clean && thresholds.clean <= 1)) {
    throw Error(
        ErrorCode::invalid_input, "set_health_thresholds",
        fmt::format("warn {} and clean {} must satisfy 0 <= warn <= clean <= 1", thresholds.warn, thresholds.clean));
  }
  const std::lock_guard lock(state_->mutex);
  state_->thresholds = thresholds;
  for (const auto& [device, pool] : state_->pools) pool->set_thresholds(thresholds.warn, thresholds.clean);
}

std::optional<double> MemoryPool::memory_pressure(int device) const {
  const auto pool = state_->find(device);
  return pool == nullptr ? std::nullopt : std::optional(pool->pressure());
}

std::optional<MemoryUsage> MemoryPool::memory_usage(int device) const {
  const auto pool = state_->find(device);
  return pool == nullptr ? std::nullopt : std::optional(pool->usage());
}

MemoryUsage MemoryPool::total_memory_usage() const {
  MemoryUsage total;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [device, pool] : state_->pools) {
    const MemoryUsage usage = pool->usage();
    total.allocated_bytes += usage.allocated_bytes;
    total.peak_bytes += usage.peak_bytes;
  }
  return total;
}

std::optional<MemoryStats> MemoryPool::get_memory_stats(int device) const {
  if (const auto pool = state_->find(device)) return pool->stats();
  if (!state_->exists(device)) return std::nullopt;
  const Device& unused = state_->devices()[static_cast<std::size_t>(device)];
  MemoryStats stats;
  stats.total_bytes = unused.info().memory_bytes;
  const std::lock_guard lock(state_->mutex);
  stats.limit_bytes = state_->budget_of(unused)->limit();
  return stats;
}

std::optional<MemorySnapshot> MemoryPool::snapshot(int device) const {
  const auto pool = state_->find(device);
  return pool == nullptr ? std::nullopt : std::optional(pool->snapshot(""));
}

std::optional<MemoryHealth> MemoryPool::check_memory_health(int device) {
  const auto pressure = memory_pressure(device);
  if (!pressure) return std::nullopt;
  HealthThresholds thresholds;
  {
    const std::lock_guard lock(state_->mutex);
    thresholds = state_->thresholds;
  }
  if (*pressure <= thresholds.warn) return MemoryHealth::good;
  const bool critical = *pressure > thresholds.clean;
  std::string message = fmt::format("device {}: the pool holds {:.1f} % of its limit", device, *pressure * 100);
  if (critical) message += fmt::format("; cleaned up, {} bytes returned to the device", emergency_cleanup(device));
  state_->runtime.logger().log(critical ? LogLevel::error : LogLevel::warning, "memory", message);
  return critical ? MemoryHealth::critical : MemoryHealth::high;
}

std::uint64_t MemoryPool::emergency_cleanup(int device) {
  const auto pool = state_->find(device);
  return pool == nullptr ? 0 : pool->cleanup();
}

std::uint64_t MemoryPool::emergency_cleanup_all() {
  std::map<int, std::shared_ptr<detail::DevicePool>> pools;
  {
    const std::lock_guard lock(state_->mutex);
    pools = state_->pools;
  }
  std::uint64_t bytes = 0;
  for (const auto& [device, pool] : pools) bytes += pool->cleanup();
  return bytes;
}

int MemoryPool::add_reclaimer(Reclaimer reclaimer) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->reclaimers, [](const auto& one) { return one->has_ended(); });  // removed by themselves
  const int id = state_->next_reclaimer++;
  state_->reclaimers.push_back(std::make_shared<detail::RegisteredReclaimer>(id, std::move(reclaimer)));
  std::ranges::sort(state_->reclaimers, {}, [](const auto& one) { return std::pair(one->cost(), one->id()); });
  return id;
}

void MemoryPool::remove_reclaimer(int id) {
  std::shared_ptr<detail::RegisteredReclaimer> removed;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = std::ranges::find(state_->reclaimers, id, [](const auto& one) { return one->id(); });
    if (found == state_->reclaimers.end()) return;
    removed =
        *found;  // stays in the list while a call is in progress, for another thread that removes it and must wait
  }
  removed->remove();  // without the lock: a call in progress may use the pool
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->reclaimers, [](const auto& one) { return one->has_ended(); });
}

void MemoryPool::start_log(int device, std::ostream& out) {
  const auto pool = state_->find_or_make(device, "start_log");
  pool->set_recorder(std::make_shared<AllocationRecorder>(out, &state_->runtime.executor()));
}

void MemoryPool::stop_log(int device) {
  if (const auto pool = state_->find(device)) pool->set_recorder(nullptr);
}

DeviceMemory MemoryPool::get_buffer(int device, std::size_t elements, Precision precision) {
  return state_->raw.add(device, get_managed_buffer(device, elements, precision));
}

void MemoryPool::return_buffer(int device, const DeviceMemory& buffer, std::size_t elements, Precision precision) {
  state_->raw.remove(device, buffer, elements, precision);
}

std::shared_ptr<detail::DevicePool> MemoryPool::device_pool(int device) {
  return state_->find_or_make(device, "device_pool");
}

MemoryPool& memory_pool(Runtime& runtime) { return runtime.service<MemoryPool>(); }

MemoryStats DeviceContext::memory_stats() const {
  const Device own = device();
  return memory_pool(own.core()->backend->runtime).get_memory_stats(own.id()).value();
}

}  // namespace vectis::inline v0_1
