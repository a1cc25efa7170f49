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

// The kind of a failure, as Error::code() returns it; error_catalog() describes each code. The values are stable:
// they cross the C ABI and are logged. Append new codes, never renumber.
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

// The description of one error code, as error_catalog() and describe() return it. `docs/errors.md` is generated from
// the entries.
struct ErrorEntry {
  ErrorCode code;
  std::string_view name;         // "InvalidInput", as messages and docs print it
  std::string_view description;  // what it means, for the user
  std::string_view remedy;       // what to do
};

// Returns the entries of all error codes in the order of their values; valid until the process ends. Does not throw.
VECTIS_API std::span<const ErrorEntry> error_catalog() noexcept;
// Returns the catalog's entry of `code`; an entry named "Unknown" for a value that is not in the catalog. Does not
// throw.
VECTIS_API const ErrorEntry& describe(ErrorCode code) noexcept;

// The exception that Vectis throws for every failure of its own; code() identifies the failure. `what()` reads "[op]
// what happened, value, limit; what to do". Copying never throws. Immutable, thread-safe.
class VECTIS_API Error : public std::exception {
 public:
  // Makes an Error whose what() is "[op] message". `op` names the call that failed ("copy_to_device"); `detail` is
  // optional longer text, such as a compiler's output. Copies the texts; throws std::bad_alloc when memory runs out.
  Error(ErrorCode code, std::string_view op, std::string_view message, std::string_view detail = {});

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  // Returns the name of the call that failed; valid as long as this Error or a copy of it lives. Does not throw.
  [[nodiscard]] std::string_view op() const noexcept;
  // Returns the longer text, such as a compiler's output; empty when there is none. Valid as long as this Error or a
  // copy of it lives. Does not throw.
  [[nodiscard]] std::string_view detail() const noexcept;
  // Returns "[op] message", NUL-terminated; valid as long as this Error or a copy of it lives. Does not throw.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct Text;
  ErrorCode code_;
  std::shared_ptr<const Text> text_;
};

}  // namespace vectis::inline v0_1
