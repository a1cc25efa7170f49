// Provokes each of the five kinds of out-of-memory errors, and shows that each disappears with its cause.
#include <filesystem>

#include "tests/memory/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using test::kib;
using test::mib;

class Explain : public test::MemoryTest {
 protected:
  // The report of a request that must fail.
  OutOfMemoryReport refused(const std::string& on, std::uint64_t count, const BufferOptions& options = {}) {
    try {
      static_cast<void>(bytes(on, count, options));
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(error.code(), ErrorCode::allocation);
      EXPECT_THAT(std::string(error.what()), testing::HasSubstr(std::string(name(error.report().kind))));
      EXPECT_EQ(error.detail(), error.report().text());
      EXPECT_FALSE(error.report().advice.empty());
      EXPECT_GE(error.report().steps.size(), 3U);
      return error.report();
    }
    ADD_FAILURE() << count << " bytes were given";
    return {};
  }

  // `largest_bytes` of the report can be allocated, and one byte more cannot.
  void expect_largest(const std::string& on, const OutOfMemoryReport& report) {
    if (report.largest_bytes > 0) {
      EXPECT_EQ(bytes(on, report.largest_bytes).bytes(), report.largest_bytes);
    }
    pool().emergency_cleanup(id(on));
    EXPECT_THROW(static_cast<void>(bytes(on, report.largest_bytes + 1)), Error);
  }
};

TEST_F(Explain, OverYourLimit) {
  pool().set_max_pool_size(id("cpu"), 10 * mib);
  const ManagedBuffer kept = bytes("cpu", 8 * mib);
  const OutOfMemoryReport report = refused("cpu", 4 * mib);
  EXPECT_EQ(report.kind, OutOfMemoryKind::over_limit);
  EXPECT_EQ(report.requested_bytes, 4 * mib);
  EXPECT_EQ(report.limit_bytes, 10 * mib);
  EXPECT_EQ(report.in_use_bytes, 8 * mib);
  EXPECT_EQ(report.largest_bytes, 2 * mib);
  EXPECT_THAT(report.advice, testing::HasSubstr("set_max_pool_size"));
  EXPECT_EQ(stats("cpu").failures, 1U);
  expect_largest("cpu", report);
  pool().set_max_pool_size(id("cpu"), 12 * mib);
  EXPECT_TRUE(bytes("cpu", 4 * mib));
}

TEST_F(Explain, NamesTheTagOfTheRequest) {
  pool().set_max_pool_size(id("cpu"), mib);
  const OutOfMemoryReport report = refused("cpu", 2 * mib, {.context = Context{}.with_memory_tag("index")});
  EXPECT_EQ(report.tag, "index");
  EXPECT_THAT(report.text(), testing::HasSubstr("requested 2.0 MiB (2097152 bytes) for 'index' on cpu:0"));
  EXPECT_THAT(OutOfMemoryError("op", report).what(), testing::HasSubstr("2.0 MiB requested for 'index' on cpu:0"));
}

TEST_F(Explain, StepsReportTheBytesTheyFreed) {
  pool().set_max_pool_size(id("cpu"), 48 * mib);
  bytes("cpu", 40 * mib).release();
  const OutOfMemoryReport report = refused("cpu", 60 * mib);
  EXPECT_EQ(report.steps[0].name, "coalescing the cache");
  EXPECT_EQ(report.steps[0].freed_bytes, 40 * mib);
  EXPECT_EQ(report.steps[2].name, "returning empty segments");
  EXPECT_EQ(report.steps[2].freed_bytes, 40 * mib);
  EXPECT_THAT(report.text(), testing::HasSubstr("tried     returning empty segments: 40.0 MiB freed"));
}

TEST_F(Explain, AReclaimerThatReportsTooLittleIsCountedByTheBuffersItReleased) {
  pool().set_max_pool_size(id("cpu"), 10 * mib);
  ManagedBuffer held = bytes("cpu", 4 * mib);
  pool().add_reclaimer({"silent", 50, [&](int, std::uint64_t) {
                          held.release();
                          return std::uint64_t{0};
                        }});
  const OutOfMemoryReport report = refused("cpu", 12 * mib);
  EXPECT_EQ(report.steps.back().name, "silent");
  EXPECT_EQ(report.steps.back().freed_bytes, 4 * mib);
}

TEST_F(Explain, OneByteOverTheLimit) {
  pool().set_max_pool_size(id("cpu"), mib);
  EXPECT_TRUE(bytes("cpu", mib));
  EXPECT_EQ(refused("cpu", mib + 1).kind, OutOfMemoryKind::over_limit);
  EXPECT_TRUE(bytes("cpu", mib));
}

TEST_F(Explain, Fragmented) {
  pool().set_max_pool_size(id("cpu"), 2 * mib);
  std::vector<ManagedBuffer> live;
  for (int i = 0; i < 8; ++i) live.push_back(bytes("cpu", 256 * kib));
  for (std::size_t i = 0; i < live.size(); i += 2) live[i].release();
  const OutOfMemoryReport report = refused("cpu", 512 * kib);
  EXPECT_EQ(report.kind, OutOfMemoryKind::fragmented);
  EXPECT_EQ(report.cached_bytes, mib);
  EXPECT_EQ(report.largest_bytes, 256 * kib);
  EXPECT_GT(stats("cpu").fragmentation, 0.7);
  live[1].release();
  EXPECT_TRUE(bytes("cpu", 512 * kib)) << "the gap is closed";
}

