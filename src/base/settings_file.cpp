#include "base/settings_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

class Flattener {
 public:
  explicit Flattener(const std::string& path) : path_(path) {}

  // The nodes of a file are a tree, but aliases may make it infinite.
  void add_map(const YAML::Node& map, const std::string& prefix, int depth) {
    constexpr int depth_max = 16;
    if (depth > depth_max) {
      fail(map, fmt::format("{} is nested more than {} deep; use fewer levels", prefix, depth_max));
    }
    for (const auto& entry : map) {
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
  std::vector<FileSetting> settings_;
};

YAML::Node load(const std::string& path, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid_input, "settings",
                fmt::format("{} line {} is not YAML: {}; correct the line", path, error.mark.line + 1, error.msg));
  }
}

}  // namespace

std::vector<FileSetting> parse_settings_file(const std::string& path, const std::string& text) {
  const YAML::Node root = load(path, text);
  Flattener flattener(path);
  if (root.IsNull()) return {};
  if (!root.IsMap()) flattener.fail(root, "not a map of settings; write `name: value` in each line");
  flattener.add_map(root, "", 0);
  return flattener.take();
}

}  // namespace vectis::inline v0_1
