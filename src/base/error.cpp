#include "vectis/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vectis::inline v0_1 {

namespace {

constexpr std::array catalog{
    ErrorEntry{ErrorCode::invalid_input, "InvalidInput", "An argument, a setting or a call was not valid.",
               "Correct the value that the message names."},
    ErrorEntry{ErrorCode::allocation, "Allocation", "There was not enough memory on the device or the host.",
               "Request less, free unused memory, or choose a device with more memory."},
    ErrorEntry{ErrorCode::backend_creation, "BackendCreation", "A backend is installed but could not be started.",
               "Run `vectis doctor`: it prints the exact reason and what to install or change."},
    ErrorEntry{ErrorCode::unsupported_backend, "UnsupportedBackend", "No backend of that name is installed.",
               "Run `vectis devices` for the valid names, or install the backend's plug-in."},
    ErrorEntry{ErrorCode::unsupported, "Unsupported", "The device or backend does not support the call.",
               "Choose another device, or the alternative that the message names."},
    ErrorEntry{ErrorCode::device_lost, "DeviceLost", "The device disappeared or was reset while it was in use.",
               "Destroy its context and create a new one; check the system log if it happens again."},
    ErrorEntry{ErrorCode::no_compiler, "NoCompiler", "The device has no compiler at run time.",
               "Choose a device that compiles kernels, or use the built-in operations."},
    ErrorEntry{ErrorCode::compile_failed, "CompileFailed", "The device's compiler rejected a kernel.",
               "Read the compiler's output in `Error::detail()` and correct the source."},
    ErrorEntry{ErrorCode::driver_failure, "DriverFailure", "The device's driver failed for an unknown reason.",
               "Try again; if it persists, update the driver and report the code in the message."},
    ErrorEntry{ErrorCode::forked, "Forked", "A child process used an object that its parent created before the fork.",
               "Create a new Runtime in the child, or spawn processes instead of forking."},
    ErrorEntry{ErrorCode::cancelled, "Cancelled", "The caller cancelled the call.",
               "Nothing is wrong; call again if the answer is still wanted."},
    ErrorEntry{ErrorCode::deadline_exceeded, "DeadlineExceeded", "The call did not finish before its deadline.",
               "Allow more time or request less per call."},
    ErrorEntry{ErrorCode::io, "Io", "A file could not be opened, read or written.",
               "Check the path, its permissions and the space left."},
    ErrorEntry{ErrorCode::corrupt_data, "CorruptData", "Stored data is corrupt, truncated or of another format.",
               "Restore it from a backup; if a newer version wrote it, use that version."},
};

// For a value that is not in the enum, such as one of a newer version.
constexpr ErrorEntry unknown{ErrorCode{}, "Unknown", "The error has a code that this version does not know.",
                             "Use the same version of Vectis on both sides."};

}  // namespace

std::span<const ErrorEntry> error_catalog() noexcept { return catalog; }

const ErrorEntry& describe(ErrorCode code) noexcept {
  const auto* const found =
      std::find_if(catalog.begin(), catalog.end(), [&](auto& entry) { return entry.code == code; });
  return found == catalog.end() ? unknown : *found;
}

struct Error::Text {
  std::string op;
  std::string what;
  std::string detail;
};

Error::Error(ErrorCode code, std::string_view op, std::string_view message, std::string_view detail)
    : code_(code),
      text_(std::make_shared<Text>(Text{std::string(op), fmt::format("[{}] {}", op, message), std::string(detail)})) {}

std::string_view Error::op() const noexcept { return text_->op; }
std::string_view Error::detail() const noexcept { return text_->detail; }
const char* Error::what() const noexcept { return text_->what.c_str(); }

}  // namespace vectis::inline v0_1
