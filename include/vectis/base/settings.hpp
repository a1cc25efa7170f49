// Configuration: API over environment over file over default. Each value remembers where it came from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

// One known setting. `docs/configuration.md` is generated from the catalog.
struct SettingEntry {
  std::string_view key;            // "gpu.enabled"; a dot is one level of nesting in YAML
  std::string_view environment;    // "VECTIS_GPU_ENABLED"
  std::string_view default_value;  // "true"
  std::string_view description;
};

// Every setting that Vectis itself knows.
VECTIS_API std::span<const SettingEntry> setting_catalog() noexcept;

// Where a value comes from, in increasing precedence; `fallback` is the default value.
enum class SettingOrigin : std::uint8_t { fallback, file, environment, api };

// A value and its origin.
struct Setting {
  std::string value;
  SettingOrigin origin = SettingOrigin::fallback;
  std::string source;  // file and line, the variable's name, "api" or "default"
};

// Values by key. Valid keys are those of the catalog, and `backends.<name>.<key>` for settings that a backend
// documents. Immutable after loading, thread-safe.
class VECTIS_API Settings {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  Settings() = default;  // defaults only

  // Merges `api`, the environment, and one file. The file is the one that `config` names (in `api`, else in
  // VECTIS_CONFIG), else the user's own file if it exists; an empty `config` in `api` reads no file. A variable with an
  // empty value counts as not set. Throws InvalidInput, naming file and line, when a file cannot be read, is not YAML,
  // or has an unknown key. Unknown VECTIS_* variables are no error; see warnings(). `os` must outlive the result.
  static Settings load(const Os& os, const Values& api = {});

  // Throws InvalidInput when the key is neither in the catalog nor a backend's.
  [[nodiscard]] Setting get(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const { return get(key).value; }
  // Accepts true/false, yes/no, on/off, 1/0 in any case. Throws InvalidInput, naming value and origin, for others.
  [[nodiscard]] bool flag(std::string_view key) const;
  // A decimal integer from 0 to 2^64-1. Throws InvalidInput, naming value and origin, for anything else.
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  // The value of `backends.<backend>.<key>`; empty when it is not set.
  [[nodiscard]] std::optional<std::string> backend(std::string_view backend, std::string_view key) const;

  // One sentence for each VECTIS_* variable that is not a setting, with the nearest name. A Runtime logs them.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::map<std::string, Setting, std::less<>> values_;
  std::vector<std::string> warnings_;
  const Os* os_ = nullptr;  // variables of backends are looked up on demand
};

}  // namespace vectis::inline v0_1
