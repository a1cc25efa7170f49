// An operating system made of tables, so that a test says what exists and what happens. Anything not scripted is
// absent.
//
//   FakeOs os;
//   os.variables["VECTIS_DEVICE"] = "cpu";
//   os.files["/etc/os-release"] = "ID=debian\n";
//   os.nodes["/dev/dri/renderD128"] = FileAccess::denied;
//   os.on_run = [](const std::vector<std::string>&) { return ProcessResult{ProcessResult::End::killed, 11, "", ""}; };
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"

namespace vectis::test {

// Script it before it is used; after that, thread-safe as every Os is.
class FakeOs final : public Os {
 public:
  struct Library {
    std::map<std::string, void*> symbols;
    std::string error;  // not empty: opening fails with these words
  };

  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  std::set<std::string> unreadable;  // these files and folders exist, but may not be opened
  std::set<std::string> foreign;     // these files were written by another user
  bool writable = true;              // whether files can be written at all
  std::map<std::string, std::vector<std::string>> directories;
  std::map<std::string, FileAccess> accesses;  // over what `files` and `directories` imply
  std::map<std::string, FileAccess> nodes;     // character devices; their folders list them
  std::map<std::string, Library> libraries;
  std::map<std::vector<std::string>, ProcessResult> runs;                // by whole command
  std::function<ProcessResult(const std::vector<std::string>&)> on_run;  // for commands not in `runs`
  std::string module = "/opt/vectis/lib";
  std::uint64_t total_bytes = 16ULL << 30;
  std::uint64_t free_bytes = 8ULL << 30;
  std::optional<double> utilization;
  std::int64_t now_seconds = 1'800'000'000;
  bool terminal = false;

  // Every command that was run, in order.
  [[nodiscard]] std::vector<std::vector<std::string>> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  // Every library that was asked for, in order.
  [[nodiscard]] std::vector<std::string> opened() const {
    const std::lock_guard lock(mutex_);
    return opened_;
  }

  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    return find(variables, name);
  }
  [[nodiscard]] std::vector<std::string> environment_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, value] : variables) names.push_back(name);
    return names;
  }
  [[nodiscard]] std::optional<std::string> read_file(const std::string& path) const override {
    if (unreadable.contains(path)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return find(files, path);
  }
  [[nodiscard]] std::optional<std::string> read_own_file(const std::string& path) const override {
    return foreign.contains(path) ? std::nullopt : read_file(path);
  }
  void replace_file(const std::string& path, std::span<const std::byte> bytes) override {
    if (unreadable.contains(path) || !writable) {
      throw Error(ErrorCode::io, "replace_file", path + " cannot be written: Permission denied");
    }
    const std::lock_guard lock(mutex_);
    files[path] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool remove_file(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    return files.erase(path) > 0;
  }
  [[nodiscard]] std::vector<std::string> list_directory(const std::string& path) const override {
    if (unreadable.contains(path)) return {};
    const std::vector<std::string> names = find(directories, path).value_or(std::vector<std::string>{});
    std::set<std::string> sorted(names.begin(), names.end());
    for (const auto& [node, access] : nodes) {
      if (!node.starts_with(path + "/")) continue;
      const std::string below = node.substr(path.size() + 1);
      sorted.insert(below.substr(0, below.find('/')));
    }
    return {sorted.begin(), sorted.end()};
  }
  [[nodiscard]] FileAccess access(const std::string& path) const override {
    if (const auto scripted = find(accesses, path)) return *scripted;
    if (const auto node = find(nodes, path)) return *node;
    if (unreadable.contains(path)) return FileAccess::denied;
    const std::lock_guard lock(mutex_);
    return files.contains(path) || directories.contains(path) ? FileAccess::granted : FileAccess::absent;
  }
  [[nodiscard]] bool is_character_device(const std::string& path) const override { return nodes.contains(path); }
  [[nodiscard]] ProcessResult run(const std::vector<std::string>& command, Duration) const override {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(command);
    }
    if (auto scripted = find(runs, command)) return *std::move(scripted);
    if (on_run) return on_run(command);
    return {ProcessResult::End::not_started, no_such_file, "", ""};
  }
  [[nodiscard]] OpenedLibrary open_library(const std::string& name) const override {
    {
      const std::lock_guard lock(mutex_);
      opened_.push_back(name);
    }
    const auto found = libraries.find(name);
    if (found == libraries.end())
      return {nullptr, name + ": cannot open shared object file: No such file or directory"};
    if (!found->second.error.empty()) return {nullptr, found->second.error};
    return {const_cast<Library*>(&found->second), ""};
  }
  [[nodiscard]] void* symbol(void* library, const std::string& name) const override {
    return find(static_cast<const Library*>(library)->symbols, name).value_or(nullptr);
  }
  [[nodiscard]] std::string module_directory() const override { return module; }
  [[nodiscard]] std::uint64_t memory_total_bytes() const override { return total_bytes; }
  [[nodiscard]] std::uint64_t memory_free_bytes() const override { return free_bytes; }
  [[nodiscard]] std::optional<double> cpu_utilization() override { return utilization; }
  [[nodiscard]] std::int64_t unix_seconds() const override { return now_seconds; }
  [[nodiscard]] bool stdout_is_terminal() const override { return terminal; }

 private:
  static constexpr int no_such_file = 2;  // ENOENT

  template <class Key, class Value>
  static std::optional<Value> find(const std::map<Key, Value>& table, const Key& key) {
    const auto found = table.find(key);
    if (found == table.end()) return std::nullopt;
    return found->second;
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::vector<std::string>> commands_;
  mutable std::vector<std::string> opened_;
};

}  // namespace vectis::test
