#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/os/descriptor.hpp"
#include "base/os/library.hpp"
#include "base/os/proc.hpp"
#include "base/os/process.hpp"
#include "base/os/replace.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

namespace {

class RealOs final : public Os {
 public:
  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  [[nodiscard]] std::optional<std::string> read_file(const std::string& path) const override {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return std::nullopt;
    std::string text;
    std::array<char, 16384> block;
    for (;;) {
      const ssize_t got = read(file.number(), block.data(), block.size());
      if (got == 0) return text;
      if (got > 0) {
        text.append(block.data(), static_cast<std::size_t>(got));
      } else if (errno != EINTR) {
        return std::nullopt;
      }
    }
  }

  void replace_file(const std::string& path, std::span<const std::byte> bytes) override {
    vectis::replace_file(path, bytes);
  }
  bool remove_file(const std::string& path) override { return unlink(path.c_str()) == 0; }

  [[nodiscard]] std::vector<std::string> list_directory(const std::string& path) const override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] FileAccess access(const std::string& path) const override {
    if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return FileAccess::granted;
    return errno == ENOENT || errno == ENOTDIR ? FileAccess::absent : FileAccess::denied;
  }

  [[nodiscard]] ProcessResult run(const std::vector<std::string>& command, Duration limit) const override {
    return run_process(command, limit);
  }

  [[nodiscard]] OpenedLibrary open_library(const std::string& name) const override {
    return vectis::open_library(name);
  }
  [[nodiscard]] void* symbol(void* library, const std::string& name) const override {
    return library_symbol(library, name);
  }
  [[nodiscard]] std::string module_directory() const override { return own_module_directory(); }

  [[nodiscard]] std::uint64_t memory_total_bytes() const override {
    return meminfo_bytes(read_file("/proc/meminfo").value_or(""), "MemTotal");
  }
  [[nodiscard]] std::uint64_t memory_free_bytes() const override {
    return meminfo_bytes(read_file("/proc/meminfo").value_or(""), "MemAvailable");
  }

  [[nodiscard]] std::optional<double> cpu_utilization() override {
    const auto now = parse_cpu_times(read_file("/proc/stat").value_or(""));
    const std::lock_guard lock(mutex_);
    const auto before = std::exchange(cpu_times_, now);
    return before && now ? busy_share(*before, *now) : std::nullopt;
  }

  [[nodiscard]] std::int64_t unix_seconds() const override { return time(nullptr); }
  [[nodiscard]] bool stdout_is_terminal() const override { return isatty(STDOUT_FILENO) == 1; }

 private:
  std::mutex mutex_;
  std::optional<CpuTimes> cpu_times_;
};

}  // namespace

Os& real_os() {
  static auto* const os = new RealOs();  // never destroyed: the default Runtime uses it to the end
  return *os;
}

}  // namespace vectis::inline v0_1
