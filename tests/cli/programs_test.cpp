// vectis-docs, which generates pages of docs/, and vectis-probe, which the doctor starts for each plug-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"
#include "vectis/base.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

ProcessResult run(const std::vector<std::string>& command) { return real_os().run(command, std::chrono::minutes(1)); }

TEST(DocsProgram, DocumentsEveryErrorAndEverySetting) {
  const std::string errors = run({VECTIS_DOCS_PROGRAM, "errors"}).output;
  for (const ErrorEntry& entry : error_catalog()) EXPECT_THAT(errors, HasSubstr(std::string(entry.description)));
  const std::string settings = run({VECTIS_DOCS_PROGRAM, "configuration"}).output;
  for (const SettingEntry& entry : setting_catalog()) EXPECT_THAT(settings, HasSubstr(std::string(entry.description)));
}

TEST(DocsProgram, DocumentsTheOperandsOfAnOperation) {
  EXPECT_THAT(run({VECTIS_DOCS_PROGRAM, "operations"}).output,
              testing::AllOf(HasSubstr("\n| `sum_rows` | `x`: float32"), HasSubstr("`out` (written)")));
}

TEST(DocsProgram, NamesItsPages) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{VECTIS_DOCS_PROGRAM}, {VECTIS_DOCS_PROGRAM, "recipes"}}) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.error, HasSubstr("errors|configuration|operations"));
  }
}

TEST(ProbeProgram, WritesALineAboutAPlugin) {
  const ProcessResult result = run({VECTIS_PROBE_PROGRAM, VECTIS_TEST_BACKENDS "/libvectis_backend_null.so", ""});
  EXPECT_EQ(result.code, 0) << result.error;
  const nlohmann::json line = nlohmann::json::parse(result.output);
  EXPECT_EQ(line.at("backend"), "null");
  EXPECT_EQ(line.at("devices").at(0).at("name"), "null device 0");
}

TEST(ProbeProgram, PrintsItsUsage) {
  const ProcessResult result = run({VECTIS_PROBE_PROGRAM, "a plug-in"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.error, HasSubstr("usage: vectis-probe PLUGIN CONFIG"));
}

TEST(ProbeProgram, NamesTheMistakeInAConfiguration) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path("broken.yaml");
  std::ofstream(file) << "gpu:\n  enbled: false\n";
  const ProcessResult result = run({VECTIS_PROBE_PROGRAM, VECTIS_TEST_BACKENDS "/libvectis_backend_null.so", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr(file + " line 2: unknown key gpu.enbled"));
}

}  // namespace
}  // namespace vectis
