#include "vectis/base/settings.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/backend_variable.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::array known_settings{
    SettingEntry{"device", "VECTIS_DEVICE", "auto",
                 "Device that runs work: `auto`, `cpu`, `gpu`, a backend such as `opencl` or `rocm`, a label such as "
                 "`opencl:1`, or an id."},
    SettingEntry{"gpu.enabled", "VECTIS_GPU_ENABLED", "true", "Whether devices other than the CPU may be used."},
    SettingEntry{"gpu.allow_software", "VECTIS_GPU_ALLOW_SOFTWARE", "false",
                 "Whether software drivers, which compute on the CPU (PoCL, llvmpipe), count as GPUs."},
    SettingEntry{"gpu.batch_size", "VECTIS_GPU_BATCH_SIZE", "1000",
                 "Maximum number of queries that a device searches at once; fewer when its memory is small or smaller "
                 "batches are faster."},
    SettingEntry{"gpu.devices", "VECTIS_GPU_DEVICES", "",
                 "Devices that an index of kind `gpu` uses together, such as `opencl:0,opencl:1`; empty: the active "
                 "device, or the "
                 "first GPU."},
    SettingEntry{"gpu.split", "VECTIS_GPU_SPLIT", "shards",
                 "How these devices share a search: `shards`, each holds a part of the rows; `replicas`, each holds "
                 "all rows and "
                 "searches a part of the queries."},
    SettingEntry{
        "backend_path", "VECTIS_BACKEND_PATH", "",
        "Folders and files searched for backend plug-ins before the library's own folder, separated by colons."},
    SettingEntry{"memory.pool", "VECTIS_MEMORY_POOL", "true",
                 "Whether released buffers are cached for reuse; false: every buffer is allocated from the device and "
                 "returned to it, with the same limits and errors."},
    SettingEntry{"memory.trim_after_ms", "VECTIS_MEMORY_TRIM_AFTER_MS", "30000",
                 "Idle time in milliseconds after which a pool returns its cached memory to the device; 0: never."},
    SettingEntry{"memory.trim_allocations", "VECTIS_MEMORY_TRIM_ALLOCATIONS", "65536",
                 "Number of allocations after which a pool returns cached memory that none of them used; 0: never."},
    SettingEntry{"memory.snapshots", "VECTIS_MEMORY_SNAPSHOTS", "",
                 "Folder to which an out-of-memory error writes a snapshot of the pool; empty: none is written."},
    SettingEntry{"memory.live", "VECTIS_MEMORY_LIVE", "",
                 "Folder in which every pool updates a snapshot of itself, at most once per second, for `vectis memory "
                 "--follow`; empty: none is written."},
    SettingEntry{"cache_path", "VECTIS_CACHE_PATH", "",
                 "Folder for compiled kernels, tuned work-group sizes and device profiles; `off`: nothing is cached on "
                 "disk; empty: `$XDG_CACHE_HOME/vectis` or `~/.cache/vectis`."},
    SettingEntry{
        "autotune", "VECTIS_AUTOTUNE", "known",
        "Tuning of work-group sizes for kernels of more than a million work-items: `on` measures them at first use "
        "and caches the fastest, `known` uses cached results only, `off` uses the defaults."},
    SettingEntry{
        "plan.gpu_bytes_min", "VECTIS_PLAN_GPU_BYTES_MIN", "0",
        "Work that touches fewer bytes stays on the CPU, whatever the prediction; 0: only the prediction decides. A "
        "common rule of thumb is 1000000."},
    SettingEntry{"plan.gpu_free_factor", "VECTIS_PLAN_GPU_FREE_FACTOR", "0",
                 "A device is skipped unless this multiple of the bytes to be copied to it is free there; 0: only the "
                 "prediction decides. A common rule of thumb is 2."},
    SettingEntry{
        "plan.explore_percent", "VECTIS_PLAN_EXPLORE_PERCENT", "2",
        "Percentage of the recorded time that the planner may spend on exploring candidates with little history; "
        "0: no exploration."},
    SettingEntry{"array.wide_types", "VECTIS_ARRAY_WIDE_TYPES", "refuse",
                 "What happens to float64 and int64 arrays that are given to a device other than the CPU: `refuse` is "
                 "an error, `downcast` makes them float32 and int32 and logs a warning once."},
    SettingEntry{"debug", "VECTIS_DEBUG", "false",
                 "Whether to log the source of every kernel, its compiler's output, and at shutdown the buffers that "
                 "were not released; lowers the log level to debug."},
    SettingEntry{"config", "VECTIS_CONFIG", "",
                 "The configuration file; cannot be set in a file. Empty: "
                 "`$XDG_CONFIG_HOME/vectis/config.yaml` or `~/.config/vectis/config.yaml`, if it exists."},
};

