// What the CPU's handles are. The device layer sees them only as pointers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/onednn.hpp"
#include "backends/cpu/threads.hpp"
#include "vectis/device/backend.h"

struct VectisBackendState {
  explicit VectisBackendState(const VectisHost* host) : threads(host), onednn(host) {}
  const vectis::cpu::Threads threads;
  vectis::cpu::OneDnn onednn;
};
struct VectisContext {
  VectisBackendState* state;
};
struct VectisStream {
  VectisBackendState* state;
};
struct VectisMemory {
  std::byte* bytes;
  bool is_slice;  // of a memory that owns the bytes
};
struct VectisEvent {
  std::atomic<std::uint64_t> nanoseconds{0};
};
