#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using test::run_vectis;
using testing::HasSubstr;

TEST(Cli, MarksTheCpuAsDefault) {
  const ProcessResult result = run_vectis({"devices"}, {"VECTIS_GPU_ENABLED=false"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("cpu:0"));
  EXPECT_THAT(result.output, HasSubstr("0 *"));
  EXPECT_THAT(result.output, HasSubstr("gpu.enabled is false by VECTIS_GPU_ENABLED"));
}

TEST(Cli, JsonHasEveryFieldOfEveryDevice) {
  const ProcessResult result = run_vectis(
      {"devices", "--json"}, {"VECTIS_BACKEND_PATH=" VECTIS_TEST_BACKENDS, "VECTIS_BACKENDS_NULL_DEVICES=3"});
  const nlohmann::json page = nlohmann::json::parse(result.output);
  EXPECT_EQ(page.at("default"), 0);
  int null_devices = 0;
  for (const nlohmann::json& device : page.at("devices")) {
    for (const char* field :
         {"id", "label", "backend", "name", "vendor", "driver", "kind", "software", "parent", "compute_units",
          "memory_bytes", "memory_free_bytes", "utilization", "dialects", "capabilities", "limits"}) {
      EXPECT_TRUE(device.contains(field)) << field;
    }
    if (device.at("backend") == "null") ++null_devices;
  }
  EXPECT_EQ(null_devices, 3);
}

TEST(Cli, ListsDevicesWhenTheSelectedOneIsMissing) {
  const ProcessResult result = run_vectis({"devices"}, {"VECTIS_DEVICE=abacus"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("cpu:0"));
  EXPECT_THAT(result.output, HasSubstr("'abacus' was requested by VECTIS_DEVICE"));
}

TEST(Cli, ReadsAConfigurationFileAndNamesItsMistakes) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("settings.yaml");
  std::ofstream(path) << "gpu:\n  enabled: false\n";
  EXPECT_THAT(run_vectis({"--config", path, "devices"}).output, HasSubstr(path + " line 2"));
  std::ofstream(path) << "gpu:\n  enbled: false\n";
  const ProcessResult result = run_vectis({"devices", "--config", path});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr("InvalidInput"));
  EXPECT_THAT(result.error, HasSubstr(path + " line 2: unknown key gpu.enbled"));
}

TEST(Cli, PlanPrintsTheSpeedOfDevices) {
  EXPECT_THAT(run_vectis({"plan"}).output,
              testing::AllOf(HasSubstr("launch"), HasSubstr("cpu:0"), HasSubstr(" us"), HasSubstr("B/s"),
                             HasSubstr("FLOP/s"), HasSubstr("just now, once in "), HasSubstr("cost per call")));
  const ProcessResult result = run_vectis({"plan", "--fresh", "--json"});
  EXPECT_EQ(result.code, 0) << result.error;
  const nlohmann::json profiles = nlohmann::json::parse(result.output).at("profiles");
  EXPECT_EQ(profiles.at(0).at("device"), "cpu:0");
  EXPECT_GT(profiles.at(0).at("operations_per_second").at("fp32").get<double>(), 0);
}

TEST(Cli, AMissingConfigurationFileIsNamed) {
  const ProcessResult result = run_vectis({"--config", "/nonexistent/settings.yaml", "devices"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr("--config /nonexistent/settings.yaml cannot be read; correct the path"));
}

TEST(Cli, AConfigurationFileNeedsToBeReadableOnly) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("settings.yaml");
  std::ofstream(path) << "gpu:\n  enabled: false\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);  // root may write the file nevertheless
  const ProcessResult result = run_vectis({"--config", path, "devices"});
  EXPECT_EQ(result.code, 0) << result.error;
}

