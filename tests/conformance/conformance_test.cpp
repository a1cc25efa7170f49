// The suite on every device: the real ones pass, and the one that computes nothing does not.
#include "vectis/kernel/conformance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/support/expect_error.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"

namespace vectis {
namespace {

using conformance::Coverage;
using conformance::Line;
using conformance::Options;
using conformance::Report;

// What is tested on a software driver. Its kernels are not instrumented, so a build with a sanitizer, which the release
// build follows or precedes, is content with a third of the operations, another one for every seed.
std::string operations_on_a_driver() {
  if (!test::sanitized) return ".*";
  std::string chosen;
  const std::vector<std::string> names = conformance::names();
  for (std::size_t i = test::seed() % 3; i < names.size(); i += 3) chosen += (chosen.empty() ? "" : "|") + names[i];
  return chosen;
}

// All that compute something: what remains of them tests how a device behaves.
std::string operations_that_compute() {
  const std::set<std::string_view> others{"map", "threads", "memory", "errors", "streams"};
  std::string chosen;
  for (const std::string& name : conformance::names()) {
    if (!others.contains(name)) chosen += (chosen.empty() ? "" : "|") + name;
  }
  return chosen;
}

class Conformance : public testing::Test {
 protected:
  Runtime& runtime() { return runtime_; }
  Device device(const std::string& name) {
    const auto found = runtime_.service<DeviceRegistry>().find(name);
    if (!found) throw std::out_of_range("no device " + name);
    return *found;
  }
  Report test(const std::string& name, const std::string& operations = ".*") {
    Options options;
    options.operations = operations;
    options.seed = test::seed();
    options.coverage = Coverage::slice;
    return conformance::test(runtime_, device(name), options);
  }
  // As test() on the failing backend, one of whose calls fails as `fault` says: "copy_to_device 3 driver_failure".
  Report test_with_fault(const std::string& fault, const std::string& operations) {
    DeviceRegistry& registry = runtime_.service<DeviceRegistry>();
    registry.configure("failing", "fail", fault);
    Report report = test("failing", operations);
    registry.configure("failing", "reset", "");
    return report;
  }

 private:
  Runtime runtime_;
};

// Cases by operation, for the log of a run; and every failure.
void print(const Report& report) {
  std::map<std::string, std::uint64_t> cases;
  for (const Line& line : report.lines) cases[line.operation] += line.cases;
  for (const auto& [operation, count] : cases) std::cout << operation << ' ' << count << ", ";
  std::cout << "\n" << report.device << ": " << report.cases() << " cases, " << report.failed() << " failures\n";
  for (const conformance::Failure& failure : report.failures) {
    ADD_FAILURE() << report.device << ' ' << failure.operation << ' ' << failure.case_name << ": " << failure.what;
  }
}

// What the page docs/support.md says in the column of a backend, by "operation types".
std::map<std::string, std::string> support_page(const std::string& backend) {
  std::ifstream file(VECTIS_SUPPORT_PAGE);
  std::map<std::string, std::string> words;
  std::size_t column = 0;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      const std::size_t begin = cell.find_first_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
    }
    if (cells.size() < 5) continue;
    if (cells[1] == "operation") {
      column = static_cast<std::size_t>(std::ranges::find(cells, backend) - cells.begin());
    } else if (column < cells.size()) {
      words[cells[1] + " " + cells[2]] = cells[column];
    }
  }
  return words;
}

void expect_page(const Report& report, const std::string& backend, const std::string& word) {
  const auto words = support_page(backend);
  for (const Line& line : report.lines) {
    const auto found = words.find(line.operation + " " + line.types);
    ASSERT_NE(found, words.end()) << line.operation << ' ' << line.types << " is not in docs/support.md: run\n"
                                  << "vectis conformance --mode support --backend cpu --backend opencl";
    EXPECT_EQ(found->second, word) << line.operation << ' ' << line.types;
  }
}

TEST_F(Conformance, TheCpuPasses) {
  const Report report = test("cpu");
  print(report);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
  expect_page(report, "cpu", "runs");
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(Conformance, OpenClPasses) {
  const Report report = test("opencl", operations_on_a_driver());
  print(report);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
  expect_page(report, "opencl", "runs on a software driver");
}
#endif

#if defined(VECTIS_HAS_WEBGPU)
TEST_F(Conformance, WebGpuPasses) {
  const Report report = test("webgpu", operations_on_a_driver());
  print(report);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
  expect_page(report, "webgpu", "runs on a software driver");
}
#endif

TEST_F(Conformance, ADeviceThatComputesNothingFailsEveryOperation) {
  const Report report = test("null", operations_that_compute());
  EXPECT_FALSE(report.passed());
  for (const Line& line : report.lines) EXPECT_GT(line.failures, 0U) << line.operation << ' ' << line.types;
}

TEST_F(Conformance, ADeviceErrorIsAFailureAndTheSuiteContinues) {
  const Report report = test_with_fault("copy_to_device 3 driver_failure", "copy");
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_THAT(report.failures[0].what, testing::HasSubstr("DriverFailure: [copy_to_device]"));
  EXPECT_GT(report.cases(), 50U);
  EXPECT_TRUE(test("failing", "copy").passed());
}

// A plug-in may run some operations itself and compile no kernels: the others are not offered, which is not wrong.
TEST_F(Conformance, OperationsNotOfferedAreNotFailures) {
  const Report report = test_with_fault("run_op 1 unsupported", "copy");
  EXPECT_EQ(report.failed(), 0U);
  EXPECT_THAT(report.failures, testing::IsEmpty());
  EXPECT_TRUE(report.passed());
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.lines.front().not_offered, 1U);
  for (const Line& line : std::span(report.lines).subspan(1)) {
    EXPECT_EQ(line.not_offered, 0U) << line.types;
    EXPECT_GT(line.cases, 0U) << line.types;
  }
  const Report complete = test("failing", "copy");
  EXPECT_TRUE(complete.complete());
  EXPECT_LT(report.lines.front().cases, complete.lines.front().cases);  // empty views never reach the backend
}

