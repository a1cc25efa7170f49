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

// Owns a file descriptor and closes it. Movable. One thread at a time.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  void close() noexcept {
    if (is_open()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

// Writes all bytes. Returns 0 or the errno of the write that failed.
int write_all(const Descriptor& file, std::span<const std::byte> bytes) noexcept;

// Implements Os::run.
ProcessResult run_process(const std::vector<std::string>& command, Duration limit);

}  // namespace vectis::inline v0_1
