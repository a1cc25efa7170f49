#include "vectis/base/settings.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"

namespace vectis {
namespace {

using test::FakeOs;

FakeOs& with_config(FakeOs& os, const std::string& yaml) {
  os.variables["VECTIS_CONFIG"] = "/etc/v.yaml";
  os.files["/etc/v.yaml"] = yaml;
  return os;
}

void load_failure(const std::string& yaml, auto... words) {
  FakeOs os;
  with_config(os, yaml);
  EXPECT_ERROR(Settings::load(os), ErrorCode::invalid_input, "[settings]", "/etc/v.yaml", words...);
}

TEST(SettingCatalog, KeysAndVariablesCorrespond) {
  std::set<std::string_view> keys;
  for (const SettingEntry& entry : setting_catalog()) {
    EXPECT_TRUE(keys.insert(entry.key).second) << entry.key;
    std::string variable = "VECTIS_";
    for (const char c : entry.key) variable += c == '.' ? '_' : static_cast<char>(std::toupper(c));
    EXPECT_EQ(entry.environment, variable);
    EXPECT_EQ(entry.description.back(), '.') << entry.key;
  }
}

TEST(Settings, DefaultsComeFromTheCatalog) {
  const FakeOs os;
  for (const Settings& settings : {Settings{}, Settings::load(os)}) {
    for (const SettingEntry& entry : setting_catalog()) {
      const Setting setting = settings.get(entry.key);
      EXPECT_EQ(setting.value, entry.default_value);
      EXPECT_EQ(setting.origin, SettingOrigin::fallback);
      EXPECT_EQ(setting.source, "default");
    }
    EXPECT_TRUE(settings.flag("gpu.enabled"));
    EXPECT_FALSE(settings.flag("gpu.allow_software"));
  }
}

TEST(Settings, ApiOverEnvironmentOverFileOverDefault) {
  FakeOs os;
  EXPECT_EQ(Settings::load(os).text("device"), "auto");

  with_config(os, "# choice\ndevice: from-file\n");
  Setting setting = Settings::load(os).get("device");
  EXPECT_EQ(setting.value, "from-file");
  EXPECT_EQ(setting.origin, SettingOrigin::file);
  EXPECT_EQ(setting.source, "/etc/v.yaml line 2");

  os.variables["VECTIS_DEVICE"] = "from-environment";
  setting = Settings::load(os).get("device");
  EXPECT_EQ(setting.value, "from-environment");
  EXPECT_EQ(setting.origin, SettingOrigin::environment);
  EXPECT_EQ(setting.source, "VECTIS_DEVICE");

  setting = Settings::load(os, {{"device", "from-api"}}).get("device");
  EXPECT_EQ(setting.value, "from-api");
  EXPECT_EQ(setting.origin, SettingOrigin::api);
  EXPECT_EQ(setting.source, "api");
}

TEST(Settings, AnEmptyVariableCountsAsNotSet) {
  FakeOs os;
  os.variables["VECTIS_DEVICE"] = "";
  os.variables["VECTIS_CONFIG"] = "";
  os.variables["XDG_CONFIG_HOME"] = "";
  EXPECT_EQ(Settings::load(os).get("device").origin, SettingOrigin::fallback);
}

TEST(Settings, NestedKeysAreJoinedByDots) {
  FakeOs os;
  with_config(os, "gpu:\n  enabled: false\n  allow_software: yes\nbackends:\n  opencl:\n    platform: PoCL\n");
  const Settings settings = Settings::load(os);
  EXPECT_FALSE(settings.flag("gpu.enabled"));
  EXPECT_TRUE(settings.flag("gpu.allow_software"));
  EXPECT_EQ(settings.backend("opencl", "platform"), "PoCL");
  EXPECT_EQ(settings.get("gpu.allow_software").source, "/etc/v.yaml line 3");
}

TEST(Settings, DottedKeysEqualNestedKeys) {
  FakeOs os;
  with_config(os, "gpu.enabled: off\n");
  EXPECT_FALSE(Settings::load(os).flag("gpu.enabled"));
}

TEST(Settings, BackendKeysFollowTheSamePrecedence) {
  FakeOs os;
  EXPECT_EQ(Settings::load(os).backend("open-cl", "max.threads"), std::nullopt);
  EXPECT_EQ(Settings{}.backend("opencl", "platform"), std::nullopt);
  with_config(os, "backends:\n  open-cl:\n    max:\n      threads: 1\n");
  EXPECT_EQ(Settings::load(os).backend("open-cl", "max.threads"), "1");
  os.variables["VECTIS_BACKENDS_OPEN_CL_MAX_THREADS"] = "2";
  EXPECT_EQ(Settings::load(os).backend("open-cl", "max.threads"), "2");
  EXPECT_EQ(Settings::load(os).get("backends.open-cl.max.threads").source, "VECTIS_BACKENDS_OPEN_CL_MAX_THREADS");
  EXPECT_EQ(Settings::load(os, {{"backends.open-cl.max.threads", "3"}}).backend("open-cl", "max.threads"), "3");
}

TEST(Settings, FlagsAcceptFourSpellings) {
  const FakeOs os;
  for (const char* const text : {"true", "yes", "on", "1", "TRUE", "On"}) {
    EXPECT_TRUE(Settings::load(os, {{"gpu.enabled", text}}).flag("gpu.enabled")) << text;
  }
  for (const char* const text : {"false", "no", "off", "0", "False", "NO"}) {
    EXPECT_FALSE(Settings::load(os, {{"gpu.enabled", text}}).flag("gpu.enabled")) << text;
  }
}

TEST(Settings, AnInvalidFlagNamesValueAndOrigin) {
  FakeOs os;
  os.variables["VECTIS_GPU_ENABLED"] = "maybe";
  EXPECT_ERROR(static_cast<void>(Settings::load(os).flag("gpu.enabled")), ErrorCode::invalid_input, "gpu.enabled",
               "`maybe`", "VECTIS_GPU_ENABLED", "true/false");
}

TEST(Settings, UnknownKeysNameTheKnownOnes) {
  const FakeOs os;
  EXPECT_ERROR(Settings::load(os, {{"devise", "cpu"}}), ErrorCode::invalid_input, "devise", "gpu.enabled",
               "backends.<name>.<key>");
  for (const char* const key :
       {"", "gpu", "backends", "backends.", "backends.x", "backends.x.", "backends..x", "backendsx.a.b"}) {
    EXPECT_ERROR(static_cast<void>(Settings{}.get(key)), ErrorCode::invalid_input, "unknown key");
  }
}

TEST(Settings, UnknownKeysInAFileNameFileAndLine) {
  load_failure("device: cpu\ngpu:\n  enabeld: true\n", "line 3", "gpu.enabeld", "gpu.enabled");
  load_failure("gpu: true\n", "line 1", "unknown key gpu");
}

TEST(Settings, InvalidFilesNameTheLine) {
  load_failure("device: cpu\n  bad: [1\n", "is not YAML", "line 2");
  load_failure("- a\n- b\n", "line 1", "not a map");
  load_failure("just text\n", "not a map");
  load_failure("device:\n", "line 1", "device has no value");
  load_failure("device: [a, b]\n", "device has a list");
  load_failure("device: a\nbackend_path: b\ndevice: c\n", "line 3", "given before, in line 1");
  load_failure("gpu.enabled: true\ngpu:\n  enabled: false\n", "line 3", "given before, in line 1");
  load_failure("? [a, b]\n: c\n", "a key is not plain text");
  load_failure("config: /other.yaml\n", "line 1", "config cannot be set in a file");
}

TEST(Settings, AnEndlesslyNestedFileIsRejected) {
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  load_failure(deep + std::string(40, ' ') + "b: 1\n", "nested more than 16 deep");
  load_failure("backends: &loop\n  x: *loop\n", "line");
  std::string laughs = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 14; ++i) {
    laughs += fmt::format("a{0}: &a{0} {{k0: *a{1}, k1: *a{1}, k2: *a{1}, k3: *a{1}, k4: *a{1}}}\n", i, i - 1);
  }
  load_failure(laughs, "more than 1024 entries");
}

TEST(Settings, AnEmptyFileIsValid) {
  FakeOs os;
  for (const char* const text : {"", "# nothing\n", "---\n", "{}\n"}) {
    EXPECT_EQ(Settings::load(with_config(os, text)).text("device"), "auto") << text;
  }
}

TEST(Settings, TheFileIsSearchedInOrder) {
  FakeOs os;
  os.variables["HOME"] = "/home/u";
  os.files["/home/u/.config/vectis/config.yaml"] = "device: home\n";
  EXPECT_EQ(Settings::load(os).text("device"), "home");

  os.variables["XDG_CONFIG_HOME"] = "/xdg";
  EXPECT_EQ(Settings::load(os).text("device"), "auto") << "XDG_CONFIG_HOME replaces the folder under HOME";
  os.files["/xdg/vectis/config.yaml"] = "device: xdg\n";
  EXPECT_EQ(Settings::load(os).text("device"), "xdg");

  with_config(os, "device: named\n");
  EXPECT_EQ(Settings::load(os).text("device"), "named");

  os.files["/api.yaml"] = "device: api-file\n";
  const Settings settings = Settings::load(os, {{"config", "/api.yaml"}});
  EXPECT_EQ(settings.text("device"), "api-file");
  EXPECT_EQ(settings.text("config"), "/api.yaml");

  EXPECT_EQ(Settings::load(os, {{"config", ""}}).text("device"), "auto") << "an empty config reads no file";
}

TEST(Settings, ANamedFileThatCannotBeReadIsAnError) {
  FakeOs os;
  os.variables["VECTIS_CONFIG"] = "/gone.yaml";
  EXPECT_ERROR(Settings::load(os), ErrorCode::invalid_input, "/gone.yaml", "VECTIS_CONFIG");
  EXPECT_ERROR(Settings::load(os, {{"config", "/none.yaml"}}), ErrorCode::invalid_input, "/none.yaml", "API",
               "--config");
}

TEST(Settings, WarnsOfUnknownVariablesWithTheNearestName) {
  FakeOs os;
  os.variables = {{"VECTIS_DEVICE", "cpu"},       {"VECTIS_DEVCE", "gpu"},
                  {"VECTIS_GPU_ENABLE", "0"},     {"VECTIS_TEST_SEED", "1"},
                  {"VECTIS_BACKENDS_TOY_X", "1"}, {"VECTIS_BACKEND_OPENCL_X", "1"},
                  {"VECTIS_BACKEND_PATH", "/a"},  {"PATH", "/bin"}};
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(Settings::load(os).warnings(),
              testing::ElementsAre(AllOf(HasSubstr("VECTIS_BACKEND_OPENCL_X "), HasSubstr("VECTIS_BACKENDS_OPENCL_X?")),
                                   AllOf(HasSubstr("VECTIS_DEVCE "), HasSubstr("VECTIS_DEVICE?")),
                                   AllOf(HasSubstr("VECTIS_GPU_ENABLE "), HasSubstr("VECTIS_GPU_ENABLED?"))));
}

TEST(Settings, AVeryLongVariableIsWarnedOfAtOnce) {
  test::FakeOs os;
  const std::string rest(100'000, 'A');  // minutes, were all of it compared
  os.variables["VECTIS_BACKEND_" + rest] = "1";
  const Settings settings = Settings::load(os);
  ASSERT_EQ(settings.warnings().size(), 1U);
  EXPECT_THAT(settings.warnings()[0], testing::EndsWith("did you mean VECTIS_BACKENDS_" + rest + "?"));
}

TEST(Settings, TheUsersOwnFileMayBeAbsentButNotUnreadable) {
  FakeOs os;
  os.variables["HOME"] = "/home/u";
  EXPECT_EQ(Settings::load(os).text("device"), "auto");
  os.unreadable.insert("/home/u/.config/vectis/config.yaml");
  EXPECT_ERROR(Settings::load(os), ErrorCode::invalid_input, "/home/u/.config/vectis/config.yaml", "permissions");
}

}  // namespace
}  // namespace vectis
