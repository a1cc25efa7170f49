// What a call carries with it: how long it may take, who asked, and under which name its memory counts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

enum class Priority : std::uint8_t { low, normal, high };

// Says "stop" to every Context made with its token. Copies share one state. Thread-safe.
class VECTIS_API CancelSource {
 public:
  CancelSource();
  void cancel() noexcept;
  [[nodiscard]] bool cancelled() const noexcept;

 private:
  friend class Context;
  struct State;
  std::shared_ptr<State> state_;
};

// Immutable, cheap to copy; a default one has no deadline, cannot be cancelled and has empty names.
//
//   auto ctx = Context{}.with_deadline(executor.now() + 50ms).with_memory_tag("index");
class VECTIS_API Context {
 public:
  Context() = default;

  [[nodiscard]] Context with_deadline(TimePoint deadline) const;
  [[nodiscard]] Context with_cancel(const CancelSource& source) const;
  [[nodiscard]] Context with_request_id(std::string id) const;
  [[nodiscard]] Context with_memory_tag(std::string tag) const;
  [[nodiscard]] Context with_priority(Priority priority) const;

  [[nodiscard]] std::optional<TimePoint> deadline() const noexcept;
  [[nodiscard]] bool cancelled() const noexcept;
  [[nodiscard]] std::string_view request_id() const noexcept;
  [[nodiscard]] std::string_view memory_tag() const noexcept;
  [[nodiscard]] Priority priority() const noexcept;

  // Throws Cancelled or DeadlineExceeded when the call named `op` should stop; long loops call it now and then.
  void check(std::string_view op, const Executor& executor) const;

 private:
  struct Fields;
  [[nodiscard]] std::shared_ptr<Fields> copy() const;
  static Context with(std::shared_ptr<const Fields> fields);
  std::shared_ptr<const Fields> fields_;
};

}  // namespace vectis::inline v0_1
