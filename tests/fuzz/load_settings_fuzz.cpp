// Fuzzes the settings file, and reads every setting of a file that Settings::load accepts.
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/support/fake_os.hpp"
#include "vectis/base.hpp"

namespace vectis::fuzz {

namespace {

constexpr const char* path = "/config.yaml";

// Calls `read`, which may reject the value.
template <class Read>
void read_value(const Read& read) try {
  read();
} catch (const Error& error) {
  expect(error.code() == ErrorCode::invalid_input);
}

// Values of a file and the same values of the API are equal.
void use(const Settings& settings, const Os& os) noexcept {
  Settings::Values values;
  for (const SettingEntry& entry : setting_catalog()) {
    const Setting setting = settings.get(entry.key);
    if (setting.origin == SettingOrigin::file) {
      expect(setting.source.starts_with(path));
      values.emplace(entry.key, setting.value);
    }
    read_value([&] { static_cast<void>(settings.flag(entry.key)); });
    read_value([&] { static_cast<void>(settings.number(entry.key)); });
  }
  const Settings same = Settings::load(os, values);
  for (const auto& [key, value] : values) expect(same.text(key) == value);
  for (const BackendSettingEntry& entry : backend_setting_catalog()) {
    static_cast<void>(settings.backend(entry.backend, entry.key));
  }
}

void read_and_use(BytesView file) {
  test::FakeOs os;
  os.files[path] = text_of(file);
  use(Settings::load(os, {{"config", path}}), os);
}

// The settings file has no version.
std::vector<Bytes> seeds() {
  return {bytes_of(""), bytes_of("# nothing\n---\n"),
          bytes_of("device: cpu\n"
                   "gpu:\n"
                   "  enabled: false\n"
                   "  batch_size: 10\n"
                   "memory: {pool: 'on', trim_after_ms: 0}\n"
                   "plan.explore_percent: 7\n"
                   "backends:\n"
                   "  cuda: &same {driver: \"lib\\x41.so\"}\n"
                   "  hip: *same\n"
                   "  opencl: {<<: *same, clblast: off}\n"),
          bytes_of("cache_path: >-\n  /tmp\n  folder\nautotune: |\n  on\ndebug: !!str yes\n? backend_path\n: a:b\n")};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::invalid_input}};

}  // namespace vectis::fuzz
