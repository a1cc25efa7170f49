// `vectis report` as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/run.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

std::vector<std::string> small_report(const std::string& device, const std::string& path) {
  return {"report", "--device", device, "--op", "fill", "--rows", "2000", "--dim", "24", "--out", path, "--seed", "5"};
}

void expect_complete(const nlohmann::json& page, const std::string& device) {
  EXPECT_EQ(page.at("format"), 1);
  EXPECT_EQ(page.at("device"), device);
  EXPECT_EQ(page.at("rows"), 2000);
  EXPECT_EQ(page.at("seed"), 5);
  EXPECT_EQ(page.at("passed"), true);
  EXPECT_GT(page.at("conformance").at("cases"), 0);
  EXPECT_EQ(page.at("conformance").at("failed"), 0);
  ASSERT_EQ(page.at("targets").size(), 16U);
  for (const nlohmann::json& target : page.at("targets")) {
    EXPECT_EQ(target.at("verdict"), "does not apply") << target;
    EXPECT_THAT(target.at("reason").get<std::string>(), HasSubstr("stated for GPUs")) << target;
  }
  for (const char* side : {"index", "cpu"}) {
    EXPECT_GT(page.at(side).at("graph_seconds"), 0);
    ASSERT_EQ(page.at(side).at("searches").size(), 3U);
    for (const nlohmann::json& speed : page.at(side).at("searches")) {
      EXPECT_GT(speed.at("single_ms"), 0);
      EXPECT_GT(speed.at("batch_percent_of_roofline"), 0);
      EXPECT_EQ(speed.at("wrong_answers"), 0);
    }
  }
  EXPECT_EQ(page.at("benchmarks").size(), 7U);
  ASSERT_EQ(page.at("cpu_benchmarks").size(), 7U);
  EXPECT_GT(page.at("cpu_benchmarks").at(3).at("ms"), 0) << "matmul 512";
  EXPECT_EQ(page.at("benchmarks").at(2).at("name"), "l2_distance int8");
  EXPECT_GT(page.at("benchmarks").at(0).at("percent_of_roofline"), 0);
}

// Computes the prediction of a job again from its counts and the rates; `min_bytes`: the minimum that its kernels read.
void expect_prediction(const nlohmann::json& made, const nlohmann::json& rates, double min_bytes) {
  ASSERT_FALSE(made.contains("missing")) << made;
  const auto number = [](const nlohmann::json& page, const char* name) { return page.at(name).get<double>(); };
  EXPECT_GE(number(made, "bytes"), min_bytes);
  EXPECT_LT(number(made, "bytes"), 1.2 * min_bytes + 1e5);
  const double memory = number(made, "bytes") / number(rates, "gigabytes_per_second") * 1e-6;
  const double issue = number(made, "instructions") / number(rates, "giga_instructions_per_second") * 1e-6;
  const double host = number(made, "launches") * number(rates, "launch_us") * 1e-3 +
                      number(made, "copies") * number(rates, "copy_us") * 1e-3 + number(rates, "wait_us") * 1e-3 +
                      number(made, "copied_bytes") / number(rates, "copied_gigabytes_per_second") * 1e-6;
  EXPECT_NEAR(number(made, "ms"), std::max(memory, issue) + host, 1e-9 * number(made, "ms")) << made;
  EXPECT_EQ(made.at("wall"), host > std::max(memory, issue) ? "host" : memory > issue ? "memory" : "issue");
}

void expect_predictions(const nlohmann::json& page) {
  const nlohmann::json& rates = page.at("prediction_rates");
  EXPECT_THAT(rates.at("source").get<std::string>(), HasSubstr("measured at calibration"));
  for (const char* rate : {"launch_us", "copy_us", "wait_us", "gigabytes_per_second"})
    EXPECT_GT(rates.at(rate), 0) << rate;
  const double rows = page.at("rows").get<double>();
  const double dim = page.at("dim").get<double>();
  for (const nlohmann::json& speed : page.at("index").at("searches")) {
    const double element = speed.at("precision") == "fp32" ? 4 : speed.at("precision") == "fp16" ? 2 : 1;
    for (const char* batch : {"single_predicted", "batch_predicted"}) {
      const nlohmann::json& made = speed.at(batch);
      expect_prediction(made, rates, rows * (dim * element + 16));
      EXPECT_GE(made.at("launches"), 3) << "clears counts, scans, tightens bounds";
      EXPECT_GE(made.at("copies"), 2);
    }
    const double single = speed.at("single_predicted").at("instructions").get<double>();
    EXPECT_GT(single, rows * dim / 4) << "an instruction multiplies four elements at most";
    EXPECT_GT(speed.at("batch_predicted").at("instructions"), 3 * single);
  }
  const nlohmann::json& distance = page.at("benchmarks").at(0).at("predicted");
  expect_prediction(distance, rates, (rows + 1) * dim * 4 + rows * 4);
  EXPECT_EQ(distance.at("launches"), 1);
  expect_prediction(page.at("benchmarks").at(3).at("predicted"), rates, 3 * 512.0 * 512 * 4);
}

