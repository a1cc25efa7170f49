// Measures the peak memory of a section of a program.
//
//   MemoryScope scope(pool, device, "forward");
//   run(scope.context());                          // buffers requested with this context count under "forward"
//   std::cout << scope.peak_bytes();
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vectis/base/context.hpp"
#include "vectis/base/export.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1 {

// Tracks the high-water mark, since construction, of the live bytes of one memory tag on one device. Scopes of the same
// tag may nest or overlap. One thread at a time; buffers may be requested by any thread.
class VECTIS_API MemoryScope {
 public:
  // Opens a scope whose context() is `context` with the memory tag set. Throws InvalidInput for an empty tag or an
  // unknown device.
  MemoryScope(MemoryPool& pool, int device, const std::string& tag, const Context& context = {});
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  [[nodiscard]] const Context& context() const noexcept { return context_; }
  // Requested bytes of all live buffers of the tag, also those from before the scope.
  [[nodiscard]] std::uint64_t live_bytes() const;
  // High-water mark of live_bytes() since construction.
  [[nodiscard]] std::uint64_t peak_bytes() const;

 private:
  struct State;
  Context context_;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
