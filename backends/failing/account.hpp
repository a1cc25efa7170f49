// A device memory of a stated size: what is allocated counts, and so does what other processes are said to hold.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "vectis/device/backend.h"

namespace failing {

// Thread-safe. Without a total everything is allowed.
class Account {
 public:
  void set_total(std::uint64_t bytes);
  void set_others(std::uint64_t bytes);

  [[nodiscard]] bool take(std::uint64_t bytes);
  void give(std::uint64_t bytes);
  // Slices are never remembered: forgetting one changes nothing.
  void remember(const VectisMemory* memory, std::uint64_t bytes);
  void forget(const VectisMemory* memory);

  // False when there is no total.
  bool state(std::uint64_t* total, std::uint64_t* free) const;

 private:
  [[nodiscard]] std::uint64_t free_now() const;

  mutable std::mutex mutex_;
  std::uint64_t total_ = 0;  // 0: not stated
  std::uint64_t others_ = 0;
  std::uint64_t used_ = 0;
  std::map<const VectisMemory*, std::uint64_t> sizes_;
};

Account& account();

}  // namespace failing
