#include "search/common/device_failure.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Errors of drivers name the device already, with the call that failed.
Error named(const Error& error, const std::string& label) {
  const std::string_view text = error.what();
  if (text.find(label) == std::string_view::npos) {
    return {error.code(), "search", fmt::format("{} failed: {}", label, text), error.detail()};
  }
  return error;
}

}  // namespace

DeviceFailure::DeviceFailure(const Error& error, const Device& device) : Error(named(error, device.label())) {}

void rethrow_as_device_failure(const Device& device) {
  try {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded) throw;
    throw DeviceFailure(error, device);
  }
}

}  // namespace vectis::inline v0_1::detail