TEST_F(Conformance, OperationsNotOfferedToThreadsAreNotFailures) {
  const Report report = test_with_fault("run_op 1 unsupported", "threads");
  EXPECT_EQ(report.failed(), 0U);
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].not_offered, 1U);
  EXPECT_TRUE(report.lines[0].partly_offered());
}

TEST_F(Conformance, ProgressEndsWhenAllIsDone) {
  Options options;
  options.operations = "fill|copy|gather";
  options.coverage = Coverage::slice;
  std::vector<std::pair<std::size_t, std::size_t>> reports;
  options.progress = [&](const std::string&, std::size_t done, std::size_t all) { reports.emplace_back(done, all); };
  EXPECT_TRUE(conformance::test(runtime(), device("cpu"), options).passed());
  ASSERT_FALSE(reports.empty());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i], (std::pair{i, reports.size() - 1})) << i;
  }
}

TEST_F(Conformance, AnUnknownCaseIsInvalidInput) {
  Options options;
  options.operations = "sum_rows";
  options.case_name = "foo";
  EXPECT_ERROR(conformance::test(runtime(), device("cpu"), options), ErrorCode::invalid_input,
               "'foo' is no case of sum_rows", "for example 'float32:");
  options.operations = ".*";
  EXPECT_ERROR(conformance::test(runtime(), device("cpu"), options), ErrorCode::invalid_input,
               "'foo' is no case of any of the", "--op");
  options.operations = "streams";
  EXPECT_ERROR(conformance::test(runtime(), device("cpu"), options), ErrorCode::invalid_input,
               "'streams' selects no operation with cases");
}

TEST_F(Conformance, OneCaseCanBeRepeated) {
  Options options;
  options.operations = "sum_rows";
  options.case_name = "float16:37x131/strided/wide";
  const Report once = conformance::test(runtime(), device("cpu"), options);
  ASSERT_EQ(once.lines.size(), 1U);
  EXPECT_EQ(once.cases(), 1U);
  EXPECT_TRUE(once.passed());
  EXPECT_TRUE(once.complete());
  const Report again = conformance::test(runtime(), device("cpu"), options);
  EXPECT_EQ(again.lines[0].worst, once.lines[0].worst);
  options.case_name = "float16:37x131/strided/nonsense";
  EXPECT_ERROR(conformance::test(runtime(), device("cpu"), options), ErrorCode::invalid_input,
               "is no case of sum_rows");
}

TEST_F(Conformance, ACaseRunsWithEveryOperationThatHasIt) {
  Options options;
  options.operations = "copy|matmul|sum_rows";  // the product's cases have three dimensions
  options.case_name = "float32:3x5/tight/uniform";
  const Report report = conformance::test(runtime(), device("cpu"), options);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].operation, "copy");
  EXPECT_EQ(report.lines[1].operation, "sum_rows");
  EXPECT_TRUE(report.passed());
}

TEST_F(Conformance, ACaseNotOfferedIsReported) {
  DeviceRegistry& registry = runtime().service<DeviceRegistry>();
  registry.configure("failing", "fail", "run_op 1 unsupported");
  Options options;
  options.operations = "sum_rows";
  options.case_name = "float32:3x5/tight/uniform";
  const Report report = conformance::test(runtime(), device("failing"), options);
  registry.configure("failing", "reset", "");
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].not_offered, 1U);
  EXPECT_FALSE(report.lines[0].partly_offered());
}

TEST_F(Conformance, RandomCasesPass) {
  Options options;
  options.seed = test::seed();
  options.seconds = 3;
  const Report report = conformance::fuzz(runtime(), device("cpu"), options);
  print(report);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
}

TEST_F(Conformance, SpeedsAreReportedWithErrors) {
  Options options;
  options.operations = "sum_rows";  // copies are measured anyway, for the peak
  const conformance::SpeedReport report = conformance::measure(runtime(), device("cpu"), options);
  EXPECT_GT(report.peak_gigaflops, 0);
  EXPECT_GT(report.peak_gigabytes, 0);
  for (const conformance::Speed& speed : report.speeds) {
    EXPECT_EQ(speed.failure, "") << speed.operation;
    EXPECT_GT(speed.seconds, 0);
    EXPECT_GT(speed.of_roofline, 0);
    EXPECT_LE(speed.error, speed.limit);
  }
  std::ostringstream csv;
  write_csv(csv, report);
  EXPECT_THAT(csv.str(), testing::HasSubstr("cpu:0,sum_rows,float16,float16:4096x4096/tight/uniform,"));
}

}  // namespace
}  // namespace vectis