TEST(ReportCommand, RunsOnTheCpuWhereNoTargetApplies) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("report.json");
  const ProcessResult result = test::run_vectis(small_report("cpu", path));
  ASSERT_EQ(result.code, 0) << result.output << result.error;
  const nlohmann::json page = read_json(path);
  expect_complete(page, "cpu:0");
  EXPECT_GT(page.at("speeds").at("operations").size(), 0U);
  EXPECT_GT(page.at("speeds").at("operations").at(0).at("percent_of_roofline"), 0);
  for (const char* part :
       {"% of roofline", "CPU ms", "index all vectors in a graph", "at least 400 times as fast", "l2_distance fp16",
        "matmul 512", "at most 67.8 ms",
        "does not apply: stated for GPUs, but this is the CPU that GPUs are compared with", "0 failures"}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
  EXPECT_THAT(result.output, HasSubstr("No times are predicted"));
  EXPECT_FALSE(page.contains("prediction_rates"));
  EXPECT_TRUE(page.at("index").at("searches").at(0).at("single_predicted").contains("missing"));
  EXPECT_THAT(result.output, HasSubstr("passed: written to " + path));
  EXPECT_THAT(result.error, HasSubstr("conformance ..."));
  EXPECT_THAT(result.output, testing::Not(HasSubstr("1,000,000"))) << "2,000 vectors were measured";
}

#if defined(VECTIS_OPENCL_LAYER)
TEST(ReportCommand, RunsOnASoftwareDriver) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("report.json");
  std::vector<std::string> arguments = small_report("opencl:0", path);
  arguments.emplace_back("--no-speeds");
  const ProcessResult result = test::run_vectis(arguments);
  ASSERT_EQ(result.code, 0) << result.output << result.error;
  const nlohmann::json page = read_json(path);
  expect_complete(page, "opencl:0");
  EXPECT_EQ(page.at("software"), true);
  EXPECT_EQ(page.at("index").at("device"), "opencl:0");
  EXPECT_EQ(page.at("cpu").at("device"), "cpu");
  EXPECT_GT(page.at("index").at("memory_overhead_percent"), 0);
  expect_predictions(page);
  EXPECT_THAT(result.output, HasSubstr("ms / predicted"));
  EXPECT_THAT(result.output, HasSubstr("search int8, 100 queries"));
}
#endif

TEST(ReportCommand, FailsOnABackendThatComputesNothing) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("report.json");
  std::vector<std::string> arguments = small_report("null", path);
  arguments.emplace_back("--no-speeds");
  const ProcessResult result =
      test::run_vectis(arguments, {std::string("VECTIS_BACKEND_PATH=") + VECTIS_TEST_BACKENDS});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("FAILED: written to"));
  const nlohmann::json page = read_json(path);
  EXPECT_EQ(page.at("passed"), false);
  EXPECT_GT(page.at("conformance").at("failed"), 0);
  EXPECT_EQ(page.at("index").at("searches").at(0).at("wrong_answers"), 100);
  EXPECT_EQ(page.at("cpu").at("searches").at(0).at("wrong_answers"), 0);
}

TEST(ReportCommand, AcceptsADriverWhoseNameIsNotText) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("report.json");
  const ProcessResult result = test::run_vectis(
      {"report", "--device", "null", "--op", "fill", "--rows", "200", "--dim", "8", "--out", path, "--no-speeds"},
      {"VECTIS_BACKEND_PATH=" VECTIS_TEST_BACKENDS, "VECTIS_BACKENDS_NULL_DRIVER=bad\xFF\x1B[2J"});
  EXPECT_THAT(result.output, HasSubstr("FAILED: written to")) << result.error;
  EXPECT_THAT(result.output, HasSubstr("?[2J;"));
  EXPECT_THAT(result.output, testing::Not(HasSubstr("\x1B")));
  EXPECT_EQ(read_json(path).at("driver"), "bad\uFFFD\x1B[2J");
}

TEST(ReportCommand, TheDefaultNumberOfVectorsMustFitTheHost) {
  if (test::sanitized) GTEST_SKIP() << "sanitizers reserve more address space than the limit";
  constexpr std::uint64_t needed_bytes = 2 * std::uint64_t{50'000} * 65'536 * sizeof(float);
  if (real_os().memory_total_bytes() > needed_bytes) GTEST_SKIP() << "this host has the memory";
  const test::TemporaryFolder folder;
  const std::string path = folder.path("report.json");
  std::ofstream(path) << "an earlier report";
  const ProcessResult result =
      real_os().run({"/bin/sh", "-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", VECTIS_PROGRAM, "report", "--device",
                     "cpu", "--op", "fill", "--dim", "65536", "--out", path, "--no-speeds"},
                    std::chrono::minutes(2));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr("50000 vectors of 65536 floats and the index over them need 24.4 GiB"));
  std::string kept;
  std::getline(std::ifstream(path), kept);
  EXPECT_EQ(kept, "an earlier report");
}

TEST(ReportCommand, NamesMistakes) {
  EXPECT_THAT(test::run_vectis(small_report("cpu", "/proc/none/x")).error, HasSubstr("cannot be written"));
  EXPECT_THAT(test::run_vectis(small_report("nobody", "/tmp/never")).error, HasSubstr("nobody"));
  EXPECT_NE(test::run_vectis({"report", "--dim", "0"}).code, 0);
}

}  // namespace
}  // namespace vectis