constexpr std::array known_backend_settings = {
    BackendSettingEntry{"cpu", "onednn",
                        "`off`: multiply matrices and convolve without oneDNN, which is used if installed"},
    BackendSettingEntry{"cpu", "lapack", "the library of LAPACK, or `off`"},
    BackendSettingEntry{"opencl", "sub_devices",
                        "partitions every OpenCL device that supports it into this many sub-devices"},
    BackendSettingEntry{
        "opencl", "clblast",
        "where CLBlast, if installed, multiplies matrices: `on` for every device, `off`; default: GPUs"},
    BackendSettingEntry{"cuda", "driver", "the driver's library"},
    BackendSettingEntry{"cuda", "compiler", "the library of NVRTC"},
    BackendSettingEntry{"cuda", "monitor", "the library of NVML"},
    BackendSettingEntry{"cuda", "blas", "the library of cuBLASLt, or `off`"},
    BackendSettingEntry{"hip", "driver", "the driver's library"},
    BackendSettingEntry{"hip", "compiler", "the library of hipRTC"},
    BackendSettingEntry{"webgpu", "library", "the library of wgpu-native"},
    BackendSettingEntry{"webgpu", "api",
                        "list devices of this graphics API only: `vulkan`, `metal`, `dx12`, `gl` or `all`"},
    BackendSettingEntry{"webgpu", "memory_mb", "the memory of the devices in MiB, where the system does not report it"},
    BackendSettingEntry{"webgpu", "binding_kb",
                        "lowers the largest binding of one memory to a kernel, in KiB; for tests"},
    BackendSettingEntry{"webgpu", "pci_folder",
                        "the folder that lists the PCI devices, instead of `/sys/bus/pci/devices`; for tests"},
};

constexpr std::string_view backend_prefix = "backends.";

[[noreturn]] void fail(std::string_view message) { throw Error(ErrorCode::invalid_input, "settings", message); }

const SettingEntry* find_entry(std::string_view key) noexcept {
  const auto* const found =
      std::find_if(known_settings.begin(), known_settings.end(), [&](auto& entry) { return entry.key == key; });
  return found == known_settings.end() ? nullptr : found;
}

// True for `backends.<name>.<key>` with neither part empty.
bool is_backend_key(std::string_view key) noexcept {
  if (!key.starts_with(backend_prefix)) return false;
  key.remove_prefix(backend_prefix.size());
  const std::size_t dot = key.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < key.size();
}

std::string known_keys() {
  std::string keys;
  for (const SettingEntry& entry : known_settings) keys.append(entry.key).append(", ");
  return keys + "and backends.<name>.<key>";
}

// Throws for an unknown key. `where` is "/etc/x.yaml line 3: " or empty.
void check_key(std::string_view key, std::string_view where) {
  if (find_entry(key) != nullptr || is_backend_key(key)) return;
  fail(fmt::format("{}unknown key {}; known keys are {}", where, key, known_keys()));
}

// Empty when the variable is not set or set to an empty value.
std::optional<std::string> read_variable(const Os& os, std::string_view name) {
  auto value = os.environment(std::string(name));
  return value && !value->empty() ? value : std::nullopt;
}

struct FileSetting {
  std::string key;    // nested names joined by dots
  std::string value;  // as written
  int line = 0;       // from 1
};

// Turns a YAML tree into a list of dotted keys.
class Flattener {
 public:
  explicit Flattener(const std::string& path) : path_(path) {}

