// Fixture with a pool on every backend.
#pragma once

#include "tests/devices/fixture.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {

constexpr std::uint64_t kib = 1 << 10;
constexpr std::uint64_t mib = 1 << 20;

class MemoryTest : public DevicesTest {
 protected:
  ~MemoryTest() override {
    registry().configure("failing", "reset", "");
    registry().configure("failing", "others", "0");
  }

  MemoryPool& pool() { return memory_pool(runtime()); }
  int id(const std::string& name) { return device(name).id(); }
  ManagedBuffer bytes(const std::string& name, std::uint64_t count, const BufferOptions& options = {}) {
    return pool().get_managed_buffer(id(name), count, Precision::int8, options);
  }
  MemoryStats stats(const std::string& name) { return pool().get_memory_stats(id(name)).value(); }
};

}  // namespace vectis::test
