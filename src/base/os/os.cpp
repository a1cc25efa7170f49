#include "vectis/base/os.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/os/paths.hpp"
#include "base/os/proc.hpp"
#include "base/os/process.hpp"
#include "vectis/base/error.hpp"

extern char** environ;

namespace vectis::inline v0_1 {

namespace {

// The file of the library or executable that holds this function. The dynamic loader knows the executable only by the
// name it was started with, so that path is read from the kernel.
std::filesystem::path own_module() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&real_os), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  const bool is_executable = map->l_name == nullptr || map->l_name[0] == '\0';
  return is_executable ? "/proc/self/exe" : info.dli_fname;
}

constexpr mode_t folder_mode = 0700;  // for this user alone
constexpr mode_t file_mode = 0600;

[[noreturn]] void throw_not_written(const std::string& path, int error) {
  throw Error(ErrorCode::io, "replace_file",
              fmt::format("{} cannot be written: {}; check the path, its permissions and the space left", path,
                          std::generic_category().message(error)));
}

// The parent folder of a path; empty when the path has none.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_not_of('/', path.find_last_of('/'));
  return path.find('/') == std::string::npos || slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// All bytes of the file; nothing when it is not open or cannot be read.
std::optional<std::string> read_all(const Descriptor& file) {
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

// Creates the folder and its parents. Another process may create the same folder at the same time.
void make_folders(const std::string& folder) {
  if (folder.empty() || mkdir(folder.c_str(), folder_mode) == 0 || errno == EEXIST) return;
  if (errno != ENOENT) throw_not_written(folder, errno);
  make_folders(folder_of(folder));
  if (mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) throw_not_written(folder, errno);
}

// Implements Os::replace_file: writes a temporary file beside the target and renames it.
void write_and_rename(const std::string& path, std::span<const std::byte> bytes) {
  TemporaryFile temporary = create_beside(path, file_mode);
  if (temporary.error == ENOENT) {
    make_folders(folder_of(path));
    temporary = create_beside(path, file_mode);
  }
  if (temporary.error != 0) throw_not_written(path, temporary.error);
  int error = write_all(temporary.descriptor, bytes);
  if (error == 0 && std::rename(temporary.path.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.path.c_str());
  throw_not_written(path, error);
}

std::atomic<std::uint64_t> forks{0};  // of this process and its ancestors since the first call of fork_generation

void count_fork() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

class RealOs final : public Os {
 public:
  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    const std::lock_guard lock(environment_mutex());
    const char* const value = secure_getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  [[nodiscard]] std::vector<std::string> environment_names() const override {
    std::vector<std::string> names;
    if (getauxval(AT_SECURE) != 0) return names;  // as in secure_getenv
    const std::lock_guard lock(environment_mutex());
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      names.emplace_back(text.substr(0, text.find('=')));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] std::optional<std::string> read_file(const std::string& path) const override {
    if (has_nul(path)) return std::nullopt;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return read_all(file);
  }

  [[nodiscard]] std::optional<std::string> read_own_file(const std::string& path) const override {
    if (has_nul(path)) return std::nullopt;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status = {};
    if (!file.is_open() || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (status.st_uid != geteuid() && status.st_uid != 0) return std::nullopt;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
    return read_all(file);
  }

  void replace_file(const std::string& path, std::span<const std::byte> bytes) override {
    check_path("replace_file", path);
    write_and_rename(path, bytes);
  }
  bool remove_file(const std::string& path) override { return !has_nul(path) && unlink(path.c_str()) == 0; }

  [[nodiscard]] std::vector<std::string> list_directory(const std::string& path) const override {
    std::vector<std::string> names;
    if (has_nul(path)) return names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] FileAccess access(const std::string& path) const override {
    if (has_nul(path)) return FileAccess::absent;
    if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return FileAccess::granted;
    return errno == ENOENT || errno == ENOTDIR ? FileAccess::absent : FileAccess::denied;
  }

  [[nodiscard]] bool is_character_device(const std::string& path) const override {
    std::error_code error;
    return !has_nul(path) && std::filesystem::is_character_file(path, error);
  }

  [[nodiscard]] ProcessResult run(const std::vector<std::string>& command, Duration limit) const override {
    return run_process(command, limit);
  }

  [[nodiscard]] OpenedLibrary open_library(const std::string& name) const override {
    if (name.empty()) return {nullptr, "no library was named"};  // dlopen("") would open the executable itself
    if (has_nul(name)) return {nullptr, "the library's name has a NUL byte"};
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return {handle, {}};
    const char* const reason = dlerror();
    return {nullptr, reason == nullptr ? "the dynamic loader gave no reason" : reason};
  }
  [[nodiscard]] void* symbol(void* library, const std::string& name) const override {
    return dlsym(library, name.c_str());
  }
  [[nodiscard]] std::string module_directory() const override {
    std::error_code error;
    return std::filesystem::canonical(own_module(), error).parent_path().string();
  }

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

std::recursive_mutex& environment_mutex() noexcept {
  static std::recursive_mutex mutex;
  return mutex;
}

Os& real_os() {
  static auto* const os = new RealOs();  // never destroyed: the default Runtime uses it until the process ends
  return *os;
}

std::uint64_t fork_generation() noexcept {
  // The first call registers the handler. A Runtime calls fork_generation when it is made, so before any fork it must
  // notice.
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace vectis::inline v0_1
