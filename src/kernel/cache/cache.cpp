#include "vectis/kernel/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/cores.hpp"
#include "kernel/cache/disk_cache.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

namespace {

// A value made once, by the first thread that locks `mutex`; other threads wait for it. A failure leaves it empty.
template <class T>
struct Slot {
  std::mutex mutex;
  std::optional<T> value;  // written once, under mutex
  std::atomic<bool> ready{false};
  std::uint64_t used = 0;  // when, by the count of requests; guarded by the cache's mutex

  // Returns the value, made now if there is none; `found` is set to whether there was one.
  template <class Make>
  T get(const Make& make, bool& found) {
    found = ready.load(std::memory_order_acquire);
    if (found) return *value;
    const std::lock_guard lock(mutex);
    found = value.has_value();
    if (!found) {
      value.emplace(make());
      ready.store(true, std::memory_order_release);
    }
    return *value;
  }
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

template <class T>
using Slots = std::unordered_map<std::string, std::shared_ptr<Slot<T>>, TextHash, std::equal_to<>>;

template <class T>
std::size_t count_ready(const Slots<T>& slots) {
  std::size_t count = 0;
  for (const auto& [key, slot] : slots) count += slot->ready.load(std::memory_order_acquire) ? 1U : 0U;
  return count;
}

// Whether no thread holds a slot.
template <class T>
bool idle(const Slots<T>& slots) {
  return std::all_of(slots.begin(), slots.end(), [](auto& entry) { return entry.second.use_count() == 1; });
}

// Programs and entry points that are kept by one limit.
struct Kernels {
  std::size_t slots_max;           // programs, and entry points, that are kept unless they are in use
  Slots<Program> programs;         // by dialect, options and text
  Slots<EntryPoint> entry_points;  // by the caller's key
};

// Kernels of operations and generated kernels, which are few or small.
constexpr std::size_t built_in_max = 4096;
// Custom kernels, of which a program may make and drop any number: about 2.3 MiB each with PoCL.
constexpr std::size_t custom_max = 32;
// Begins the key of the entry point of a custom kernel.
constexpr std::string_view custom_prefix = "custom/";

// The cache of one context. Its programs and entry points keep the context alive, so its address is not reused.
struct PerContext {
  Kernels built_in{built_in_max, {}, {}};
  Kernels custom{custom_max, {}, {}};

  // Whether only these programs and entry points hold the context, so that no caller can use it again; or whether all
  // compilations failed and none is running.
  [[nodiscard]] bool abandoned() const {
    std::size_t ready = 0;
    for (const Kernels* kernels : {&built_in, &custom}) {
      ready += count_ready(kernels->programs) + count_ready(kernels->entry_points);
    }
    for (const Kernels* kernels : {&built_in, &custom}) {
      for (const auto& [key, slot] : kernels->programs) {
        if (!slot->ready.load(std::memory_order_acquire)) continue;
        return static_cast<std::size_t>(slot->value->core()->context.use_count()) == ready;
      }
    }
    return idle(built_in.programs) && idle(built_in.entry_points) && idle(custom.programs) && idle(custom.entry_points);
  }
};

// Whether only the cache holds the slot and what it holds. A program is also held by its entry points.
template <class T>
bool unused(const std::shared_ptr<Slot<T>>& slot) {
  if (slot.use_count() != 1) return false;
  return !slot->ready.load(std::memory_order_acquire) || slot->value->core().use_count() == 1;
}

// Moves the less recently used half of the slots to the result, but for those in use.
template <class T>
std::vector<std::shared_ptr<Slot<T>>> evict(Slots<T>& slots) {
  std::vector<std::uint64_t> used;
  used.reserve(slots.size());
  for (const auto& [key, slot] : slots) used.push_back(slot->used);
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  std::vector<std::shared_ptr<Slot<T>>> evicted;
  for (auto entry = slots.begin(); entry != slots.end();) {
    if (entry->second->used < *middle && unused(entry->second)) {
      evicted.push_back(std::move(entry->second));
      entry = slots.erase(entry);
    } else {
      ++entry;
    }
  }
  return evicted;
}

// Returns the slot of the key, and makes it if there is none. Then slots may be evicted, which are moved to `evicted`.
template <class T>
std::shared_ptr<Slot<T>> slot_of(Slots<T>& slots, std::size_t slots_max, std::string_view key, std::uint64_t now,
                                 std::vector<std::shared_ptr<Slot<T>>>& evicted) {
  auto found = slots.find(key);
  if (found == slots.end()) {
    if (slots.size() >= slots_max) evicted = evict(slots);
    found = slots.emplace(std::string(key), std::make_shared<Slot<T>>()).first;
  }
  found->second->used = now;
  return found->second;
}

// The key of a disk entry. Options and text may have several lines, so their lengths are part of the key.
std::string disk_key(const Device& device, std::string_view dialect, std::string_view text, std::string_view options) {
  return fmt::format(
      "vectis {}\nbackend {}\ndevice {}\ndriver {}\ndialect {}\noptions of {} bytes {}\ntext of {} bytes\n{}",
      version(), device.backend(), device.info().name, device.info().driver, dialect, options.size(), options,
      text.size(), text);
}

}  // namespace

struct KernelCache::State {
  explicit State(Runtime& owner)
      : runtime(owner), disk(owner, "kernels"), debug(owner.settings().flag("debug")), folder(disk.path()) {}

  Runtime& runtime;
  detail::DiskCache disk;
  bool debug;
  std::string folder;
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> compiled{0};
  std::atomic<std::uint64_t> rebuilt{0};
  std::mutex mutex;
  std::unordered_map<const detail::ContextCore*, PerContext> contexts;  // guarded by mutex
  std::uint64_t requests = 0;                                           // guarded by mutex

