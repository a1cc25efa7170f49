#include "vectis/base/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"

namespace vectis {
namespace {

using test::FakeOs;

// Records construction and destruction of services.
std::string& diary() {
  static std::string text;
  return text;
}

struct Inner {
  explicit Inner(Runtime&) { diary() += "+inner"; }
  ~Inner() { diary() += "-inner"; }
  int value = 0;
};
struct Outer {
  explicit Outer(Runtime& runtime) : inner(runtime.service<Inner>()) { diary() += "+outer"; }
  ~Outer() {
    inner.value = 1;  // still alive
    diary() += "-outer";
  }
  Inner& inner;
};
struct Narcissus {
  explicit Narcissus(Runtime& runtime) { runtime.service<Narcissus>(); }
};
struct FailsOnce {
  explicit FailsOnce(Runtime&) {
    if (failures++ == 0) throw std::runtime_error("first time");
  }
  static inline int failures = 0;
};
struct Counted {
  explicit Counted(Runtime&) { made.fetch_add(1); }
  static inline std::atomic<int> made{0};
};

RuntimeOptions simulated(FakeOs& os) {
  RuntimeOptions options;
  options.executor = std::make_shared<SimulatedExecutor>(1);
  options.os = &os;
  return options;
}

TEST(Runtime, ReturnsItsOptions) {
  FakeOs os;
  os.variables["VECTIS_DEVICE"] = "cpu";
  RuntimeOptions options = simulated(os);
  Executor* const executor = options.executor.get();
  std::string logged;
  options.log = [&](const LogRecord& record) { logged += record.message; };
  options.log_level = LogLevel::info;
  options.settings = {{"gpu.enabled", "false"}};
  const Runtime runtime(std::move(options));
  EXPECT_EQ(&runtime.executor(), executor);
  EXPECT_EQ(&runtime.os(), &os);
  EXPECT_EQ(runtime.settings().text("device"), "cpu");
  EXPECT_FALSE(runtime.settings().flag("gpu.enabled"));
  runtime.logger().log(LogLevel::debug, "test", "quiet");
  runtime.logger().log(LogLevel::info, "test", "heard");
  EXPECT_EQ(logged, "heard");
}

TEST(Runtime, InvalidSettingsThrowAtConstruction) {
  FakeOs os;
  RuntimeOptions options = simulated(os);
  options.settings = {{"nonsense", "1"}};
  EXPECT_ERROR(const Runtime runtime(options), ErrorCode::invalid_input, "nonsense");
}

TEST(Runtime, MakesAThreadExecutorByDefault) {
  FakeOs os;
  RuntimeOptions options;
  options.os = &os;
  options.threads = 3;
  options.seed = 9;
  const Runtime one(options);
  const Runtime two(options);
  EXPECT_EQ(one.executor().concurrency(), 3U);
  EXPECT_EQ(one.executor().random(), two.executor().random());
}

TEST(Runtime, AServiceIsMadeOnceAndDestroyedBeforeItsDependencies) {
  diary().clear();
  FakeOs os;
  {
    Runtime runtime(simulated(os));
    EXPECT_EQ(diary(), "");
    Outer& outer = runtime.service<Outer>();
    EXPECT_EQ(&runtime.service<Outer>(), &outer);
    EXPECT_EQ(&runtime.service<Inner>(), &outer.inner);
    EXPECT_EQ(diary(), "+inner+outer");
  }
  EXPECT_EQ(diary(), "+inner+outer-outer-inner");
}

struct AsksAtItsEnd {
  explicit AsksAtItsEnd(Runtime& used) : runtime(used) {}
  ~AsksAtItsEnd() { runtime.service<Inner>().value = 2; }
  Runtime& runtime;
};

TEST(Runtime, AServiceMayAskForAnotherInItsDestructor) {
  diary().clear();
  FakeOs os;
  {
    Runtime runtime(simulated(os));
    runtime.service<AsksAtItsEnd>();
  }
  EXPECT_EQ(diary(), "+inner-inner");
}

TEST(Runtime, EachRuntimeHasItsOwnServices) {
  FakeOs os;
  Runtime one(simulated(os));
  Runtime two(simulated(os));
  EXPECT_NE(&one.service<Inner>(), &two.service<Inner>());
}

TEST(Runtime, AServiceThatDependsOnItselfIsRejected) {
  FakeOs os;
  Runtime runtime(simulated(os));
  EXPECT_ERROR(runtime.service<Narcissus>(), ErrorCode::invalid_input, "[service]", "Narcissus", "itself");
  EXPECT_NO_THROW(runtime.service<Inner>());
}

TEST(Runtime, AServiceWhoseConstructorThrewIsRetried) {
  FakeOs os;
  Runtime runtime(simulated(os));
  FailsOnce::failures = 0;
  EXPECT_THROW(runtime.service<FailsOnce>(), std::runtime_error);
  EXPECT_NO_THROW(runtime.service<FailsOnce>());
}

TEST(Runtime, TheDefaultRuntimeIsUnique) {
  Runtime& runtime = Runtime::get_default();
  EXPECT_EQ(&runtime, &Runtime::get_default());
  EXPECT_EQ(&runtime.os(), &real_os());
  EXPECT_NO_THROW(runtime.check_fork("test"));
}

TEST(RuntimeConcurrent, ManyThreadsGetTheSameService) {
  FakeOs os;
  RuntimeOptions options;
  options.os = &os;
  options.threads = 2;
  Runtime runtime(options);
  Counted::made.store(0);
  std::atomic<Counted*> first{nullptr};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      Counted* const mine = &runtime.service<Counted>();
      Counted* expected = nullptr;
      if (!first.compare_exchange_strong(expected, mine)) {
        EXPECT_EQ(expected, mine);
      }
      runtime.check_fork("test");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Counted::made.load(), 1);
}

// Its constructor waits for a thread that asks for another service.
struct WaitsForAThread {
  explicit WaitsForAThread(Runtime& runtime) {
    std::thread([&] { runtime.service<Inner>().value = 3; }).join();
  }
};

TEST(RuntimeConcurrent, AConstructorMayWaitForAThreadThatAsksForAnotherService) {
  diary().clear();
  FakeOs os;
  {
    Runtime runtime(simulated(os));
    runtime.service<WaitsForAThread>();
    EXPECT_EQ(runtime.service<Inner>().value, 3);
  }
  EXPECT_EQ(diary(), "+inner-inner");
}

TEST(RuntimeConcurrent, AThreadThatWaitedForAFailedServiceTriesAgain) {
  FakeOs os;
  Runtime runtime(simulated(os));
  FailsOnce::failures = 0;
  std::atomic<int> thrown{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      try {
        runtime.service<FailsOnce>();
      } catch (const std::runtime_error&) {
        thrown.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(thrown.load(), 1);
  EXPECT_EQ(FailsOnce::failures, 2);
}

// Two services that ask for each other once both are under construction.
std::latch& both_begun() {
  static std::latch latch(2);
  return latch;
}
struct Right;
struct Left {
  explicit Left(Runtime& runtime);
};
struct Right {
  explicit Right(Runtime& runtime);
};
Left::Left(Runtime& runtime) {
  if (!both_begun().try_wait()) both_begun().arrive_and_wait();
  runtime.service<Right>();
}
Right::Right(Runtime& runtime) {
  if (!both_begun().try_wait()) both_begun().arrive_and_wait();
  runtime.service<Left>();
}

TEST(RuntimeConcurrent, ACycleOverTwoThreadsIsRejected) {
  FakeOs os;
  Runtime runtime(simulated(os));
  std::thread other(
      [&] { EXPECT_ERROR(runtime.service<Left>(), ErrorCode::invalid_input, "break the cycle between services"); });
  EXPECT_ERROR(runtime.service<Right>(), ErrorCode::invalid_input, "break the cycle between services");
  other.join();
}

RuntimeOptions with_os(FakeOs& os) {
  RuntimeOptions options;
  options.os = &os;
  return options;
}

TEST(Runtime, TheCacheFolderIsTheSettingOrTheUsersFolder) {
  FakeOs os;
  EXPECT_EQ(cache_folder(Runtime(with_os(os))), "");
  os.variables["HOME"] = "/users/me";
  EXPECT_EQ(cache_folder(Runtime(with_os(os))), "/users/me/.cache/vectis");
  os.variables["XDG_CACHE_HOME"] = "/fast";
  EXPECT_EQ(cache_folder(Runtime(with_os(os))), "/fast/vectis");
  os.variables["VECTIS_CACHE_PATH"] = "/mine";
  EXPECT_EQ(cache_folder(Runtime(with_os(os))), "/mine");
  os.variables["VECTIS_CACHE_PATH"] = "off";
  EXPECT_EQ(cache_folder(Runtime(with_os(os))), "");
}

TEST(Runtime, DebugLowersTheLevelOfTheLog) {
  FakeOs os;
  EXPECT_FALSE(Runtime(with_os(os)).logger().wants(LogLevel::debug));
  RuntimeOptions options = with_os(os);
  options.log = [](const LogRecord&) {};
  EXPECT_FALSE(Runtime(options).logger().wants(LogLevel::debug));
  os.variables["VECTIS_DEBUG"] = "1";
  EXPECT_TRUE(Runtime(options).logger().wants(LogLevel::debug));
}

TEST(Runtime, TheLogHandlerCanBeSetLater) {
  test::FakeOs os;
  os.variables["VECTIS_DEVCIE"] = "cpu";
  RuntimeOptions options;
  options.os = &os;
  options.executor = std::make_shared<SimulatedExecutor>(1);
  Runtime runtime(options);
  EXPECT_FALSE(runtime.logger().wants(LogLevel::error));
  std::string seen;
  runtime.set_log_handler([&](const LogRecord& record) { seen.append(record.component).append(record.message); });
  EXPECT_NE(seen.find("settings"), std::string::npos) << seen;
  EXPECT_NE(seen.find("did you mean VECTIS_DEVICE?"), std::string::npos) << seen;
  EXPECT_TRUE(runtime.logger().wants(LogLevel::warning));
  EXPECT_FALSE(runtime.logger().wants(LogLevel::info));
  runtime.set_log_handler(nullptr);
  EXPECT_FALSE(runtime.logger().wants(LogLevel::error));
}

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace vectis
