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

// Tracks the high-water mark, since construction, of the live bytes of one memory tag on one device. Scopes of the
// same tag may nest or overlap. A device counts 4096 tags in the life of a Runtime: all later tags count together, and
// a scope of one of them measures the buffers of all of them, so reuse tags instead of making one for each request.
// Must not outlive the Runtime. One thread at a time; buffers may be requested by any thread.
class VECTIS_API MemoryScope {
 public:
  // Opens a scope of the memory tag `tag` on `device`; context() is `context` with that tag. Throws InvalidInput for
  // an empty tag or an unknown device, and BackendCreation or DeviceLost when the device cannot be opened.
  MemoryScope(MemoryPool& pool, int device, const std::string& tag, const Context& context = {});
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // Returns the context to request buffers with, so that they count under the tag of the scope. Does not throw.
  [[nodiscard]] const Context& context() const noexcept { return context_; }
  // Returns the requested bytes of all live buffers of the tag on the device, including those from before the scope.
  [[nodiscard]] std::uint64_t live_bytes() const;
  // Returns the high-water mark of live_bytes() since construction, at which buffers from before the scope count too.
  [[nodiscard]] std::uint64_t peak_bytes() const;

 private:
  struct State;
  Context context_;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