  // The depth is limited because YAML aliases can make the tree infinite, and the number of entries because they can
  // make it exponentially large.
  void add_map(const YAML::Node& map, const std::string& prefix, int depth) {
    constexpr int depth_max = 16;
    if (depth > depth_max) {
      fail(map, fmt::format("{} is nested more than {} deep; use fewer levels", prefix, depth_max));
    }
    for (const auto& entry : map) {
      constexpr std::size_t entries_max = 1024;
      if (++entries_ > entries_max) fail(entry.first, fmt::format("more than {} entries; use fewer", entries_max));
      if (!entry.first.IsScalar()) fail(entry.first, "a key is not plain text; write `name: value`");
      add(entry.first, prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar(), entry.second,
          depth);
    }
  }

  std::vector<FileSetting> take() { return std::move(settings_); }

  [[noreturn]] void fail(const YAML::Node& node, std::string_view message) const {
    throw Error(ErrorCode::invalid_input, "settings", fmt::format("{} line {}: {}", path_, line(node), message));
  }

 private:
  static int line(const YAML::Node& node) { return node.Mark().line + 1; }

  void add(const YAML::Node& name, const std::string& key, const YAML::Node& value, int depth) {
    if (value.IsMap()) return add_map(value, key, depth + 1);
    if (!value.IsScalar()) {
      fail(name, fmt::format("{} has {}; give it one plain value", key, value.IsSequence() ? "a list" : "no value"));
    }
    const auto same = std::find_if(settings_.begin(), settings_.end(), [&](auto& other) { return other.key == key; });
    if (same != settings_.end()) {
      fail(name, fmt::format("{} was given before, in line {}; remove one of the two", key, same->line));
    }
    settings_.push_back({key, value.Scalar(), line(name)});
  }

  const std::string& path_;
  std::size_t entries_ = 0;  // visited, with those that aliases repeat
  std::vector<FileSetting> settings_;
};

YAML::Node load_yaml(const std::string& path, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid_input, "settings",
                fmt::format("{} line {} is not YAML: {}; correct the line", path, error.mark.line + 1, error.msg));
  }
}

// Throws InvalidInput, naming `path` and the line, when the text is not YAML, is not a map of maps and plain values, or
// has a key twice.
std::vector<FileSetting> parse_settings_file(const std::string& path, const std::string& text) {
  const YAML::Node root = load_yaml(path, text);
  Flattener flattener(path);
  if (root.IsNull()) return {};
  if (!root.IsMap()) flattener.fail(root, "not a map of settings; write `name: value` in each line");
  flattener.add_map(root, "", 0);
  return flattener.take();
}

struct ConfigFile {
  std::string path;
  std::string text;
};

// `named_by` says where the path comes from.
ConfigFile read_named(const Os& os, const std::string& path, std::string_view named_by) {
  if (auto text = os.read_file(path)) return {path, *std::move(text)};
  fail(fmt::format("the configuration file {} (from {}) cannot be read; correct the path or the file's permissions",
                   path, named_by));
}

std::optional<std::string> user_path(const Os& os) {
  if (const auto folder = read_variable(os, "XDG_CONFIG_HOME")) return *folder + "/vectis/config.yaml";
  if (const auto home = read_variable(os, "HOME")) return *home + "/.config/vectis/config.yaml";
  return std::nullopt;
}

std::optional<ConfigFile> find_file(const Os& os, const Settings::Values& api) {
  if (const auto given = api.find("config"); given != api.end()) {
    if (given->second.empty()) return std::nullopt;
    return read_named(os, given->second, "--config or the API's setting `config`");
  }
  if (const auto named = read_variable(os, "VECTIS_CONFIG")) return read_named(os, *named, "VECTIS_CONFIG");
  const auto own = user_path(os);
  if (!own) return std::nullopt;
  if (auto text = os.read_file(*own)) return ConfigFile{*own, *std::move(text)};
  if (os.access(*own) == FileAccess::absent) return std::nullopt;
  return read_named(os, *own, "the user's folder");  // exists but unreadable: must not be ignored
}

// Levenshtein distance: the fewest insertions, deletions and substitutions that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

