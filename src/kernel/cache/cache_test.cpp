#include "vectis/kernel/cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/compiling_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::CompilingBackend;
using test::FakeOs;
using testing::HasSubstr;

class KernelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    CompilingBackend::install(os);
    os.variables["VECTIS_CACHE_PATH"] = "/cache";
  }

  // A process of its own, for the cache: only the disk is shared with the others.
  struct Process {
    explicit Process(FakeOs& os) : runtime(options_for(os, log)) {}
    static RuntimeOptions options_for(FakeOs& os, std::vector<std::string>& log) {
      RuntimeOptions options = options_on(os);
      options.log = [&log](const LogRecord& record) { log.emplace_back(record.message); };
      return options;
    }
    KernelCache& cache() { return kernel_cache(runtime); }
    DeviceContext context() { return DeviceContext(*runtime.service<DeviceRegistry>().find("cuda")); }
    Program program(const std::string& text, const std::string& options = "") {
      return cache().program(context(), "opencl-c", text, options);
    }

    std::vector<std::string> log;
    Runtime runtime;
  };

  std::string& only_file() {
    EXPECT_EQ(os.files.size(), 1U);
    return os.files.begin()->second;
  }
  static int compiled() { return CompilingBackend::counters.compiled; }

  FakeOs os;
};

TEST_F(KernelCacheTest, CompilesOnceInMemoryAndOnceForTheDisk) {
  Process first(os);
  const DeviceContext context = first.context();
  for (int round = 0; round < 3; ++round) (void)first.cache().program(context, "opencl-c", "a");
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(first.cache().statistics().compiled, 1U);
  EXPECT_EQ(first.cache().statistics().memory_hits, 2U);
  EXPECT_EQ(first.cache().folder(), "/cache/kernels");
  EXPECT_THAT(os.files.begin()->first, testing::MatchesRegex("/cache/kernels/[0-9a-f]+"));

  Process second(os);
  (void)second.program("a");
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(second.cache().statistics().disk_hits, 1U);
  EXPECT_EQ(second.cache().statistics().compiled, 0U);
}

TEST_F(KernelCacheTest, EveryPartOfTheKeyCounts) {
  Process process(os);
  (void)process.program("a");
  (void)process.program("b");
  (void)process.program("a", "-O0");
  EXPECT_EQ(compiled(), 3);
  EXPECT_EQ(os.files.size(), 3U);
  CompilingBackend::install(os, "driver 1.1");  // counts afresh
  Process updated(os);
  (void)updated.program("a");
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(updated.cache().statistics().rebuilt, 0U);
}

TEST_F(KernelCacheTest, LinesOfOptionsAreNotTakenForLinesOfTheText) {
  Process process(os);
  const Program one = process.program("b\na", "-x");
  const Program two = process.program("a", "-x\nb");
  EXPECT_NE(one.core(), two.core());
  // As one key on disk would be, if it did not have the length of the options.
  (void)process.program("c\ntext of 1 bytes\na", "-y");
  (void)process.program("a", "-y\ntext of 19 bytes\nc");
  EXPECT_EQ(compiled(), 4);
  EXPECT_EQ(os.files.size(), 4U);
  EXPECT_EQ(process.cache().statistics().memory_hits, 0U);
}

TEST_F(KernelCacheTest, TwoContextsShareTheDiskAndNotThePrograms) {
  Process process(os);
  const DeviceContext one = process.context();
  const DeviceContext two = process.context();
  const Program first = process.cache().program(one, "opencl-c", "a");
  const Program second = process.cache().program(two, "opencl-c", "a");
  EXPECT_NE(first.core(), second.core());
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(process.cache().statistics().disk_hits, 1U);
}

TEST_F(KernelCacheTest, EntryPointsAreFoundByTheirKeyAlone) {
  Process process(os);
  const DeviceContext context = process.context();
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return KernelText{"opencl-c", "text", "run", ""};
  };
  const EntryPoint first = process.cache().entry_point(context, "test/run", make);
  const EntryPoint again = process.cache().entry_point(context, "test/run", make);
  EXPECT_EQ(first.core(), again.core());
  EXPECT_EQ(first.entry_point(), "run");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(process.cache().statistics().memory_hits, 1U);
}

TEST_F(KernelCacheTest, AFailureIsThrownToEveryCallerAndNotCached) {
  Process process(os);
  const DeviceContext context = process.context();
  for (int round = 0; round < 2; ++round) {
    EXPECT_ERROR((void)process.cache().program(context, "opencl-c", "error"), ErrorCode::compile_failed, "line one");
  }
  const auto missing = [] { return KernelText{"opencl-c", "text", "missing", ""}; };
  EXPECT_ERROR((void)process.cache().entry_point(context, "k", missing), ErrorCode::invalid_input, "no such kernel");
  EXPECT_ERROR((void)process.cache().program(context, "wgsl", "a"), ErrorCode::unsupported, "wgsl");
  const auto found = [] { return KernelText{"opencl-c", "text", "there", ""}; };
  EXPECT_EQ(process.cache().entry_point(context, "k", found).entry_point(), "there");
}

