// Kernels compiled at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"

namespace vectis::inline v0_1 {

namespace detail {
struct KernelCore;
struct ProgramCore;
}  // namespace detail

// A compiled program: one or more kernels. A handle; copies share the program. Thread-safe.
class VECTIS_API Program {
 public:
  // Compiles `text`, written in one of DeviceInfo::dialects; with the dialect "binary", loads the result of binary().
  // `options` are passed to the compiler. Throws NoCompiler when the device compiles nothing at run time, Unsupported
  // for a dialect it does not take, InvalidInput for an empty text, CompileFailed with the compiler's output as
  // Error::detail().
  Program(const DeviceContext& context, std::string_view dialect, std::string_view text, std::string_view options = {});

  // The compiled binary, which a later process can load with the dialect "binary" on the same device and driver. Throws
  // Unsupported when the backend offers no binaries.
  [[nodiscard]] std::vector<std::byte> binary() const;

  // Warnings of the successful compilation; empty when there were none or the backend does not return them.
  [[nodiscard]] const std::string& compiler_output() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::ProgramCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ProgramCore> core_;
};

// One kernel of a program. Holds no arguments (each launch passes its own), so threads can share it. Thread-safe.
class VECTIS_API EntryPoint {
 public:
  // Throws InvalidInput when the program has no kernel of this name.
  EntryPoint(const Program& program, std::string_view entry_point);

  // The kernel's name.
  [[nodiscard]] const std::string& entry_point() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::KernelCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::KernelCore> core_;
};

}  // namespace vectis::inline v0_1
