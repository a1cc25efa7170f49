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

// A program compiled for a context: one or more kernels, which EntryPoint selects. A handle; copies share the
// program. Construction throws CompileFailed when the compiler rejects the source. Thread-safe.
class VECTIS_API Program {
 public:
  // Compiles `text`, written in `dialect`, one of DeviceInfo::dialects; the dialect "binary" loads a result of
  // binary(). The compiler gets `options`. Throws NoCompiler when the device compiles nothing at run time,
  // Unsupported for another dialect, InvalidInput for an empty text, CompileFailed with the compiler's output in
  // Error::detail().
  Program(const DeviceContext& context, std::string_view dialect, std::string_view text, std::string_view options = {});

  // Returns the compiled binary, which a later process can load with the dialect "binary" on the same device and
  // driver. Throws Unsupported when the backend offers no binaries, DeviceLost when the context is lost.
  [[nodiscard]] std::vector<std::byte> binary() const;

  // Returns the warnings of the successful compilation; empty when there were none or the backend does not return
  // them. Valid as long as this Program or a copy lives. Does not throw.
  [[nodiscard]] const std::string& compiler_output() const noexcept;

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<detail::ProgramCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ProgramCore> core_;
};

// One kernel of a Program, which it keeps alive; Stream::launch runs it. Holds no arguments (each launch passes its
// own), so threads can share it. Thread-safe.
class VECTIS_API EntryPoint {
 public:
  // Finds the kernel named `entry_point` in `program`. Throws InvalidInput when the program has no kernel of this
  // name, DeviceLost when the context is lost.
  EntryPoint(const Program& program, std::string_view entry_point);

  // Returns the kernel's name; valid as long as this EntryPoint or a copy lives. Does not throw.
  [[nodiscard]] const std::string& entry_point() const noexcept;

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<detail::KernelCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::KernelCore> core_;
};

}  // namespace vectis::inline v0_1
