// The peak of a piece of work, by name.
//
//   MemoryScope scope(pool, device, "forward");
//   run(scope.context());                          // buffers taken with this context count under "forward"
//   std::cout << scope.peak_bytes();
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vectis/base/context.hpp"
#include "vectis/base/export.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1 {

// From its construction on it sees the most that buffers of its tag held at once on one device. Scopes of one tag may
// nest or run side by side. One thread at a time; the buffers may come from any.
class VECTIS_API MemoryScope {
 public:
  // InvalidInput for an empty tag or a device that does not exist.
  MemoryScope(MemoryPool& pool, int device, const std::string& tag, const Context& context = {});
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  [[nodiscard]] const Context& context() const noexcept { return context_; }
  [[nodiscard]] std::uint64_t live_bytes() const;
  [[nodiscard]] std::uint64_t peak_bytes() const;

 private:
  struct State;
  Context context_;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
