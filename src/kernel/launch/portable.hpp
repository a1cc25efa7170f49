// Running the portable form of an operation.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cores.hpp"
#include "vectis/device/program.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// The entry points of each context by the keys of launches, so that a launch seen before builds no text. They keep
// their context alive: of contexts only the last used ones are remembered. Thread-safe.
class KernelTable {
 public:
  explicit KernelTable(Runtime& runtime) : runtime_(runtime) {}

  // Compiles when `launch.key` was never seen in this context.
  EntryPoint find(const DeviceContext& context, const PlannedLaunch& launch, std::string_view op);

 private:
  static constexpr std::size_t contexts_max = 16;
  struct Entry {
    const ContextCore* context = nullptr;
    std::uint64_t last_use = 0;
    std::unordered_map<std::string, EntryPoint> kernels;
  };
  Entry& entry_of(const ContextCore* context);

  Runtime& runtime_;
  std::mutex mutex_;
  std::uint64_t uses_ = 0;
  std::vector<Entry> entries_;
};

// Enqueues the launches of a plan. Temporaries live in stream order.
void run_portable(Stream& stream, const OperationCall& call);

}  // namespace vectis::inline v0_1::detail
