// Loading from a file, with the file's path in every error about its bytes.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1::detail {

// Throws `error` again, as an error of the call `op` with `path` in front, when it is about the bytes that were read:
// CorruptData or Unsupported. Does nothing for other codes. Precondition: the message does not name the path yet.
inline void rethrow_with_path(std::string_view op, const std::string& path, const Error& error) {
  if (error.code() != ErrorCode::corrupt_data && error.code() != ErrorCode::unsupported) return;
  std::string_view message = error.what();
  message.remove_prefix(error.op().size() + std::string_view("[] ").size());  // Error adds "[op] " again
  throw Error(error.code(), op, fmt::format("{}: {}", path, message), error.detail());
}

// Passes the bytes of a file on, and knows whether reading them failed: those errors name the path already. `file`
// must outlive it. One thread at a time.
class ObservedReader final : public ByteReader {
 public:
  explicit ObservedReader(FileReader& file) : file_(file) {}

  // Fills all of `target`. Throws what the file throws.
  void read(std::span<std::byte> target) override {
    failed_ = true;
    file_.read(target);
    failed_ = false;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  FileReader& file_;
  bool failed_ = false;
};

// Returns load(reader) for a reader of the file at `path`. Throws Io and InvalidInput as FileReader does, and what
// `load` throws; CorruptData and Unsupported name the path once.
template <class Load>
auto load_file(std::string_view op, const std::string& path, Load load) {
  FileReader file(path);
  ObservedReader reader(file);
  try {
    return load(reader);
  } catch (const Error& error) {
    if (!reader.failed()) rethrow_with_path(op, path, error);
    throw;
  }
}

}  // namespace vectis::inline v0_1::detail
