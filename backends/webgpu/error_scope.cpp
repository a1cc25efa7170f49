#include "error_scope.hpp"

#include <algorithm>
#include <new>

#include "gpu.hpp"

namespace vectis::webgpu {

namespace {

thread_local ErrorScope* innermost = nullptr;

constexpr const char* no_host_memory = "no host memory";  // short enough that a std::string allocates nothing

// wgpu reports some lost devices and some exhausted memory as validation errors.
bool means_lost(std::string_view text) { return text.find("device is lost") != std::string_view::npos; }
bool means_out_of_memory(WGPUErrorType type, std::string_view text) {
  return type == WGPUErrorType_OutOfMemory || text == no_host_memory ||
         text.find("Not enough memory left") != std::string_view::npos;
}

VectisStatus status_of(WGPUErrorType type, std::string_view text, VectisStatus invalid) {
  if (means_out_of_memory(type, text)) return VECTIS_ALLOCATION;
  return type == WGPUErrorType_Validation ? invalid : VectisStatus{VECTIS_DRIVER_FAILURE};
}

}  // namespace

ErrorScope::ErrorScope(Gpu& gpu) noexcept : gpu_(gpu), outer_(innermost) { innermost = this; }

ErrorScope::~ErrorScope() { innermost = outer_; }

bool ErrorScope::capture(const Gpu& gpu, WGPUErrorType type, std::string_view text) noexcept {
  if (innermost == nullptr || &innermost->gpu_ != &gpu) return false;
  if (!innermost->first_) innermost->first_.emplace(CapturedError{type, copy_error(text)});
  return true;
}

void ErrorScope::check(std::string_view what, VectisStatus invalid) {
  if (!first_) return;
  if (means_lost(first_->text)) gpu_.mark_lost(first_->text);
  gpu_.check();
  const std::string prefix = what.empty() ? std::string() : std::string(what) + ": ";
  throw Failure(status_of(first_->type, first_->text, invalid), prefix + first_->text);
}

// "Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Buffer size 8 is ...": the first three lines say
// nothing about the error.
std::string trim_error(std::string_view text) {
  const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size())); };
  skip_blanks();
  for (const std::string_view start : {"Validation Error", "Caused by:"}) {
    if (text.starts_with(start)) text.remove_prefix(start.size());
    skip_blanks();
  }
  if (text.starts_with("In wgpu")) {
    const std::size_t line_end = text.find('\n');
    if (line_end != std::string_view::npos) text.remove_prefix(line_end);
    skip_blanks();
  }
  return std::string(text.substr(0, text.find_last_not_of(" \n\t") + 1));
}

std::string copy_error(std::string_view text) noexcept {
  try {
    return trim_error(text);
  } catch (const std::bad_alloc&) {
    return no_host_memory;
  }
}

namespace {

// What follows `mark` on its line; empty when the text has none.
std::string_view rest_of_line(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find('\n'));
}

}  // namespace

// naga writes "Shader '' parsing error: MESSAGE\n  ┌─ wgsl:4:10\n ...", and ":4:10" and "= CAUSE" in validation errors.
std::string describe_shader_error(std::string_view text) {
  const std::string_view message = rest_of_line(text, " error: ");
  std::string_view place = rest_of_line(text, "┌─ ");
  if (place.starts_with("wgsl")) place.remove_prefix(4);
  if (message.empty() || !place.starts_with(':')) return std::string(text);
  std::string line = "wgsl" + std::string(place) + ": error: " + std::string(message);
  if (const std::string_view cause = rest_of_line(text, "  = "); !cause.empty()) line += ": " + std::string(cause);
  return line + "\n" + std::string(text);
}

}  // namespace vectis::webgpu
