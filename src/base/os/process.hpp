// File descriptors with an owner, and child processes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

// Owns a file descriptor and closes it in the destructor. Movable, not copyable. A negative number means that nothing
// is open. One thread at a time.
class Descriptor {
 public:
  // Takes ownership of `number`, the result of open() or -1: a negative number owns nothing. Does not throw.
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  // Returns the file descriptor, which this object still owns; negative when none is open. Does not throw.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  // Closes the file descriptor, ignoring errors; does nothing when none is open. Does not throw.
  void close() noexcept {
    if (is_open()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

// Writes all of `bytes` to `file`, which must be open for writing. Returns 0, or the errno of the write that failed;
// part of the bytes may then have been written. Does not throw.
int write_all(const Descriptor& file, std::span<const std::byte> bytes) noexcept;

// Runs command[0], found through PATH, with the other strings as arguments; waits until it ends, and kills it with
// its process group after `limit`. Returns End::not_started, with the errno, when the program cannot be started or
// `command` is empty. Output beyond 1 MiB is dropped.
ProcessResult run_process(const std::vector<std::string>& command, Duration limit);

}  // namespace vectis::inline v0_1