TEST_F(Explain, Full) {
  pool().set_max_pool_size(id("failing"), 512 * mib);  // more than the device has
  std::vector<ManagedBuffer> live;
  for (int i = 0; i < 4; ++i) live.push_back(bytes("failing", 60 * mib));
  const OutOfMemoryReport report = refused("failing", 60 * mib);
  EXPECT_EQ(report.kind, OutOfMemoryKind::full);
  EXPECT_EQ(report.total_bytes, 256 * mib);
  EXPECT_EQ(report.free_bytes, 16 * mib);
  EXPECT_EQ(report.largest_bytes, 16 * mib);
  expect_largest("failing", report);
  live.pop_back();
  EXPECT_TRUE(bytes("failing", 60 * mib));
}

TEST_F(Explain, HeldByOthers) {
  registry().configure("failing", "others", std::to_string(200 * mib));
  const OutOfMemoryReport report = refused("failing", 100 * mib);
  EXPECT_EQ(report.kind, OutOfMemoryKind::held_by_others);
  EXPECT_EQ(report.free_bytes, 56 * mib);
  EXPECT_EQ(report.in_use_bytes, 0U);
  expect_largest("failing", report);
  registry().configure("failing", "others", "0");
  EXPECT_TRUE(bytes("failing", 100 * mib));
}

TEST_F(Explain, HeldInCache) {
  pool().set_max_pool_size(id("failing"), 10 * mib);
  const DeviceContext context = bytes("failing", 1).memory().context();
  Stream busy(context);
  bytes("failing", 10 * mib, {.stream = &busy}).release();
  // The release's event can be neither queried nor waited for, so that the stream counts as busy.
  for (int i = 0; i < 64; ++i) registry().configure("failing", "fail", "event_query 1 driver_failure");
  for (int i = 0; i < 64; ++i) registry().configure("failing", "fail", "event_synchronize 1 driver_failure");
  const OutOfMemoryReport report = refused("failing", 6 * mib);
  EXPECT_EQ(report.kind, OutOfMemoryKind::held_in_cache);
  EXPECT_EQ(report.cached_bytes, 10 * mib);
  registry().configure("failing", "reset", "");
  EXPECT_TRUE(bytes("failing", 6 * mib));
}

TEST_F(Explain, ReclaimersRunInOrderOfCost) {
  pool().set_max_pool_size(id("cpu"), 10 * mib);
  std::vector<std::string> asked;
  ManagedBuffer cheap = bytes("cpu", 4 * mib);
  ManagedBuffer dear = bytes("cpu", 5 * mib);
  const int expensive = pool().add_reclaimer({"index", 200, [&](int, std::uint64_t) {
                                                asked.emplace_back("index");
                                                dear.release();
                                                return 5 * mib;
                                              }});
  pool().add_reclaimer({"results", 50, [&](int device, std::uint64_t wanted) {
                          EXPECT_EQ(device, id("cpu"));
                          EXPECT_GE(wanted, 4 * mib);
                          asked.emplace_back("results");
                          cheap.release();
                          return 4 * mib;
                        }});
  const ManagedBuffer first = bytes("cpu", 5 * mib);
  EXPECT_THAT(asked, testing::ElementsAre("results")) << "the second was not needed";
  pool().remove_reclaimer(expensive);
  const OutOfMemoryReport report = refused("cpu", 9 * mib);
  EXPECT_EQ(report.steps.back().name, "results");
  EXPECT_EQ(report.steps.back().freed_bytes, 4 * mib);
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(Explain, SubDevicesShareOneBudget) {
  pool().set_max_pool_size(id("opencl:1"), 64 * mib);
  const ManagedBuffer kept = bytes("opencl:1", 48 * mib);
  EXPECT_EQ(refused("opencl:2", 32 * mib).kind, OutOfMemoryKind::over_limit);
  EXPECT_TRUE(bytes("opencl:2", 16 * mib));
}

TEST_F(Explain, SubDevicesReturnTheirCachesToEachOther) {
  pool().set_max_pool_size(id("opencl:1"), 64 * mib);
  bytes("opencl:1", 48 * mib).release();
  EXPECT_EQ(stats("opencl:1").cached_bytes, 48 * mib);
  EXPECT_TRUE(bytes("opencl:2", 32 * mib)) << "the rest is only cached";
  EXPECT_EQ(stats("opencl:1").cached_bytes, 0U);
  EXPECT_EQ(stats("opencl:2").failures, 0U);
  bytes("opencl:1", 24 * mib).release();
  EXPECT_EQ(stats("opencl:2").cached_bytes, 32 * mib);
  pool().set_max_pool_size(id("opencl:1"), 48 * mib);
  EXPECT_EQ(stats("opencl:1").reserved_bytes + stats("opencl:2").reserved_bytes, 0U) << "56 MiB were held";
}
#endif

TEST_F(Explain, LeavesASnapshot) {
  const test::TemporaryFolder folder;
  RuntimeOptions options;
  options.settings["memory.snapshots"] = folder.folder().string();
  Runtime own(options);
  MemoryPool& limited = memory_pool(own);
  const int cpu = own.service<DeviceRegistry>().find("cpu")->id();
  limited.set_max_pool_size(cpu, mib);
  try {
    static_cast<void>(limited.get_managed_buffer(cpu, 2 * mib, Precision::int8));
    ADD_FAILURE();
  } catch (const OutOfMemoryError& error) {
    EXPECT_TRUE(std::filesystem::exists(error.report().snapshot_path)) << error.report().snapshot_path;
    EXPECT_THAT(std::string(error.detail()), testing::HasSubstr(error.report().snapshot_path));
  }
}

}  // namespace
}  // namespace vectis
