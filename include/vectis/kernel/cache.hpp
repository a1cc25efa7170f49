// The cache of compiled kernels, in memory and on disk.
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
  std::uint64_t rebuilt = 0;  // disk entries that were corrupt, of another key, or rejected by the driver
};

// A kernel's source for the device's compiler.
struct KernelText {
  std::string dialect;
  std::string text;
  std::string entry_point;
  std::string options;
};

// Caches programs by text, dialect, options, device, driver and Vectis version. A disk entry holds its whole key and a
// checksum, is written to a temporary file and renamed, and is rebuilt if it is corrupt. If the cache folder cannot be
// written, that is logged once. Concurrent requests for the same program compile it once. Programs of a context are
// dropped some time after its last other user is gone. Thread-safe.
class VECTIS_API KernelCache {
 public:
  explicit KernelCache(Runtime& runtime);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Returns the cached program, or compiles and caches it. Throws what Program throws: CompileFailed, NoCompiler,
  // Unsupported; failures are not cached.
  [[nodiscard]] Program program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                                std::string_view options = {});
  // The entry point cached in memory under `key`; if there is none, compiles the text that `make` returns. Equal keys
  // must mean equal texts on a context, so begin a key with a namespace of its own: "map/...". Throws what program()
  // and `make` throw; after a failure the next call tries again.
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<KernelText()>& make);
  // The same, with a `make` that returns the entry point itself.
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<EntryPoint()>& make);
  [[nodiscard]] CacheStatistics statistics() const;
  // The folder of the disk cache; empty if there is none.
  [[nodiscard]] const std::string& folder() const noexcept;
  // Empties the cache in memory; disk entries stay.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The runtime's cache.
VECTIS_API KernelCache& kernel_cache(Runtime& runtime = Runtime::get_default());
// The cache of the runtime that the context's device belongs to.
VECTIS_API KernelCache& kernel_cache(const DeviceContext& context);

}  // namespace vectis::inline v0_1
