#include "trap.hpp"

#include <algorithm>

#include "gpu.hpp"

namespace vectis::webgpu {

namespace {

thread_local Trap* innermost = nullptr;

// wgpu calls some of these mere refusals.
bool means_lost(std::string_view words) { return words.find("device is lost") != std::string_view::npos; }
bool means_no_memory(WGPUErrorType type, std::string_view words) {
  return type == WGPUErrorType_OutOfMemory || words.find("Not enough memory left") != std::string_view::npos;
}

VectisStatus status_of(WGPUErrorType type, std::string_view words, VectisStatus refused) {
  if (means_no_memory(type, words)) return VECTIS_ALLOCATION;
  return type == WGPUErrorType_Validation ? refused : VectisStatus{VECTIS_DRIVER_FAILURE};
}

}  // namespace

Trap::Trap(Gpu& gpu) noexcept : gpu_(gpu), outer_(innermost) { innermost = this; }

Trap::~Trap() { innermost = outer_; }

bool Trap::keep(const Gpu& gpu, WGPUErrorType type, std::string_view words) {
  if (innermost == nullptr || &innermost->gpu_ != &gpu) return false;
  if (!innermost->caught_) innermost->caught_ = Caught{type, tidy(words)};
  return true;
}

void Trap::check(std::string_view what, VectisStatus refused) {
  if (!caught_) return;
  if (means_lost(caught_->words)) gpu_.note_lost(caught_->words);
  gpu_.check();
  const std::string begin = what.empty() ? std::string() : std::string(what) + ": ";
  throw Failure(status_of(caught_->type, caught_->words, refused), begin + caught_->words);
}

// "Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Buffer size 8 is ..." begins with what says
// nothing.
std::string tidy(std::string_view words) {
  const auto skip_blanks = [&] { words.remove_prefix(std::min(words.find_first_not_of(" \n\t"), words.size())); };
  skip_blanks();
  for (const std::string_view start : {"Validation Error", "Caused by:"}) {
    if (words.starts_with(start)) words.remove_prefix(start.size());
    skip_blanks();
  }
  return std::string(words.substr(0, words.find_last_not_of(" \n\t") + 1));
}

}  // namespace vectis::webgpu