  void log(const std::string& message) const {
    if (debug) runtime.logger().log(LogLevel::debug, "kernel", message);
  }

  // Drops contexts without users. Their programs are destroyed after the lock is released, since drivers may be slow.
  void drop_abandoned() {
    std::vector<PerContext> gone;
    const std::lock_guard lock(mutex);
    for (auto entry = contexts.begin(); entry != contexts.end();) {
      if (entry->second.abandoned()) {
        gone.push_back(std::move(entry->second));
        entry = contexts.erase(entry);
      } else {
        ++entry;
      }
    }
  }

  std::optional<Program> load(const DeviceContext& context, const std::string& key, std::string_view options) {
    const auto found = disk.find(key);
    if (found.corrupt) ++rebuilt;
    if (!found.payload) return std::nullopt;
    try {
      const auto* const text = reinterpret_cast<const char*>(found.payload->data());
      Program program(context, "binary", {text, found.payload->size()}, options);
      ++disk_hits;
      return program;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::device_lost || error.code() == ErrorCode::forked) throw;
      ++rebuilt;
      log(fmt::format("the driver rejected {}, which is rebuilt: {}", disk.file_of(key), error.what()));
      return std::nullopt;
    }
  }

  Program compile(const DeviceContext& context, std::string_view dialect, std::string_view text,
                  std::string_view options) {
    try {
      Program program(context, dialect, text, options);
      ++compiled;
      if (!program.compiler_output().empty()) log("compiler output:\n" + program.compiler_output());
      return program;
    } catch (const Error& error) {
      log(fmt::format("not compiled: {}\n{}", error.what(), error.detail()));
      throw;
    }
  }

  // A device without binaries is cached in memory only.
  void store(const std::string& key, const Program& program) {
    if (disk.path().empty()) return;
    try {
      disk.put(key, program.binary());
    } catch (const Error& error) {
      log(fmt::format("cached in memory only: {}", error.what()));
    }
  }

  Program build(const DeviceContext& context, std::string_view dialect, std::string_view text,
                std::string_view options) {
    drop_abandoned();
    if (dialect == "binary") return Program(context, dialect, text, options);
    const Device device = context.device();
    const std::string key = disk_key(device, dialect, text, options);
    if (debug) log(fmt::format("{} for {}, options '{}':\n{}", dialect, device.label(), options, text));
    if (auto program = load(context, key, options)) {
      log(fmt::format("not compiled: found in {}", disk.file_of(key)));
      return *std::move(program);
    }
    Program program = compile(context, dialect, text, options);
    store(key, program);
    return program;
  }

  // The cached program among those that `kept` names, built now if there is none.
  Program program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                  std::string_view options, Kernels PerContext::* kept) {
    const std::string key = fmt::format("{}:{}{}:{}{}", dialect.size(), dialect, options.size(), options, text);
    std::shared_ptr<Slot<Program>> slot;
    std::vector<std::shared_ptr<Slot<Program>>> evicted;  // destroyed without the lock, since drivers may be slow
    {
      const std::lock_guard lock(mutex);
      Kernels& kernels = contexts[context.core().get()].*kept;
      slot = slot_of(kernels.programs, kernels.slots_max, key, ++requests, evicted);
    }
    evicted.clear();
    bool found = false;
    Program result = slot->get([&] { return build(context, dialect, text, options); }, found);
    if (found) ++memory_hits;
    return result;
  }
};

KernelCache::KernelCache(Runtime& runtime) : state_(std::make_unique<State>(runtime)) {
  // Creates the registry first, so that devices outlive the programs compiled for them.
  (void)runtime.service<DeviceRegistry>();
}

KernelCache::~KernelCache() = default;

Program KernelCache::program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                             std::string_view options) {
  return state_->program(context, dialect, text, options, &PerContext::custom);
}

EntryPoint KernelCache::entry_point(const DeviceContext& context, std::string_view key,
                                    const std::function<EntryPoint()>& make) {
  std::shared_ptr<Slot<EntryPoint>> slot;
  std::vector<std::shared_ptr<Slot<EntryPoint>>> evicted;
  {
    const std::lock_guard lock(state_->mutex);
    PerContext& own = state_->contexts[context.core().get()];
    Kernels& kernels = key.starts_with(custom_prefix) ? own.custom : own.built_in;
    slot = slot_of(kernels.entry_points, kernels.slots_max, key, ++state_->requests, evicted);
  }
  evicted.clear();
  bool found = false;
  EntryPoint entry_point = slot->get(make, found);
  if (found) ++state_->memory_hits;
  return entry_point;
}

EntryPoint KernelCache::entry_point(const DeviceContext& context, std::string_view key,
                                    const std::function<KernelText()>& make) {
  const auto build = [&] {
    const KernelText kernel = make();
    const auto kept = key.starts_with(custom_prefix) ? &PerContext::custom : &PerContext::built_in;
    return EntryPoint(state_->program(context, kernel.dialect, kernel.text, kernel.options, kept), kernel.entry_point);
  };
  return entry_point(context, key, std::function<EntryPoint()>(std::cref(build)));
}

CacheStatistics KernelCache::statistics() const {
  return {state_->memory_hits, state_->disk_hits, state_->compiled, state_->rebuilt};
}

const std::string& KernelCache::folder() const noexcept { return state_->folder; }

void KernelCache::clear() {
  std::unordered_map<const detail::ContextCore*, PerContext> forgotten;
  const std::lock_guard lock(state_->mutex);
  forgotten.swap(state_->contexts);
}

KernelCache& kernel_cache(Runtime& runtime) { return runtime.service<KernelCache>(); }

KernelCache& kernel_cache(const DeviceContext& context) {
  return kernel_cache(context.core()->device->backend->runtime);
}

}  // namespace vectis::inline v0_1
