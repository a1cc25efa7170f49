// Configuration: API over environment over file over default, each value with its origin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/base/export.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

// One known setting. `docs/configuration.md` is generated from the catalogue.
struct SettingEntry {
  std::string_view key;            // "gpu.enabled"; in YAML nested by the dots
  std::string_view environment;    // "VECTIS_GPU_ENABLED"
  std::string_view default_value;  // "true"
  std::string_view description;
};

VECTIS_API std::span<const SettingEntry> setting_catalog() noexcept;

enum class SettingOrigin : std::uint8_t { fallback, file, environment, api };

struct Setting {
  std::string value;
  SettingOrigin origin = SettingOrigin::fallback;
  std::string source;  // file and line, the variable's name, "api" or "default"
};

// Values by key. Keys are those of the catalogue, and `backends.<name>.<key>` for whatever a backend documents.
// Immutable after loading, thread-safe.
class VECTIS_API Settings {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  Settings() = default;  // defaults only

  // Reads the file `config` names (an `api` value, then VECTIS_CONFIG), else the user's own config file if there is
  // one; an empty `config` in `api` reads no file. A variable set to nothing counts as not set. InvalidInput when a
  // file cannot be read, is not YAML, or holds an unknown key, naming file and line. `os` must outlive the result.
  static Settings load(const Os& os, const Values& api = {});

  // InvalidInput when the key is not in the catalogue and not a backend's.
  [[nodiscard]] Setting get(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const { return get(key).value; }
  // InvalidInput naming value and origin unless it reads true/false, yes/no, on/off, 1/0.
  [[nodiscard]] bool flag(std::string_view key) const;
  // InvalidInput naming value and origin unless it is a whole number from 0 on.
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  // `backends.<backend>.<key>`, empty when nobody set it.
  [[nodiscard]] std::optional<std::string> backend(std::string_view backend, std::string_view key) const;

 private:
  std::map<std::string, Setting, std::less<>> values_;
  const Os* os_ = nullptr;  // backends' variables are looked up when asked for
};

}  // namespace vectis::inline v0_1
