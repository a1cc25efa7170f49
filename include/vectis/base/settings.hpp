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

// The description of one known setting, as setting_catalog() returns it. `docs/configuration.md` is generated from
// the entries.
struct SettingEntry {
  std::string_view key;            // "gpu.enabled"; a dot is one level of nesting in YAML
  std::string_view environment;    // "VECTIS_GPU_ENABLED"
  std::string_view default_value;  // "true"
  std::string_view description;
};

// Returns the entries of all settings that Vectis itself knows, without those of backends; valid until the process
// ends. Does not throw.
VECTIS_API std::span<const SettingEntry> setting_catalog() noexcept;

// The description of one setting of a backend that Vectis ships, as backend_setting_catalog() returns it.
struct BackendSettingEntry {
  std::string_view backend;  // "opencl"
  std::string_view key;      // "clblast", of the setting backends.opencl.clblast
  std::string_view description;
};

// Returns the settings of the backends that Vectis ships; valid until the process ends. Backends of others may have
// further ones. Does not throw.
VECTIS_API std::span<const BackendSettingEntry> backend_setting_catalog() noexcept;

// Where the value of a setting comes from, in increasing precedence; `fallback` is the default value of the catalog.
enum class SettingOrigin : std::uint8_t { fallback, file, environment, api };

// The value of a setting and where it comes from, as Settings::get returns it.
struct Setting {
  std::string value;
  SettingOrigin origin = SettingOrigin::fallback;
  std::string source;  // file and line, the variable's name, "api" or "default"
};

// Values by key, merged from API, environment, file and defaults by load(). Valid keys are those of
// setting_catalog(), and `backends.<name>.<key>` for settings of a backend; others throw InvalidInput. Immutable
// after loading, thread-safe.
class VECTIS_API Settings {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  Settings() = default;  // defaults only

  // Merges `api`, the environment and one file: the one that `config` names in `api`, else in VECTIS_CONFIG, else the
  // user's own if it exists; an empty `config` in `api` reads none. `os` must outlive the result. Throws
  // InvalidInput, with file and line, for an unreadable or invalid file or an unknown key; unknown VECTIS_* variables
  // are only warnings().
  static Settings load(const Os& os, const Values& api = {});

  // Returns the value of `key` with its origin: the default when nothing sets it, an empty value for a backend's key.
  // Throws InvalidInput when `key` is neither in setting_catalog() nor of the form `backends.<name>.<key>`.
  [[nodiscard]] Setting get(std::string_view key) const;
  // Returns the value of `key` as text; the default when nothing sets it. Throws InvalidInput when `key` is neither
  // in setting_catalog() nor of the form `backends.<name>.<key>`.
  [[nodiscard]] std::string text(std::string_view key) const { return get(key).value; }
  // Returns the value of `key` as a boolean: true/false, yes/no, on/off or 1/0 in any case. Throws InvalidInput,
  // naming value and origin, for another value, and InvalidInput for an unknown key.
  [[nodiscard]] bool flag(std::string_view key) const;
  // Returns the value of `key` as a decimal integer from 0 to 2^64-1. Throws InvalidInput, naming value and origin,
  // for another value, and InvalidInput for an unknown key.
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  // Returns the value of the setting `backends.<backend>.<key>`; an empty optional when nothing sets it. Throws
  // InvalidInput when `backend` or `key` is empty.
  [[nodiscard]] std::optional<std::string> backend(std::string_view backend, std::string_view key) const;

  // Returns one sentence for each VECTIS_* variable that is not a setting, with the most similar name; empty when
  // there is none. A Runtime logs them. Does not throw.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::map<std::string, Setting, std::less<>> values_;
  std::vector<std::string> warnings_;
  const Os* os_ = nullptr;  // variables of backends are looked up on demand
};

}  // namespace vectis::inline v0_1
