// The one exception of Vectis and the closed catalogue of what it can mean.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Values are stable: they cross the C ABI and the wire. Append, never renumber.
enum class ErrorCode : std::uint16_t {
  invalid_input = 1,
  allocation = 2,
  backend_creation = 3,
  unsupported_backend = 4,
  unsupported = 5,
  device_lost = 6,
  no_compiler = 7,
  compile_failed = 8,
  driver_failure = 9,
  forked = 10,
  cancelled = 11,
  deadline_exceeded = 12,
  io = 13,
  corrupt_data = 14,
};

// One line of the catalogue. `docs/errors.md` is generated from it.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;         // "InvalidInput", as users see it
  std::string_view description;  // what it means, for the user
  std::string_view remedy;       // what to do
};

VECTIS_API std::span<const ErrorEntry> error_catalog() noexcept;
VECTIS_API const ErrorEntry& describe(ErrorCode code) noexcept;

// Thrown by everything in Vectis. `what()` reads "[op] what happened, number, limit; what to do".
// Copying never throws. Immutable.
class VECTIS_API Error : public std::exception {
 public:
  // `op` names the call that failed ("copy_to_device"), `message` the rest; `detail` is longer text for a reader who
  // wants it: a compiler's output, a driver's report.
  Error(ErrorCode code, std::string_view op, std::string_view message, std::string_view detail = {});

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] std::string_view op() const noexcept;
  [[nodiscard]] std::string_view detail() const noexcept;
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct Text;
  ErrorCode code_;
  std::shared_ptr<const Text> text_;
};

}  // namespace vectis::inline v0_1
