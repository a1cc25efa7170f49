// Compiled device code.
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

// Thread-safe.
class VECTIS_API Program {
 public:
  // `text` in one of the device's dialects, or a kept binary under "binary". NoCompiler when the device compiles
  // nothing at run time, Unsupported when it does not speak the dialect, CompileFailed with the compiler's output as
  // detail.
  Program(const DeviceContext& context, std::string_view dialect, std::string_view text, std::string_view options = {});

  // The compiled form, to be kept and given back under the dialect "binary". Unsupported when the backend keeps none.
  [[nodiscard]] std::vector<std::byte> binary() const;

  // What the compiler said although it succeeded: warnings. Empty when it said nothing or the backend does not tell.
  [[nodiscard]] const std::string& compiler_output() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::ProgramCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ProgramCore> core_;
};

// One entry point. Arguments travel with each launch, so a kernel is shared freely. Thread-safe.
class VECTIS_API EntryPoint {
 public:
  // InvalidInput when the program has no such entry point.
  EntryPoint(const Program& program, std::string_view entry_point);

  [[nodiscard]] const std::string& entry_point() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::KernelCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::KernelCore> core_;
};

}  // namespace vectis::inline v0_1
