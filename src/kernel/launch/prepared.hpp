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

// One function, verified. Immutable but for what is compiled at first use. Thread-safe.
class PreparedFunction {
 public:
  explicit PreparedFunction(const ir::Function& function);

  // The function for kernels: constants are trailing arguments with `constants` as their bits, as far as a launch has
  // room for them.
  [[nodiscard]] const ir::Function& lifted() const noexcept { return lifted_.function; }
  [[nodiscard]] const std::vector<std::uint32_t>& constants() const noexcept { return lifted_.values; }
  // Equal for functions whose kernels are equal.
  [[nodiscard]] const std::string& kernel_key() const noexcept { return kernel_key_; }
  // For the host.
  [[nodiscard]] const vm::CompiledFunction& compiled();

 private:
  ir::Function simplified_;
  ir::LiftedFunction lifted_;
  std::string kernel_key_;
  std::once_flag once_;
  std::unique_ptr<const vm::CompiledFunction> compiled_;
};

// A service of the Runtime. Thread-safe.
class PreparedFunctions {
 public:
  explicit PreparedFunctions(Runtime& /*runtime*/) {}
  // InvalidInput for a function that does not verify.
  std::shared_ptr<PreparedFunction> get(const ir::Function& function);

 private:
  static constexpr std::size_t kept_max = 4096;  // then all are forgotten; those in use live on
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<PreparedFunction>> functions_;
};

// The function's own bytes: equal exactly when the functions are.
std::string function_key(const ir::Function& function);

}  // namespace vectis::inline v0_1::detail