// Every single byte changed, and every length: none is taken for good, none does harm.
TEST_F(KernelCacheTest, ACorruptEntryIsRebuilt) {
  (void)Process(os).program("some text");
  const std::string good = only_file();
  std::vector<std::string> bad;
  for (std::size_t place = 0; place < good.size(); ++place) {
    bad.push_back(good);
    bad.back()[place] = static_cast<char>(bad.back()[place] ^ 0x10);
    bad.push_back(good.substr(0, place));
  }
  bad.push_back(good + "x");
  bad.push_back("#!/bin/sh\n");
  bad.emplace_back(1000, '\xff');
  Process process(os);
  const DeviceContext context = process.context();
  std::uint64_t rebuilt = 0;
  for (const std::string& corrupt : bad) {
    only_file() = corrupt;
    process.cache().clear();
    (void)process.cache().program(context, "opencl-c", "some text");
    ASSERT_EQ(process.cache().statistics().rebuilt, ++rebuilt);
    ASSERT_EQ(only_file(), good);
  }
  EXPECT_EQ(process.cache().statistics().disk_hits, 0U);
}

TEST_F(KernelCacheTest, AnEntryOfAnotherKeyIsRebuilt) {
  Process process(os);
  (void)process.program("a");
  const auto [path, entry] = *os.files.begin();
  os.files.clear();
  (void)process.program("b");
  only_file() = entry;  // a good entry, of "a"
  Process other(os);
  (void)other.program("b");
  EXPECT_EQ(other.cache().statistics().rebuilt, 1U);
  EXPECT_EQ(other.cache().statistics().compiled, 1U);
}

TEST_F(KernelCacheTest, AnUnreadableEntryIsBuiltAndCounted) {
  (void)Process(os).program("a");
  os.unreadable.insert(os.files.begin()->first);
  Process process(os);
  (void)process.program("a");
  EXPECT_EQ(process.cache().statistics().rebuilt, 1U);
  EXPECT_EQ(process.cache().statistics().compiled, 1U);
}

TEST_F(KernelCacheTest, AnEntryOfAnotherUserIsNotUsed) {
  (void)Process(os).program("a");
  os.foreign.insert(os.files.begin()->first);
  Process process(os);
  (void)process.program("a");
  EXPECT_EQ(process.cache().statistics().disk_hits, 0U);
  EXPECT_EQ(process.cache().statistics().rebuilt, 1U);
}

TEST_F(KernelCacheTest, ABinaryTheDriverRejectsIsRebuiltFromSource) {
  (void)Process(os).program("a");
  CompilingBackend::refuses_binaries = true;
  Process process(os);
  (void)process.program("a");
  EXPECT_EQ(process.cache().statistics().rebuilt, 1U);
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KernelCacheTest, ADeviceWithoutBinariesIsCachedInMemory) {
  CompilingBackend::gives_binaries = false;
  Process process(os);
  const DeviceContext context = process.context();
  for (int round = 0; round < 2; ++round) (void)process.cache().program(context, "opencl-c", "a");
  EXPECT_EQ(compiled(), 1);
  EXPECT_TRUE(os.files.empty());
  EXPECT_TRUE(process.log.empty());
}

TEST_F(KernelCacheTest, ProgramsNotUsedForLongAreDroppedFromMemory) {
  os.variables["VECTIS_CACHE_PATH"] = "off";
  Process process(os);
  const DeviceContext context = process.context();
  const auto entry_point = [&](int number) {
    const auto make = [&] { return KernelText{"opencl-c", "text " + std::to_string(number), "kernel", ""}; };
    return process.cache().entry_point(context, std::to_string(number), std::function<KernelText()>(make));
  };
  constexpr int many = 10'000;
  for (int i = 0; i < many; ++i) {
    (void)entry_point(i);
    (void)entry_point(0);  // stays in use
    ASSERT_LE(CompilingBackend::counters.programs.load(), 2 * 4096);
  }
  EXPECT_EQ(compiled(), many);
  (void)entry_point(many - 1);
  EXPECT_EQ(compiled(), many);
  (void)entry_point(1);
  EXPECT_EQ(compiled(), many + 1);
}

