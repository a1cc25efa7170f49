// Compiled kernels, kept in memory and on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  std::uint64_t rebuilt = 0;  // entries on disk that were damaged, another's, or refused by the driver
};

// One kernel as a compiler takes it.
struct KernelText {
  std::string dialect;
  std::string text;
  std::string entry_point;
  std::string options;
};

// Keyed by text, dialect, options, device, driver and version. Entries on disk carry their whole key and a checksum,
// are written beside and renamed, and are rebuilt when anything is wrong with them. A folder that cannot be written is
// told to the log once, and nothing else. Threads that ask for the same thing compile it once. What was compiled for a
// context is forgotten some time after the last other user of the context is gone. Thread-safe.
class VECTIS_API KernelCache {
 public:
  explicit KernelCache(Runtime& runtime);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Compiles, or finds what was compiled before. Throws what Program throws; a failure is not remembered.
  [[nodiscard]] Program program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                                std::string_view options = {});
  // The quick way for a caller who has a short name for the text: `make` is asked only when `key` is new on this
  // context (twice for one key if it throws). The same key must always mean the same text; begin it with whose it is:
  // "map/...".
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<KernelText()>& make);
  // The same for a caller who makes the entry point in another way.
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<EntryPoint()>& make);
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
// That of the Runtime the context's device belongs to.
VECTIS_API KernelCache& kernel_cache(const DeviceContext& context);

}  // namespace vectis::inline v0_1
