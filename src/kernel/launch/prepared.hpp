// Functions made ready to run, kept by what they compute.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/vm/compiled_function.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::detail {

// One verified IR function, ready to run as a kernel or on the CPU vector VM. Immutable, except that the VM program
// is compiled at first use. Thread-safe.
class PreparedFunction {
 public:
  // Verifies and simplifies the function, and lifts its constants. Throws InvalidInput if it does not verify.
  explicit PreparedFunction(const ir::Function& function);

  // Returns the function for kernels: its constants are trailing arguments, with constants() as their bits, unless a
  // launch would then have more than 32 scalars. Does not throw.
  [[nodiscard]] const ir::Function& lifted() const noexcept { return lifted_.function; }
  // Returns the bits of the trailing arguments that lifted() has in addition; empty if no constant was lifted. Does
  // not throw.
  [[nodiscard]] const std::vector<std::uint32_t>& constants() const noexcept { return lifted_.values; }
  // Returns the key of the kernel in KernelCache, equal for functions that differ only in lifted constants. Does not
  // throw.
  [[nodiscard]] const std::string& kernel_key() const noexcept { return kernel_key_; }
  // Returns the program for the CPU vector VM, compiled at the first call; other threads wait for it. Valid as long
  // as the PreparedFunction.
  [[nodiscard]] const vm::CompiledFunction& compiled();

 private:
  ir::Function simplified_;
  ir::LiftedFunction lifted_;
  std::string kernel_key_;
  std::once_flag once_;
  std::unique_ptr<const vm::CompiledFunction> compiled_;
};

// A service of the Runtime that caches prepared functions by function_key(). Thread-safe.
class PreparedFunctions {
 public:
  explicit PreparedFunctions(Runtime& /*runtime*/) {}
  // Returns the prepared function, cached if an equal function was prepared before. Throws InvalidInput if the
  // function does not verify; failures are not cached.
  std::shared_ptr<PreparedFunction> get(const ir::Function& function);

 private:
  static constexpr std::size_t kept_max = 4096;  // at this size the cache is emptied; functions in use stay valid
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<PreparedFunction>> functions_;
};

// Returns the function serialized as bytes, equal exactly if the functions are equal, names included. Does not
// verify the function.
std::string function_key(const ir::Function& function);

}  // namespace vectis::inline v0_1::detail