// The setting's variable that is most similar to `name`. Compares the beginnings: the time of a comparison grows with
// the product of the lengths, and a name may have more than 100,000 characters.
std::string nearest_variable(std::string_view name) {
  constexpr std::size_t compared_max = 64;  // characters, more than any variable has
  constexpr std::string_view singular = "VECTIS_BACKEND_";
  std::vector<std::string> known;
  known.reserve(known_settings.size() + 1);
  for (const SettingEntry& entry : known_settings) known.emplace_back(entry.environment);
  if (name.starts_with(singular)) known.push_back("VECTIS_BACKENDS_" + std::string(name.substr(singular.size())));
  const auto distance = [&](std::string_view other) {
    return edit_distance(name.substr(0, compared_max), other.substr(0, compared_max));
  };
  return *std::ranges::min_element(known, {}, distance);
}

std::vector<std::string> unknown_variables(const Os& os) {
  std::vector<std::string> warnings;
  for (const std::string& name : os.environment_names()) {
    const auto is_known = [&](const SettingEntry& entry) { return entry.environment == name; };
    if (!name.starts_with("VECTIS_") || std::ranges::any_of(known_settings, is_known)) continue;
    if (name.starts_with("VECTIS_BACKENDS_") || name.starts_with("VECTIS_TEST_")) continue;
    warnings.push_back(fmt::format("the environment variable {} is not a setting and is ignored; did you mean {}?",
                                   name, nearest_variable(name)));
  }
  return warnings;
}

}  // namespace

std::span<const SettingEntry> setting_catalog() noexcept { return known_settings; }

std::span<const BackendSettingEntry> backend_setting_catalog() noexcept { return known_backend_settings; }

Settings Settings::load(const Os& os, const Values& api) {
  Settings settings;
  settings.os_ = &os;
  settings.warnings_ = unknown_variables(os);
  for (const auto& [key, value] : api) check_key(key, "");
  if (const auto file = find_file(os, api)) {
    for (const FileSetting& entry : parse_settings_file(file->path, file->text)) {
      const std::string where = fmt::format("{} line {}: ", file->path, entry.line);
      check_key(entry.key, where);
      if (entry.key == "config") fail(where + "config cannot be set in a file; remove the line or set VECTIS_CONFIG");
      settings.values_[entry.key] = {entry.value, SettingOrigin::file,
                                     fmt::format("{} line {}", file->path, entry.line)};
    }
  }
  for (const SettingEntry& entry : known_settings) {
    if (auto value = read_variable(os, entry.environment)) {
      settings.values_[std::string(entry.key)] = {*std::move(value), SettingOrigin::environment,
                                                  std::string(entry.environment)};
    }
  }
  for (const auto& [key, value] : api) settings.values_[key] = {value, SettingOrigin::api, "api"};
  return settings;
}

Setting Settings::get(std::string_view key) const {
  check_key(key, "");
  const auto found = values_.find(key);
  const SettingEntry* const entry = find_entry(key);
  if (entry == nullptr && os_ != nullptr && (found == values_.end() || found->second.origin == SettingOrigin::file)) {
    const std::string variable = detail::backend_variable(key);
    if (auto value = read_variable(*os_, variable)) return {*std::move(value), SettingOrigin::environment, variable};
  }
  if (found != values_.end()) return found->second;
  return {entry == nullptr ? "" : std::string(entry->default_value), SettingOrigin::fallback, "default"};
}

bool Settings::flag(std::string_view key) const {
  const Setting setting = get(key);
  std::string lower = setting.value;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* const yes : {"true", "yes", "on", "1"}) {
    if (lower == yes) return true;
  }
  for (const char* const no : {"false", "no", "off", "0"}) {
    if (lower == no) return false;
  }
  fail(fmt::format("{} is `{}` (from {}), neither true nor false; use true/false, yes/no, on/off or 1/0", key,
                   setting.value, setting.source));
}

std::uint64_t Settings::number(std::string_view key) const {
  const Setting setting = get(key);
  const char* const end = setting.value.data() + setting.value.size();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(setting.value.data(), end, value);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return value;
  fail(fmt::format("{} is `{}` (from {}), not an integer from 0 to 2^64-1; correct it", key, setting.value,
                   setting.source));
}

std::optional<std::string> Settings::backend(std::string_view backend, std::string_view key) const {
  Setting setting = get(fmt::format("{}{}.{}", backend_prefix, backend, key));
  if (setting.origin == SettingOrigin::fallback) return std::nullopt;
  return std::move(setting.value);
}

}  // namespace vectis::inline v0_1
