// Every setting at its edges: accepted, or an Error. Nothing crashes, hangs or throws anything else.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>

#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"
#include "vectis/memory.hpp"
#include "vectis/plan.hpp"
#include "vectis/search.hpp"

namespace vectis::test {
namespace {

const std::set<std::string_view> number_settings{"gpu.batch_size",          "memory.trim_after_ms",
                                                 "memory.trim_allocations", "plan.gpu_bytes_min",
                                                 "plan.gpu_free_factor",    "plan.explore_percent"};
const std::set<std::string_view> flag_settings{"gpu.enabled", "gpu.allow_software", "debug"};

// Values that are no numbers from 0 to 2^64 - 1.
const std::vector<std::string>& no_numbers() {
  static const std::vector<std::string> all{"-1",
                                            "-0",
                                            "+1",
                                            "1.5",
                                            "1e3",
                                            "18446744073709551616",
                                            "nan",
                                            "NaN",
                                            "inf",
                                            "-inf",
                                            "0x10",
                                            "abc",
                                            " ",
                                            "1 ",
                                            " 1",
                                            "1\n",
                                            std::string("1\0", 2),
                                            std::string(100'000, '9')};
  return all;
}
std::vector<std::string> edge_values() {
  std::vector<std::string> values{"",
                                  "0",
                                  "1",
                                  "2",
                                  "9223372036854775807",
                                  "9223372036854775808",
                                  "true",
                                  "false",
                                  "auto",
                                  "off",
                                  "18446744073709551615",
                                  "/dev/null",
                                  "/",
                                  ",",
                                  ":",
                                  ".",
                                  "cpu,cpu",
                                  "%s%n",
                                  "{}",
                                  "\xff\xfe",
                                  std::string(5000, 'x'),
                                  std::string(300, '/')};
  values.insert(values.end(), no_numbers().begin(), no_numbers().end());
  return values;
}

// Everything that reads a setting, once.
void use_runtime(Runtime& runtime) {
  Random random(seed());
  const Floats rows = random_rows(random, 20, 4);
  static_cast<void>(runtime.service<DeviceRegistry>().devices());
  static_cast<void>(default_device(runtime));
  static_cast<void>(is_gpu_available(runtime));
  static_cast<void>(kernel_cache(runtime).folder());
  static_cast<void>(planner(runtime));
  for (const char* const device : {"cpu", "failing"}) {
    const auto found = runtime.service<DeviceRegistry>().find(device);
    if (!found) continue;
    for (int i = 0; i < 4; ++i) {
      ManagedBuffer buffer = memory_pool(runtime).allocate_bytes(found->id(), 1000);
      buffer.release();
    }
    static_cast<void>(memory_pool(runtime).emergency_cleanup(found->id()));
  }
  try {  // devices that settings name or allow
    static_cast<void>(make_index("gpu", 4, Metric::l2, {.runtime = &runtime}));
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::driver_failure) << error.what();
  }
  for (const char* const kind : {"flat", "graph", "gpu"}) {
    const bool gpu = kind == std::string_view("gpu");
    const auto index =
        make_index(kind, 4, Metric::l2,
                   {.device = gpu ? std::optional<std::string>("failing") : std::nullopt, .runtime = &runtime});
    index->add(rows);
    EXPECT_EQ(index->search(rows, 2).queries(), 20U);
  }
}

std::string shortened(const std::string& value) {
  return value.size() <= 40 ? value : value.substr(0, 20) + "... of " + std::to_string(value.size()) + " bytes";
}

class HostileSettings : public testing::Test {
 protected:
  // Settings name folders, which relative values would make where the program was started.
  HostileSettings() : started_in_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.folder()); }
  ~HostileSettings() override { std::filesystem::current_path(started_in_); }

  // Returns whether the value was accepted.
  static bool try_value(const std::string& key, const std::string& value) {
    SCOPED_TRACE(key + " = '" + shortened(value) + "'");
    const auto begin = std::chrono::steady_clock::now();
    bool accepted = false;
    try {
      RuntimeOptions options;
      options.settings[key] = value;
      options.threads = 2;
      Runtime runtime(std::move(options));
      use_runtime(runtime);
      accepted = true;
    } catch (const Error& error) {
      const ErrorCode code = error.code();
      EXPECT_TRUE(code == ErrorCode::invalid_input || code == ErrorCode::backend_creation ||
                  code == ErrorCode::unsupported || code == ErrorCode::unsupported_backend || code == ErrorCode::io)
          << error.what();
      EXPECT_FALSE(std::string_view(error.what()).empty());
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not an Error: " << error.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    return accepted;
  }

 private:
  TemporaryFolder folder_;
  std::filesystem::path started_in_;
};

TEST_F(HostileSettings, AreAcceptedOrAnError) {
  std::size_t tried = 0;
  std::size_t accepted = 0;
  for (const SettingEntry& entry : setting_catalog()) {
    for (const std::string& value : edge_values()) {
      ++tried;
      accepted += try_value(std::string(entry.key), value) ? 1U : 0U;
    }
  }
  std::cout << tried << " edge values of settings, " << accepted << " of them accepted\n";
}

TEST_F(HostileSettings, OfBackendsAreAcceptedOrAnError) {
  for (const char* const key :
       {"backends.cpu.onednn", "backends.failing.memory_bytes", "backends.failing.fail", "backends.failing.lose",
        "backends.null.anything", "backends.cuda.driver", "backends.hip.driver"}) {
    for (const std::string& value : edge_values()) static_cast<void>(try_value(key, value));
  }
}

// From the API, the environment and a file alike.
TEST_F(HostileSettings, NumbersAndFlagsRejectEverythingElse) {
  for (const SettingEntry& entry : setting_catalog()) {
    const bool number = number_settings.contains(entry.key);
    if (!number && !flag_settings.contains(entry.key)) continue;
    for (const std::string& value : no_numbers()) {
      SCOPED_TRACE(std::string(entry.key) + " = '" + shortened(value) + "'");
      const auto expect_rejected = [&](const Settings& settings) {
        if (number) {
          EXPECT_ERROR(static_cast<void>(settings.number(entry.key)), ErrorCode::invalid_input, std::string(entry.key));
        } else {
          EXPECT_ERROR(static_cast<void>(settings.flag(entry.key)), ErrorCode::invalid_input, std::string(entry.key));
        }
      };
      FakeOs os;
      expect_rejected(Settings::load(os, {{std::string(entry.key), value}}));
      os.variables[std::string(entry.environment)] = value;
      expect_rejected(Settings::load(os));
    }
  }
}

TEST_F(HostileSettings, UnknownKeysAreErrors) {
  FakeOs os;
  for (const char* const key : {"", ".", "gpu", "gpu.", ".gpu", "gpu.enabled.", "GPU.ENABLED", "gpu enabled",
                                "backends", "backends.", "backends..", "backends.x.", "backends..x", "\xff"}) {
    EXPECT_ERROR(static_cast<void>(Settings::load(os, {{key, "1"}})), ErrorCode::invalid_input, "");
    EXPECT_ERROR(static_cast<void>(Settings().get(key)), ErrorCode::invalid_input, "");
  }
}

}  // namespace
}  // namespace vectis::test
