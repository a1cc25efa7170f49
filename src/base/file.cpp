#include "vectis/base/file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/os/paths.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

[[noreturn]] void fail(const char* op, const char* verb, const std::string& path, int error) {
  const std::string reason = error == 0 ? "unknown reason" : std::generic_category().message(error);
  throw Error(
      ErrorCode::io, op,
      fmt::format("{} cannot be {}: {}; check the path, its permissions and the space left", path, verb, reason));
}

}  // namespace

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  check_path("open", path_);
  errno = 0;
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) fail("open", "opened for writing", path_, errno);
}

void FileWriter::write(std::span<const std::byte> bytes) {
  errno = 0;
  file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file_) fail("write", "written", path_, errno);
}

void FileWriter::flush() {
  errno = 0;
  file_.flush();
  if (!file_) fail("flush", "written", path_, errno);
}

void FileWriter::finish() {
  errno = 0;
  file_.close();
  if (!file_) fail("finish", "written", path_, errno);
}

FileReader::FileReader(std::string path) : path_(std::move(path)) {
  check_path("open", path_);
  errno = 0;
  file_.open(path_, std::ios::binary);
  if (!file_) fail("open", "opened for reading", path_, errno);
}

void FileReader::read(std::span<std::byte> target) {
  errno = 0;
  file_.read(reinterpret_cast<char*>(target.data()), static_cast<std::streamsize>(target.size()));
  if (file_.bad()) fail("read", "read", path_, errno);
  if (file_) return;
  const auto got = static_cast<std::size_t>(file_.gcount());
  throw Error(ErrorCode::corrupt_data, "read",
              fmt::format("{} ends {} bytes too early, {} of {} bytes were left; the file is truncated", path_,
                          target.size() - got, got, target.size()));
}

}  // namespace vectis::inline v0_1
