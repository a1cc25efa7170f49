// `vectis doctor` on real plug-ins: broken ones, and the OpenCL plug-in with each state of its drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.hpp"

namespace vectis {
namespace {

using test::doctor_on;
using test::run_vectis;
using testing::HasSubstr;

TEST(BrokenPlugins, AreReportedWithTheReason) {
  struct Case {
    std::string backend;
    std::string state;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {"wrong_version", "incompatible", "backend ABI 2.2, this Vectis has 1.2"},
      {"missing_slot", "incompatible", "required slot 'close' is missing"},
      {"no_entry", "not loadable", "exports no function vectis_backend_entry"},
      {"null_table", "incompatible", "returned NULL"},
      {"crash_at_load", "crashed", "signal 6"},
      {"crash_at_open", "crashed", "signal 6"},
      {"exit_at_load", "crashed", "exit status 3; its last output: license expired"},
  };
  for (const Case& one : cases) {
    const std::string file = VECTIS_BROKEN_BACKENDS "/libvectis_backend_" + one.backend + ".so";
    const nlohmann::json found = doctor_on(one.backend, {"VECTIS_BACKEND_PATH=" + file});
    EXPECT_EQ(found.at("state"), one.state) << found;
    EXPECT_THAT(found.at("reason").get<std::string>(), HasSubstr(one.reason));
    EXPECT_EQ(found.at("path"), file);
    EXPECT_FALSE(found.at("advice").get<std::string>().empty());
  }
}

TEST(BrokenPlugins, DoNotCrashTheDoctor) {
  const ProcessResult result = run_vectis({"doctor"}, {"VECTIS_BACKEND_PATH=" VECTIS_BROKEN_BACKENDS});
  EXPECT_EQ(result.end, ProcessResult::End::exited);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, HasSubstr("crash_at_load: not usable, crashed"));
  EXPECT_THAT(result.output, HasSubstr("cpu: found"));
  EXPECT_THAT(result.output, HasSubstr("Default device: none: not checked, because loading the plug-in"));
}

TEST(BrokenPlugins, ThatDoNotCrashLeaveOtherDevicesUsable) {
  for (const std::string backend : {"wrong_version", "missing_slot", "no_entry", "null_table"}) {
    const ProcessResult result = run_vectis(
        {"devices"}, {"VECTIS_BACKEND_PATH=" VECTIS_BROKEN_BACKENDS "/libvectis_backend_" + backend + ".so"});
    EXPECT_EQ(result.code, 0) << backend;
    EXPECT_THAT(result.output, HasSubstr("cpu:0"));
  }
}

TEST(Doctor, NamesASelectedDeviceThatDoesNotExist) {
  const ProcessResult text = run_vectis({"doctor"}, {"VECTIS_DEVICE=nonsense"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.output, testing::ContainsRegex("Default device: none: .*'nonsense'.*VECTIS_DEVICE"));
  const ProcessResult json = run_vectis({"doctor", "--json"}, {"VECTIS_DEVICE=nonsense"});
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(nlohmann::json::parse(json.output).at("default").is_null());
}

TEST(Doctor, PrintsWarningsAboutSettingsOnce) {
  const std::vector<std::string> variables = {"VECTIS_DEVISE=cpu", "VECTIS_BACKEND_PATH=/nowhere",
                                              "VECTIS_BACKENDS_OPENCLL_CLBLAST=on"};
  const ProcessResult text = run_vectis({"doctor"}, variables);
  const std::string all = text.output + text.error;
  for (const std::string warning : {"VECTIS_DEVISE is not a setting", "names /nowhere, which does not exist",
                                    "VECTIS_BACKENDS_OPENCLL_CLBLAST is ignored"}) {
    EXPECT_THAT(text.output, HasSubstr(warning));
    EXPECT_EQ(all.find(warning), all.rfind(warning)) << all;
  }
  EXPECT_EQ(nlohmann::json::parse(run_vectis({"doctor", "--json"}, variables).output).at("warnings").size(), 3U);
  EXPECT_THAT(run_vectis({"devices"}, variables).error, HasSubstr("VECTIS_BACKENDS_OPENCLL_CLBLAST is ignored"));
}

TEST(Doctor, PrintsTheDefaultDevice) {
  const ProcessResult result = run_vectis({"doctor"}, {"VECTIS_GPU_ENABLED=false"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, HasSubstr("Default device: cpu:0: "));
}

#if defined(VECTIS_OPENCL_LAYER)

TEST(OpenclDoctor, ReportsTheSoftwareDriver) {
  const nlohmann::json found = doctor_on("opencl", {});
  EXPECT_EQ(found.at("state"), "ready") << found;
  EXPECT_EQ(found.at("devices").size(), 1U);
  EXPECT_TRUE(found.at("devices")[0].at("software").get<bool>());
  EXPECT_THAT(found.at("advice").get<std::string>(), HasSubstr("VECTIS_GPU_ALLOW_SOFTWARE"));
}

TEST(OpenclDoctor, ReportsSubDevices) {
  EXPECT_EQ(doctor_on("opencl", {"VECTIS_BACKENDS_OPENCL_SUB_DEVICES=2"}).at("devices").size(), 3U);
  const nlohmann::json bad = doctor_on("opencl", {"VECTIS_BACKENDS_OPENCL_SUB_DEVICES=zero"});
  EXPECT_EQ(bad.at("state"), "failed");
  EXPECT_THAT(bad.at("reason").get<std::string>(), HasSubstr("zero"));
}

TEST(OpenclDoctor, ReportsAMissingDriver) {
  const nlohmann::json found = doctor_on("opencl", {"OCL_ICD_VENDORS=/nonexistent"});
  EXPECT_EQ(found.at("state"), "no driver") << found;
  EXPECT_FALSE(found.at("advice").get<std::string>().empty());
}

TEST(OpenclDoctor, ReportsAnOldDriver) {
  const nlohmann::json found =
      doctor_on("opencl", {"OPENCL_LAYERS=" VECTIS_OPENCL_LAYER, "VECTIS_OPENCL_LAYER_VERSION=OpenCL 1.0 ancient"});
  EXPECT_EQ(found.at("state"), "driver too old") << found;
  EXPECT_THAT(found.at("reason").get<std::string>(), HasSubstr("1.0"));
  EXPECT_THAT(found.at("reason").get<std::string>(), HasSubstr("1.2"));
}

#endif

}  // namespace
}  // namespace vectis
