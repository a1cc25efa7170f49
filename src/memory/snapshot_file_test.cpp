#include "memory/snapshot_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/support/fake_os.hpp"
#include "tests/support/memory_snapshot.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr std::uint64_t mib = 1 << 20;

// Pools that write to a temporary folder.
class SnapshotFiles : public testing::Test {
 protected:
  [[nodiscard]] RuntimeOptions options(const std::string& key, const fs::path& folder) const {
    RuntimeOptions options;
    options.settings = {{"gpu.enabled", "false"}, {"config", ""}, {key, folder.string()}};
    return options;
  }
  // The snapshot path in the error of a request that must fail.
  static std::string fail(MemoryPool& pool) {
    pool.set_max_pool_size(0, mib);
    try {
      static_cast<void>(pool.get_managed_buffer(0, 2 * mib, Precision::int8));
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(error.report().kind, OutOfMemoryKind::over_limit);
      return error.report().snapshot_path;
    }
    ADD_FAILURE() << "it was given";
    return {};
  }
  static MemorySnapshot read(const fs::path& path) {
    std::ifstream file(path);
    return read_memory_snapshot(file);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path("snapshots");  // does not exist yet
};

TEST_F(SnapshotFiles, AnErrorWritesJsonAndHtmlWithItsCause) {
  Runtime runtime(options("memory.snapshots", folder_ / "made" / "for it"));
  const fs::path page = fail(memory_pool(runtime));
  EXPECT_EQ(page, folder_ / "made" / "for it" / "memory-cpu-0-1.html");
  EXPECT_GT(fs::file_size(page), 10'000U);
  const MemorySnapshot snapshot = read(fs::path(page).replace_extension(".json"));
  EXPECT_THAT(snapshot.cause,
              HasSubstr("2.0 MiB could not be allocated: together with live buffers that exceeds the pool's"));
  EXPECT_THAT(snapshot.cause, HasSubstr("tried     coalescing the cache"));
  EXPECT_EQ(snapshot.stats.failures, 1U);
}

TEST_F(SnapshotFiles, WritesNothingWithoutAFolder) {
  Runtime runtime(options("memory.snapshots", ""));
  EXPECT_EQ(fail(memory_pool(runtime)), "");
}

TEST_F(SnapshotFiles, ARuntimeWritesAtMostEightAndOverwritesNone) {
  Runtime first(options("memory.snapshots", folder_));
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(fail(memory_pool(first)), (folder_ / ("memory-cpu-0-" + std::to_string(i) + ".html")).string());
  }
  EXPECT_EQ(fail(memory_pool(first)), "");
  EXPECT_EQ(files(), 16U);
  Runtime second(options("memory.snapshots", folder_));
  EXPECT_EQ(fail(memory_pool(second)), (folder_ / "memory-cpu-0-9.html").string());
}

TEST_F(SnapshotFiles, AnUnwritableFolderLeavesTheErrorUnchanged) {
  std::ofstream(folder_) << "a file where the folder should be";
  Runtime runtime(options("memory.snapshots", folder_));
  EXPECT_EQ(fail(memory_pool(runtime)), "");
  Runtime full(options("memory.snapshots", "/dev/full"));
  EXPECT_EQ(fail(memory_pool(full)), "");
}

TEST_F(SnapshotFiles, ALiveSnapshotIsKeptUpToDate) {
  auto executor = std::make_shared<SimulatedExecutor>(1);
  RuntimeOptions with_clock = options("memory.live", folder_);
  with_clock.executor = executor;
  with_clock.settings["memory.trim_after_ms"] = "0";
  Runtime runtime(with_clock);
  MemoryPool& pool = memory_pool(runtime);
  const fs::path file = folder_ / "live-cpu-0.json";

  ManagedBuffer one = pool.get_managed_buffer(0, 1000, Precision::int8);
  ManagedBuffer two = pool.get_managed_buffer(0, 1000, Precision::int8);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(executor->run(), 1U) << "one snapshot for all that happens in a second";
  EXPECT_EQ(read(file).stats.live_buffers, 2U);
  EXPECT_EQ(executor->now(), TimePoint{std::chrono::seconds(1)});

  one.release();
  two.release();
  EXPECT_EQ(executor->run(), 1U);
  EXPECT_EQ(read(file).stats.live_buffers, 0U);
  EXPECT_EQ(read(file).time, TimePoint{std::chrono::seconds(2)});
  EXPECT_EQ(executor->run(), 0U) << "an idle pool writes nothing";
  EXPECT_EQ(files(), 1U);
}

TEST_F(SnapshotFiles, AFailedLiveSnapshotIsLogged) {
  auto executor = std::make_shared<SimulatedExecutor>(1);
  std::string logged;
  std::ofstream(folder_) << "a file where the folder should be";
  RuntimeOptions blocked = options("memory.live", folder_);
  blocked.executor = executor;
  blocked.log = [&](const LogRecord& record) { logged += record.message; };
  Runtime runtime(blocked);
  const ManagedBuffer one = memory_pool(runtime).get_managed_buffer(0, 1000, Precision::int8);
  executor->run(1);
  EXPECT_THAT(logged, HasSubstr("check memory.live"));
}

// Os::replace_file never shows a part of a file, whoever else writes it (RealOsFilesConcurrent). Here nothing reaches
// the disk by another way, such as a temporary file whose name several processes share.
TEST_F(SnapshotFiles, ALiveSnapshotIsReplacedByTheOperatingSystemOnly) {
  test::FakeOs os;
  RuntimeOptions faked = options("memory.live", "");
  faked.os = &os;
  Runtime runtime(std::move(faked));
  MemoryPool& pool = memory_pool(runtime);
  const ManagedBuffer one = pool.get_managed_buffer(0, 1000, Precision::int8);
  ASSERT_TRUE(detail::replace_live_snapshot(*pool.device_pool(0), folder_.string()));
  const std::string path = (folder_ / "live-cpu-0.json").string();
  ASSERT_TRUE(os.files.contains(path));
  std::istringstream text(os.files.at(path));
  EXPECT_EQ(read_memory_snapshot(text).stats.live_buffers, 1U);
  EXPECT_EQ(files(), 0U);
  os.writable = false;
  EXPECT_FALSE(detail::replace_live_snapshot(*pool.device_pool(0), folder_.string()));
  EXPECT_EQ(files(), 0U);
}

// The name of a link to a missing file looks free and cannot be created, like a name that another process takes between
// the check whether it is free and the creation of the file.
TEST_F(SnapshotFiles, AnErrorWritesOnlyToAFileThatItCreated) {
  fs::create_directories(folder_);
  const fs::path target = temporary_.path("target");
  fs::create_symlink(target, folder_ / "memory-cpu-0-1.json");
  Runtime runtime(options("memory.snapshots", folder_));
  EXPECT_EQ(fail(memory_pool(runtime)), "");
  EXPECT_FALSE(fs::exists(target));
  EXPECT_EQ(files(), 1U);
}

// Each thread has a Runtime of its own, as if it were another process; all write to one folder.
class SnapshotFilesConcurrent : public SnapshotFiles {
 protected:
  static constexpr int writers = 4;

