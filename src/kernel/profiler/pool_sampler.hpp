// The memory pools' bytes over time, asked for no more often than it is worth.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "kernel/profiler/ledger.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::detail {

// Thread-safe.
class PoolSampler {
 public:
  PoolSampler(Runtime& runtime, Duration interval);

  // The pools whose bytes changed since they were last asked; empty when that was less than the interval ago, or while
  // another thread asks. `at_once` asks anyway.
  [[nodiscard]] std::vector<SampleRecord> changes(std::uint64_t now, bool at_once);
  // Forgets what was seen last, so that the next answer has every pool.
  void clear();

 private:
  Runtime& runtime_;
  std::uint64_t interval_;
  int devices_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::map<int, SampleRecord> last_;  // guarded by mutex_
};

}  // namespace vectis::inline v0_1::detail
