// Kernels of the user: compiled, kept, launched. docs/custom-kernels.md is the guide.
//
//   KernelManager manager(runtime);
//   Kernel square = manager.make_kernel(
//       {.name = "square",
//        .buffers = {{"x", DType::float32, Access::read}, {"y", DType::float32, Access::write}},
//        .scalars = {{"count", DType::uint32}},
//        .body = "uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, LOAD_x(i) * LOAD_x(i)); }"},
//       "opencl");
//   manager.launch(stream, square, {count}, {x, y, count});
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/program.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/source.hpp"
#include "vectis/memory/buffer.hpp"

namespace vectis::inline v0_1 {

// A kernel as plain data, to be kept and launched again, in this process or another. `make_kernel` fills one in; one
// that is filled in by hand needs an entry point and a source or a binary.
struct Kernel {
  std::string name;
  std::string source;  // in the backend's own language; of a portable kernel, its body
  std::string entry_point;
  std::vector<std::byte> compiled_binary;  // empty: compiled from source when it is first launched
  std::array<std::uint32_t, 3> work_group_size{64, 1, 1};
  std::string backend;                           // whose binary it is; empty: of the device it is launched on
  std::shared_ptr<const KernelSource> portable;  // null: `source` is raw, and arguments cannot be checked
};

// How many work-items by dimension; rounded up to whole work-groups, so a kernel compares its id with a count.
struct WorkItems {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
};

// One argument of a launch. It remembers what it was, so that it can be compared with the kernel's parameter.
class VECTIS_API KernelArgument {
 public:
  enum class Kind : std::uint8_t { memory, shared, real, wide_real, integer, boolean };

  KernelArgument(const DeviceMemory& memory);   // NOLINT(google-explicit-constructor): argument lists read as calls
  KernelArgument(const ManagedBuffer& buffer);  // NOLINT(google-explicit-constructor)
  KernelArgument(float value) noexcept;         // NOLINT(google-explicit-constructor)
  KernelArgument(double value) noexcept;        // NOLINT(google-explicit-constructor)
  KernelArgument(bool value) noexcept;          // NOLINT(google-explicit-constructor)
  template <std::integral T>
  KernelArgument(T value) noexcept  // NOLINT(google-explicit-constructor)
      : lowered_(value), kind_(Kind::integer), integer_(clamped(value)) {}
  // Bytes shared by a work-group, for raw kernels that take such a parameter.
  static KernelArgument shared(std::size_t bytes) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }  // beyond int64: its greatest
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }     // of a memory
  // As the device takes it, unchanged.
  [[nodiscard]] const LaunchArgument& lowered() const noexcept { return lowered_; }

 private:
  KernelArgument(LaunchArgument lowered, Kind kind) noexcept : lowered_(std::move(lowered)), kind_(kind) {}
  template <std::integral T>
  static constexpr std::int64_t clamped(T value) noexcept {
    return std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value)
                                              : std::numeric_limits<std::int64_t>::max();
  }

  LaunchArgument lowered_;
  Kind kind_;
  std::int64_t integer_ = 0;
  std::uint64_t bytes_ = 0;
};

// A kernel made ready on one context, for whoever launches it often. Immutable, thread-safe.
struct LoadedKernel {
  std::string name;
  EntryPoint entry_point;
  std::array<std::uint32_t, 3> work_group_size;
  std::shared_ptr<const KernelSource> portable;
};

// Compiles through the Runtime's KernelCache. Thread-safe; launches are as thread-safe as their stream.
//
// CompileFailed says "kernel 'x', line 3, column 7: ..." in lines of the user's own text, with the compiler's whole
// output as detail; NoCompiler when the device compiles nothing at run time, as the CPU; what a portable source may not
// hold is InvalidInput with line, column and rule.
class VECTIS_API KernelManager {
 public:
  explicit KernelManager(Runtime& runtime = Runtime::get_default());
  ~KernelManager();
  KernelManager(const KernelManager&) = delete;
  KernelManager& operator=(const KernelManager&) = delete;

  // `source` is text in the language of the backend (OpenCL C, CUDA C++) with an entry point called `name`; `backend`
  // is whatever VECTIS_DEVICE takes. Returns the binary, empty when the backend gives none.
  [[nodiscard]] std::vector<std::byte> compile_kernel(std::string_view name, std::string_view source,
                                                      std::string_view backend);
  [[nodiscard]] std::vector<std::byte> compile_kernel(const KernelSource& source, std::string_view backend);

  // The same, as a kernel ready to be launched or kept.
  [[nodiscard]] Kernel make_kernel(std::string_view name, std::string_view source, std::string_view backend,
                                   std::array<std::uint32_t, 3> work_group_size = {64, 1, 1});
  // A portable kernel can be launched on every device that compiles; it is compiled now for `backend`.
  [[nodiscard]] Kernel make_kernel(const KernelSource& source, std::string_view backend);

  // The kept binary if the driver takes it, else the source. InvalidInput when there is neither.
  [[nodiscard]] LoadedKernel load(const DeviceContext& context, const Kernel& kernel);

  // Enqueues the kernel. Arguments are the buffers in order, then the scalars in order. Those of a portable kernel are
  // compared with its parameters first (how many, memory or value, an integer that fits, whole words of memory):
  // InvalidInput naming the parameter, and nothing is enqueued. No work-items: checked, and nothing else.
  void launch(Stream& stream, const Kernel& kernel, const WorkItems& items, std::span<const KernelArgument> arguments);
  void launch(Stream& stream, const Kernel& kernel, const WorkItems& items,
              std::initializer_list<KernelArgument> arguments);
  void launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
              std::span<const KernelArgument> arguments);
  void launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
              std::initializer_list<KernelArgument> arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