  template <class Work>
  void run_writers(const std::string& key, const Work& work) {
    std::vector<std::thread> threads;
    for (int id = 0; id < writers; ++id) {
      threads.emplace_back([&, id] {
        RuntimeOptions own = options(key, folder_);
        own.threads = 1;
        Runtime runtime(std::move(own));
        work(id, memory_pool(runtime));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(SnapshotFilesConcurrent, ALiveSnapshotIsAlwaysWhole) {
  std::atomic<int> failed{0};
  std::atomic<int> torn{0};
  std::atomic<int> running{writers};
  std::thread reader([&] {
    while (running > 0) {
      std::ifstream file(folder_ / "live-cpu-0.json");
      if (!file) continue;
      try {
        if (read_memory_snapshot(file).stats.live_buffers != 50) ++torn;
      } catch (const Error&) {
        ++torn;
      }
    }
  });
  run_writers("memory.snapshots", [&](int, MemoryPool& pool) {
    std::vector<ManagedBuffer> buffers;
    for (int i = 0; i < 50; ++i) buffers.push_back(pool.get_managed_buffer(0, 1000, Precision::int8));
    for (int i = 0; i < 50; ++i) {
      if (!detail::replace_live_snapshot(*pool.device_pool(0), folder_.string())) ++failed;
    }
    --running;
  });
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SnapshotFilesConcurrent, EachErrorHasAFileOfItsOwn) {
  std::mutex mutex;
  std::set<std::string> pages;
  std::barrier each_round(writers);  // so that all choose a name at the same time
  run_writers("memory.snapshots", [&](int id, MemoryPool& pool) {
    std::vector<ManagedBuffer> buffers;  // another number for each writer
    for (int i = 0; i <= id; ++i) buffers.push_back(pool.get_managed_buffer(0, 1000, Precision::int8));
    for (int i = 0; i < 8; ++i) {
      each_round.arrive_and_wait();
      const std::string page = fail(pool);
      EXPECT_EQ(read(fs::path(page).replace_extension(".json")).stats.live_buffers, buffers.size());
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(pages.insert(page).second) << page;
    }
  });
  EXPECT_EQ(pages.size(), 8U * writers);
  EXPECT_EQ(files(), 16U * writers);
}

}  // namespace
}  // namespace vectis
