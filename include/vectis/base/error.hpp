// The exception type of Vectis and the catalog of its error codes.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The values are stable: they cross the C ABI and are logged. Append new codes, never renumber.
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

// One entry of the catalog. `docs/errors.md` is generated from it.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;         // "InvalidInput", as messages and docs print it
  std::string_view description;  // what it means, for the user
  std::string_view remedy;       // what to do
};

// All error codes, in the order of their numbers.
VECTIS_API std::span<const ErrorEntry> error_catalog() noexcept;
// The entry of a code; an entry named "Unknown" for a value that is not in the catalog.
VECTIS_API const ErrorEntry& describe(ErrorCode code) noexcept;

// The exception that every call of Vectis throws. `what()` reads "[op] what happened, value, limit; what to do".
// Copying never throws. Immutable, thread-safe.
class VECTIS_API Error : public std::exception {
 public:
  // `op` names the call that failed ("copy_to_device"), `message` is the rest of what(); `detail` is optional longer
  // text, such as a compiler's output.
  Error(ErrorCode code, std::string_view op, std::string_view message, std::string_view detail = {});

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  // The views are valid as long as this Error or a copy of it.
  [[nodiscard]] std::string_view op() const noexcept;
  [[nodiscard]] std::string_view detail() const noexcept;
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct Text;
  ErrorCode code_;
  std::shared_ptr<const Text> text_;
};

}  // namespace vectis::inline v0_1
