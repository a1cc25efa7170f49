// Compiled kernels, kept in memory and on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/program.hpp"

namespace vectis::inline v0_1 {

struct CacheStatistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiled = 0;
  std::uint64_t rebuilt = 0;  // entries on disk that were damaged or another's
};

// Keyed by text, dialect, options, device, driver and version. Entries on disk carry their whole key and a checksum,
// are written beside and renamed, and are rebuilt when anything is wrong with them. A folder that cannot be written is
// told to the log once, and nothing else. Thread-safe.
class VECTIS_API KernelCache {
 public:
  explicit KernelCache(Runtime& runtime);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Compiles, or finds what was compiled before. Throws what Program throws.
  [[nodiscard]] Program program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                                std::string_view options = {});
  [[nodiscard]] CacheStatistics statistics() const;
  // Where entries are kept; empty when nothing is kept on disk.
  [[nodiscard]] const std::string& folder() const noexcept;
  // Forgets what is in memory; the disk stays.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

VECTIS_API KernelCache& kernel_cache(Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
