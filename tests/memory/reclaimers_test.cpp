// Reclaimers that are removed while requests run them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "tests/memory/fixture.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;
using test::mib;

class ReclaimersConcurrent : public test::MemoryTest {
 protected:
  // Requests more than the limit, so that every reclaimer is called.
  void exceed_limit() { EXPECT_THROW(static_cast<void>(bytes("cpu", 2 * mib)), OutOfMemoryError); }

  void SetUp() override { pool().set_max_pool_size(id("cpu"), mib); }
};

TEST_F(ReclaimersConcurrent, RemovalWaitsForACallInProgress) {
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> left{false};
  const int reclaimer = pool().add_reclaimer({"slow", 50, [&](int, std::uint64_t) {
                                                entered = true;
                                                entered.notify_all();
                                                leave.wait(false);
                                                left = true;
                                                return std::uint64_t{0};
                                              }});
  auto request = std::async(std::launch::async, [&] { exceed_limit(); });
  entered.wait(false);
  auto removal = std::async(std::launch::async, [&] {
    pool().remove_reclaimer(reclaimer);
    return left.load();
  });
  EXPECT_EQ(removal.wait_for(30ms), std::future_status::timeout);
  leave = true;
  leave.notify_all();
  EXPECT_TRUE(removal.get()) << "the reclaimer still ran";
  request.get();
}

TEST_F(ReclaimersConcurrent, ARemovedOneIsNotCalledByARequestInProgress) {
  bool called = false;
  const int costly = pool().add_reclaimer({"costly", 200, [&](int, std::uint64_t) {
                                             called = true;
                                             return std::uint64_t{0};
                                           }});
  pool().add_reclaimer({"cheap", 50, [&](int, std::uint64_t) {
                          pool().remove_reclaimer(costly);
                          return std::uint64_t{0};
                        }});
  exceed_limit();
  EXPECT_FALSE(called);
}

TEST_F(ReclaimersConcurrent, OneMayRemoveItself) {
  int calls = 0;
  int reclaimer = 0;
  reclaimer = pool().add_reclaimer({"once", 50, [&](int, std::uint64_t) {
                                      ++calls;
                                      pool().remove_reclaimer(reclaimer);
                                      return std::uint64_t{0};
                                    }});
  exceed_limit();
  exceed_limit();
  EXPECT_EQ(calls, 1);
}

TEST_F(ReclaimersConcurrent, OneWhoseOwnRequestFailsIsNotCalledAgain) {
  int depth = 0;
  int deepest = 0;
  const auto request = [&](int, std::uint64_t) {
    deepest = std::max(deepest, ++depth);
    if (depth < 100) exceed_limit();
    --depth;
    return std::uint64_t{0};
  };
  pool().add_reclaimer({"first", 50, request});
  pool().add_reclaimer({"second", 60, request});
  exceed_limit();
  EXPECT_EQ(deepest, 2) << "one reclaimer inside the other";
}

TEST_F(ReclaimersConcurrent, EveryRemovalWaitsForACallInProgress) {
  for (const bool by_itself : {true, false}) {
    std::atomic<bool> entered{false};
    std::atomic<bool> leave{false};
    std::atomic<bool> left{false};
    int reclaimer = 0;
    reclaimer = pool().add_reclaimer({"slow", 50, [&](int, std::uint64_t) {
                                        if (by_itself) pool().remove_reclaimer(reclaimer);
                                        entered = true;
                                        entered.notify_all();
                                        leave.wait(false);
                                        left = true;
                                        return std::uint64_t{0};
                                      }});
    const auto remove = [&] {
      pool().remove_reclaimer(reclaimer);
      return left.load();
    };
    auto request = std::async(std::launch::async, [&] { exceed_limit(); });
    entered.wait(false);
    auto first = std::async(std::launch::async, remove);
    EXPECT_EQ(first.wait_for(30ms), std::future_status::timeout);
    auto second = std::async(std::launch::async, remove);
    EXPECT_EQ(second.wait_for(30ms), std::future_status::timeout);
    leave = true;
    leave.notify_all();
    EXPECT_TRUE(first.get()) << "the reclaimer still ran";
    EXPECT_TRUE(second.get()) << "the reclaimer still ran";
    request.get();
  }
}

TEST_F(ReclaimersConcurrent, RemovalByItselfDestroysTheCallback) {
  const auto owned = std::make_shared<int>(7);
  int reclaimer = 0;
  reclaimer = pool().add_reclaimer({"once", 50, [&, owned](int, std::uint64_t) {
                                      pool().remove_reclaimer(reclaimer);
                                      return std::uint64_t{0};
                                    }});
  exceed_limit();
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(ReclaimersConcurrent, RemovalDestroysTheCallback) {
  const auto owned = std::make_shared<int>(7);
  const int reclaimer = pool().add_reclaimer({"owner", 50, [owned](int, std::uint64_t) { return std::uint64_t{0}; }});
  exceed_limit();
  pool().remove_reclaimer(reclaimer);
  pool().remove_reclaimer(reclaimer);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(ReclaimersConcurrent, WhatARemovedOneRefersToMayBeDestroyed) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> late{0};
  std::thread requests([&] {
    while (!stop) exceed_limit();
  });
  for (int i = 0; i < 20; ++i) {
    auto valid = std::make_unique<std::atomic<bool>>(true);
    const int reclaimer = pool().add_reclaimer({"mine", 50, [&late, owned = valid.get()](int, std::uint64_t) {
                                                  std::this_thread::yield();
                                                  if (!*owned) ++late;
                                                  return std::uint64_t{0};
                                                }});
    std::this_thread::yield();
    pool().remove_reclaimer(reclaimer);
    *valid = false;
  }
  stop = true;
  requests.join();
  EXPECT_EQ(late, 0U);
}

}  // namespace
}  // namespace vectis
