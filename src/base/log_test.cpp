#include "vectis/base/log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace vectis {
namespace {

constexpr std::array levels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};

TEST(Logger, PassesOnlyRecordsAtOrAboveItsLevel) {
  for (const LogLevel min_level : levels) {
    std::vector<LogLevel> seen;
    const Logger logger([&](const LogRecord& record) { seen.push_back(record.level); }, min_level);
    std::vector<LogLevel> expected;
    for (const LogLevel level : levels) {
      logger.log(level, "test", "text");
      EXPECT_EQ(logger.wants(level), level >= min_level);
      if (level >= min_level) expected.push_back(level);
    }
    EXPECT_EQ(seen, expected) << name(min_level);
  }
}

TEST(Logger, PassesComponentAndMessage) {
  std::string seen;
  const Logger logger(
      [&](const LogRecord& record) { seen.append(record.component).append("|").append(record.message); },
      LogLevel::debug);
  logger.log(LogLevel::info, "opencl", "two platforms");
  EXPECT_EQ(seen, "opencl|two platforms");
}

TEST(Logger, WithoutAHandlerWantsNothing) {
  const Logger logger;
  EXPECT_FALSE(logger.wants(LogLevel::error));
  logger.log(LogLevel::error, "test", "no handler");
  EXPECT_FALSE(Logger(nullptr, LogLevel::debug).wants(LogLevel::error));
}

TEST(Logger, TheHandlerCanBeReplaced) {
  std::string first;
  std::string second;
  Logger logger([&](const LogRecord& record) { first += record.message; }, LogLevel::debug);
  logger.log(LogLevel::debug, "test", "a");
  logger.set_handler([&](const LogRecord& record) { second += record.message; }, LogLevel::warning);
  logger.log(LogLevel::info, "test", "b");
  logger.log(LogLevel::warning, "test", "c");
  logger.set_handler(nullptr, LogLevel::debug);
  EXPECT_FALSE(logger.wants(LogLevel::error));
  logger.log(LogLevel::error, "test", "d");
  EXPECT_EQ(first, "a");
  EXPECT_EQ(second, "c");
}

TEST(Logger, IgnoresExceptionsOfTheHandler) {
  int calls = 0;
  const Logger logger(
      [&](const LogRecord&) {
        ++calls;
        throw std::runtime_error("broken handler");
      },
      LogLevel::debug);
  logger.log(LogLevel::error, "test", "text");
  logger.log(LogLevel::error, "test", "text");
  EXPECT_EQ(calls, 2);
}

TEST(Logger, LevelsHaveNames) {
  EXPECT_EQ(name(LogLevel::debug), "debug");
  EXPECT_EQ(name(LogLevel::info), "info");
  EXPECT_EQ(name(LogLevel::warning), "warning");
  EXPECT_EQ(name(LogLevel::error), "error");
  EXPECT_EQ(name(static_cast<LogLevel>(77)), "unknown");
}

TEST(LoggerConcurrent, ManyThreadsShareOneLogger) {
  std::atomic<int> count{0};
  const Logger logger([&](const LogRecord&) { count.fetch_add(1); }, LogLevel::info);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) logger.log(i % 2 == 0 ? LogLevel::debug : LogLevel::error, "test", "text");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count.load(), 4 * 500);
}

}  // namespace
}  // namespace vectis