TEST_F(KernelCacheTest, FewCustomKernelsAreKeptUnlessTheyAreInUse) {
  os.variables["VECTIS_CACHE_PATH"] = "off";
  Process process(os);
  const DeviceContext context = process.context();
  const auto custom = [&](int number) {
    const auto make = [&] {
      return EntryPoint(process.cache().program(context, "opencl-c", "text " + std::to_string(number)), "kernel");
    };
    return process.cache().entry_point(context, "custom/" + std::to_string(number), std::function<EntryPoint()>(make));
  };
  const auto named = [] { return KernelText{"opencl-c", "operation", "kernel", ""}; };
  (void)process.cache().entry_point(context, "operation/sum", std::function<KernelText()>(named));
  const EntryPoint held = custom(0);
  constexpr int many = 1000;
  for (int i = 1; i < many; ++i) {
    (void)custom(i);
    ASSERT_LE(CompilingBackend::counters.programs.load(), 2 + 2 * 32);
  }
  EXPECT_EQ(compiled(), many + 1);
  (void)custom(0);
  (void)custom(many - 1);
  (void)process.cache().entry_point(context, "operation/sum", std::function<KernelText()>(named));
  EXPECT_EQ(compiled(), many + 1);
  (void)custom(1);
  EXPECT_EQ(compiled(), many + 2);
}

TEST_F(KernelCacheTest, OffWritesNothingToDisk) {
  os.variables["VECTIS_CACHE_PATH"] = "off";
  Process process(os);
  (void)process.program("a");
  EXPECT_EQ(process.cache().folder(), "");
  EXPECT_TRUE(os.files.empty());
}

TEST_F(KernelCacheTest, AFolderThatCannotBeWrittenIsLoggedOnce) {
  os.writable = false;
  Process process(os);
  (void)process.program("a");
  (void)process.program("b");
  ASSERT_EQ(process.log.size(), 1U);
  EXPECT_THAT(process.log[0], HasSubstr("Permission denied"));
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KernelCacheTest, ProgramsAreDroppedAfterTheLastUserOfTheirContext) {
  {
    Process process(os);
    {
      const DeviceContext context = process.context();
      const auto make = [] { return KernelText{"opencl-c", "a", "run", ""}; };
      (void)process.cache().entry_point(context, "k", make);
      EXPECT_ERROR((void)process.cache().program(context, "opencl-c", "error"), ErrorCode::compile_failed);
      EXPECT_EQ(CompilingBackend::counters.contexts, 1);
    }
    const DeviceContext context = process.context();
    (void)process.cache().program(context, "opencl-c", "b");
    EXPECT_EQ(CompilingBackend::counters.contexts, 1);  // the first one's programs went, and it with them
    EXPECT_EQ(CompilingBackend::counters.programs, 1);
    (void)process.cache().program(context, "opencl-c", "c");
    EXPECT_EQ(CompilingBackend::counters.programs, 2);
  }
  EXPECT_EQ(CompilingBackend::counters.programs, 0);
  EXPECT_EQ(CompilingBackend::counters.contexts, 0);
  EXPECT_EQ(CompilingBackend::counters.orphans, 0);
}

TEST_F(KernelCacheTest, DebugLogsSourceAndCompilerOutput) {
  os.variables["VECTIS_DEBUG"] = "1";
  CompilingBackend::warning = "warning: a thing";
  Process process(os);
  EXPECT_EQ(process.program("the source", "-x").compiler_output(), "warning: a thing");
  EXPECT_THAT(process.log, testing::Contains("opencl-c for cuda:0, options '-x':\nthe source"));
  EXPECT_THAT(process.log, testing::Contains("compiler output:\nwarning: a thing"));
  EXPECT_ERROR((void)process.program("error"), ErrorCode::compile_failed);
  EXPECT_THAT(process.log.back(), HasSubstr("line one\nline two"));
  Process again(os);
  (void)again.program("the source", "-x");
  EXPECT_THAT(again.log, testing::Contains(HasSubstr("the source")));
  EXPECT_THAT(again.log.back(), HasSubstr("found in /cache/kernels/"));
}

class KernelCacheConcurrent : public KernelCacheTest {};

TEST_F(KernelCacheConcurrent, ConcurrentRequestsCompileOnce) {
  CompilingBackend::compile_time = std::chrono::milliseconds(20);
  Process process(os);
  const DeviceContext context = process.context();
  KernelCache& cache = process.cache();
  constexpr int texts = 5;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const std::string text = std::to_string(round % texts);
        (void)cache.entry_point(context, text, [&] { return KernelText{"opencl-c", text, "run", ""}; });
        (void)cache.program(context, "opencl-c", text);
        (void)cache.statistics();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled(), texts);
  EXPECT_EQ(cache.statistics().compiled, static_cast<std::uint64_t>(texts));
  EXPECT_EQ(cache.statistics().rebuilt, 0U);
}

TEST_F(KernelCacheConcurrent, ContextsComeAndGoWhileOthersCompile) {
  Process process(os);
  KernelCache& cache = process.cache();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; ++round) {
        const DeviceContext context = process.context();
        const std::string text = std::to_string(thread * 10 + round % 3);
        (void)cache.program(context, "opencl-c", text);
        if (round % 16 == 0) cache.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CompilingBackend::counters.orphans, 0);
}

}  // namespace
}  // namespace vectis
