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

// Counts of the requests to a KernelCache since its construction: hits in memory and on disk, compilations.
struct CacheStatistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiled = 0;
  std::uint64_t rebuilt = 0;  // disk entries that were corrupt, of another key, or rejected by the driver
};

// Source text of one kernel in a dialect that the device compiles, with the name of the kernel function and the
// compiler options.
struct KernelText {
  std::string dialect;
  std::string text;
  std::string entry_point;
  std::string options;
};

// Caches programs by text, dialect, options, device, driver and Vectis version. A disk entry holds its whole key and
// a checksum, is written to a temporary file and renamed, and is rebuilt if it is corrupt. If the cache folder
// cannot be written, that is logged once. Concurrent requests for the same program compile it once. Programs of a
// context are dropped from memory some time after its last other user is gone. Of more than 32 custom, or 4096 other,
// programs or entry points of a context the less recently used half that nobody holds is dropped. Thread-safe.
class VECTIS_API KernelCache {
 public:
  // Creates a cache whose disk entries are in the folder `kernels` of the runtime's cache folder. The runtime must
  // outlive the cache. Most callers use kernel_cache() instead.
  explicit KernelCache(Runtime& runtime);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Returns the cached program, or compiles `text` and caches the program. `dialect` must be one that the context's
  // device compiles, or "binary". Throws CompileFailed if the compiler rejects the text, NoCompiler if the device
  // compiles nothing, Unsupported for another dialect, InvalidInput for an empty text. Failures are not cached.
  [[nodiscard]] Program program(const DeviceContext& context, std::string_view dialect, std::string_view text,
                                std::string_view options = {});
  // Returns the entry point cached in memory under `key`; if there is none, compiles the text that `make` returns.
  // On one context, equal keys must mean equal texts; begin a key with "custom/" or another namespace. Throws what
  // `make` throws, CompileFailed or NoCompiler if the text cannot be compiled, and InvalidInput if the program lacks
  // the entry point; after a failure the next call tries again.
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<KernelText()>& make);
  // Returns the entry point cached in memory under `key`; if there is none, calls `make` and caches the entry point
  // that it returns. On one context, equal keys must mean equal kernels. Throws what `make` throws; nothing is
  // cached then, and the next call with the key calls `make` again.
  [[nodiscard]] EntryPoint entry_point(const DeviceContext& context, std::string_view key,
                                       const std::function<EntryPoint()>& make);
  // Returns the counts of hits and compilations since construction; clear() does not reset them.
  [[nodiscard]] CacheStatistics statistics() const;
  // Returns the folder of the disk cache; empty if there is no disk cache, as with VECTIS_CACHE_PATH=off.
  [[nodiscard]] const std::string& folder() const noexcept;
  // Drops all programs and entry points from memory; disk entries stay. Handles that callers hold stay valid.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the cache that the runtime owns, created at the first call. The reference is valid as long as the runtime.
VECTIS_API KernelCache& kernel_cache(Runtime& runtime = Runtime::get_default());
// Returns the cache of the runtime that the context's device belongs to, valid as long as that runtime.
VECTIS_API KernelCache& kernel_cache(const DeviceContext& context);

}  // namespace vectis::inline v0_1
