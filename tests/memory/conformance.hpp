// The conformance suite of memory resources. Instantiate it for a new resource:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, ResourceConformance, testing::Values(MakeResource{...}));
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/memory/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

// A resource under test together with the resources it wraps.
struct ResourceStack {
  std::vector<std::unique_ptr<MemoryResource>> layers;  // the last one is tested
  [[nodiscard]] MemoryResource& top() const { return *layers.back(); }
};

struct MakeResource {
  std::string name;
  std::function<ResourceStack(const DeviceContext&)> make;
};

class ResourceConformance : public MemoryTest, public testing::WithParamInterface<MakeResource> {
 protected:
  DeviceContext context{device("cpu")};
  ResourceStack stack = GetParam().make(context);
  MemoryResource& resource = stack.top();

  static void paint(const MemoryBlock& block, std::uint8_t color) {
    std::memset(block.memory.address(), color, block.bytes);
  }
  static bool has(const MemoryBlock& block, std::uint8_t color) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(block.memory.address());
    return std::all_of(bytes, bytes + block.bytes, [&](std::uint8_t byte) { return byte == color; });
  }
};

TEST_P(ResourceConformance, GivesAtLeastWhatWasAsked) {
  for (const std::uint64_t size : {1ULL, 2ULL, 255ULL, 256ULL, 257ULL, 4097ULL, 1000003ULL}) {
    MemoryBlock block = resource.allocate({.bytes = size});
    EXPECT_EQ(block.bytes, size);
    EXPECT_GE(block.memory.bytes(), size);
    paint(block, 1);
    resource.deallocate(std::move(block), nullptr);
  }
}

TEST_P(ResourceConformance, LiveBlocksNeverOverlap) {
  Random random(seed());
  struct Painted {
    MemoryBlock block;
    std::uint8_t color;
  };
  std::vector<Painted> live;
  for (int step = 0; step < 2000; ++step) {
    if (live.size() > 30 || (!live.empty() && random.below(2) == 0)) {
      std::swap(live[random.below(live.size())], live.back());
      ASSERT_TRUE(has(live.back().block, live.back().color));
      resource.deallocate(std::move(live.back().block), nullptr);
      live.pop_back();
    } else {
      const auto color = static_cast<std::uint8_t>(random.next());
      live.push_back({resource.allocate({.bytes = 1 + random.below(5000)}), color});
      paint(live.back().block, color);
    }
  }
  for (Painted& one : live) {
    ASSERT_TRUE(has(one.block, one.color));
    resource.deallocate(std::move(one.block), nullptr);
  }
}

TEST_P(ResourceConformance, RefusesWhatCannotBeAndGoesOn) {
  EXPECT_ERROR(static_cast<void>(resource.allocate({.bytes = 0})), ErrorCode::invalid_input, "0");
  try {
    static_cast<void>(resource.allocate({.bytes = UINT64_MAX}));
    ADD_FAILURE() << "2^64-1 bytes were given";
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::invalid_input || error.code() == ErrorCode::allocation) << error.what();
  }
  resource.deallocate(resource.allocate({.bytes = 10}), nullptr);
}

TEST_P(ResourceConformance, KnowsItsContext) { EXPECT_EQ(resource.context().device(), context.device()); }

TEST_P(ResourceConformance, IsUsedByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint8_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      Random random(seed() + number);
      for (int step = 0; step < 500; ++step) {
        MemoryBlock block = resource.allocate({.bytes = 1 + random.below(2000)});
        paint(block, number);
        std::this_thread::yield();
        if (!has(block, number)) ++wrong;
        resource.deallocate(std::move(block), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace vectis::test
