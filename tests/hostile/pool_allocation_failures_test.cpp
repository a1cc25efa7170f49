// Fails every allocation of the host in every call of a memory pool, one at a time. No block may be lost or handed out
// twice, and the next call must work.
#include <functional>
#include <set>
#include <vector>

#include "tests/support/allocation_faults.hpp"
#include "vectis/device.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {
namespace {

class PoolAllocationFailures : public testing::Test {
 protected:
  using Buffers = std::vector<ManagedBuffer>;
  using Call = std::function<void(MemoryPool&, Buffers&)>;

  // Fails each allocation of `call` in turn, in a new pool each time, of which `buffers` buffers of different size
  // classes are live. All buffers must return to the device in the end.
  void fail_each(std::size_t buffers, const Call& call) {
    for (const bool persistent : {false, true}) {
      bool more = true;
      for (std::uint32_t nth = 1; more && !HasFailure(); ++nth) {
        SCOPED_TRACE("allocation " + std::to_string(nth) + (persistent ? " and all later ones" : ""));
        MemoryPool pool(runtime);
        Buffers live;
        for (std::size_t i = 0; i < buffers; ++i) live.push_back(pool.allocate_bytes(cpu, 256 * (i + 1)));
        arm_allocation_fault(nullptr, NewForm::throwing, nth, persistent);
        try {
          call(pool, live);
          more = disarm_allocation_fault() >= nth;
        } catch (const std::exception&) {
          disarm_allocation_fault();
        }
        live.clear();
        expect_intact(pool);
      }
    }
  }

  void expect_intact(MemoryPool& pool) {
    EXPECT_EQ(pool.get_memory_stats(cpu)->in_use_bytes, 0U);
    EXPECT_EQ(pool.get_memory_stats(cpu)->live_buffers, 0U);
    Buffers buffers;
    std::set<const std::byte*> addresses;
    for (std::size_t i = 0; i < 20; ++i) {
      buffers.push_back(pool.allocate_bytes(cpu, 256 * (i + 1)));
      EXPECT_TRUE(addresses.insert(buffers.back().memory().address()).second) << "two live buffers at one address";
    }
    buffers.clear();
    pool.emergency_cleanup(cpu);
    EXPECT_EQ(pool.get_memory_stats(cpu)->reserved_bytes, 0U) << "a lost block keeps its segment";
  }

  Runtime runtime;
  const int cpu = runtime.service<DeviceRegistry>().find("cpu")->id();
};

TEST_F(PoolAllocationFailures, OfARequest) {
  const Context tagged = Context{}.with_memory_tag("tag");
  fail_each(0, [&](MemoryPool& pool, Buffers&) {
    const ManagedBuffer buffer = pool.allocate_bytes(cpu, 1000, {.context = tagged});
  });
}

TEST_F(PoolAllocationFailures, OfARelease) {
  fail_each(1, [](MemoryPool&, Buffers& live) { live[0].release(); });
}

TEST_F(PoolAllocationFailures, OfReleasesOfManySizeClasses) {
  fail_each(66, [](MemoryPool&, Buffers& live) {
    for (ManagedBuffer& buffer : live) buffer.release();
  });
}

TEST_F(PoolAllocationFailures, OfACleanup) {
  fail_each(20, [&](MemoryPool& pool, Buffers& live) {
    for (ManagedBuffer& buffer : live) buffer.release();
    pool.emergency_cleanup(cpu);
  });
}

}  // namespace
}  // namespace vectis::test