TEST(Cli, NumbersOutOfRangeAreNamedInOneLine) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"plan", "--operations", "-1"}, "--operations: -1 is not a number of 0 or more"},
      {{"plan", "--bytes", "inf"}, "--bytes: inf is not a number of 0 or more"},
      {{"plan", "--matmul", "0", "1", "1"}, "--matmul: 0 is not a number above 0"},
      {{"conformance", "--mode", "fuzz", "--seconds", "-1"}, "--seconds: -1 is not a number above 0"},
      {{"conformance", "--seed", "-1"}, "--seed: -1 is not an integer of 0 or more"},
      {{"memory", "x.json", "--follow", "--count", "-3"}, "--count: -3 is not an integer of 1 or more"},
  };
  for (const Case& one : cases) {
    const ProcessResult result = run_vectis(one.arguments);
    EXPECT_EQ(result.code, 2) << one.message;
    EXPECT_THAT(result.error, HasSubstr(one.message));
    EXPECT_LT(result.error.size(), 200U) << result.error;
  }
}

TEST(Cli, AnUnknownSubcommandIsNamedWithTheNearestOne) {
  const ProcessResult near = run_vectis({"devises"});
  EXPECT_EQ(near.code, 2);
  EXPECT_THAT(near.error, HasSubstr("unknown subcommand 'devises'; did you mean 'devices'?"));
  const ProcessResult far = run_vectis({"xylophone"});
  EXPECT_EQ(far.code, 2);
  EXPECT_THAT(far.error,
              HasSubstr("unknown subcommand 'xylophone'. The subcommands of vectis are devices, doctor, plan"));
  const ProcessResult nested = run_vectis({"bench", "exakt"});
  EXPECT_EQ(nested.code, 2);
  EXPECT_THAT(nested.error,
              HasSubstr("unknown subcommand 'exakt'; did you mean 'exact'? The subcommands of bench are"));
  EXPECT_THAT(run_vectis({}).error, HasSubstr("vectis needs a subcommand: devices, doctor"));
  EXPECT_THAT(run_vectis({"--frob"}).error, HasSubstr("unknown option '--frob'"));
  EXPECT_THAT(run_vectis({"bench"}).error, HasSubstr("bench needs a subcommand: replay, exact"));
}

TEST(Cli, ExitCodesAreDocumentedAndKept) {
  EXPECT_THAT(run_vectis({"--help"}).output, HasSubstr("Exit codes: 0 success; 1 the command failed"));
  EXPECT_EQ(run_vectis({"--help"}).code, 0);
  EXPECT_EQ(run_vectis({"devices", "--help"}).code, 0);
  EXPECT_EQ(run_vectis({"devices", "--yaml"}).code, 2);
  EXPECT_EQ(run_vectis({}).code, 2);
}

TEST(Cli, PlanPredictsAWorkload) {
  const ProcessResult text = run_vectis({"plan", "--matmul", "1024", "1024", "1024"});
  EXPECT_EQ(text.code, 0) << text.error;
  EXPECT_THAT(text.output, testing::AllOf(HasSubstr("cpu:0"), HasSubstr("predicted"), HasSubstr("compute")));
  const ProcessResult result = run_vectis(
      {"plan", "--operations", "1e12", "--precision", "int8", "--bytes", "1e6", "--copy-in", "1e6", "--json"});
  EXPECT_EQ(result.code, 0) << result.error;
  const nlohmann::json page = nlohmann::json::parse(result.output);
  EXPECT_GT(page.at("candidates").at(0).at("compute_seconds").get<double>(), 0);
  EXPECT_FALSE(page.at("chosen").get<std::string>().empty());
  EXPECT_NE(run_vectis({"plan", "--operations", "-1"}).code, 0);
  EXPECT_NE(run_vectis({"plan", "--bytes", "1", "--fresh"}).code, 0);
  EXPECT_NE(run_vectis({"plan", "--precision", "fp8", "--bytes", "1"}).code, 0);
}

TEST(Cli, HelpAndMistakes) {
  EXPECT_THAT(run_vectis({"--help"}).output, HasSubstr("doctor"));
  EXPECT_THAT(run_vectis({"--version"}).output, HasSubstr("0."));
  EXPECT_NE(run_vectis({}).code, 0);
  EXPECT_NE(run_vectis({"devises"}).code, 0);
  EXPECT_NE(run_vectis({"devices", "--yaml"}).code, 0);
}

}  // namespace
}  // namespace vectis
