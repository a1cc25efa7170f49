#include "memory/cache_shard.hpp"

#include <gtest/gtest.h>

#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::detail {
namespace {

class CacheShardTest : public testing::Test {
 protected:
  Runtime runtime;
  DeviceContext context{runtime.service<DeviceRegistry>().find("cpu").value()};
  PoolBlock block{0, DeviceMemory(context, 256)};
  CacheShard shard;
};

// Statistics count a block as cached only while it is in a shard: one that a request has taken is not live yet.
TEST_F(CacheShardTest, ABlockIsCachedWhileItIsInAShard) {
  EXPECT_FALSE(block.cached);
  shard.put(&block);
  EXPECT_TRUE(block.cached);
  EXPECT_EQ(shard.take(block.size_class(), nullptr), &block);
  EXPECT_FALSE(block.cached);
  shard.put(&block);
  EXPECT_EQ(shard.drain([](const PoolBlock&) { return true; }), &block);
  EXPECT_FALSE(block.cached);
  shard.put(&block);
  EXPECT_EQ(shard.drop_underused(0), &block);
  EXPECT_FALSE(block.cached);
  EXPECT_EQ(shard.bytes(), 0U);
}

TEST_F(CacheShardTest, DrainsTheBlocksThatSatisfyAPredicate) {
  PoolBlock small{1, DeviceMemory(context, 128)};
  shard.put(&block);
  shard.put(&small);
  EXPECT_EQ(shard.drain([](const PoolBlock& one) { return one.memory.bytes() < 200; }), &small);
  EXPECT_EQ(small.next, nullptr);
  EXPECT_EQ(shard.bytes(), 256U);
  EXPECT_EQ(shard.take(block.size_class(), nullptr), &block);
}

}  // namespace
}  // namespace vectis::detail
