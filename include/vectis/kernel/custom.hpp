// Custom kernels: compiling, saving and launching them. docs/custom-kernels.md is the guide, and lists which devices
// compile kernels: OpenCL, CUDA and HIP; on WebGPU raw WGSL only; on the CPU none.
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

// A kernel as plain data, which can be stored and launched in this process or another. make_kernel fills one in; one
// filled in by hand needs an entry point and a source or a binary, else load and launch throw InvalidInput.
struct Kernel {
  std::string name;
  std::string source;  // in the backend's language; of a portable kernel, its body
  std::string entry_point;
  std::vector<std::byte> compiled_binary;  // empty: compiled from source at the first launch
  std::array<std::uint32_t, 3> work_group_size{64, 1, 1};
  std::string backend;                           // the backend of `compiled_binary`; empty: any
  std::shared_ptr<const KernelSource> portable;  // null: `source` is raw text, and arguments are not checked
};

// Work-items per dimension. A launch rounds them up to whole work-groups, so a kernel must compare its id with a count.
struct WorkItems {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
};

// One argument of a launch, with its category, so that it can be checked against the kernel's parameter. Keeps memory
// alive.
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
  // Shared (local) memory of `bytes` per work-group, for raw kernels with such a parameter.
  static KernelArgument shared(std::size_t bytes) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }  // clamped to int64
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }     // of device memory
  // The argument for Stream::launch.
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

// A kernel loaded on one context, to launch it often without a cache lookup. Immutable, thread-safe.
struct LoadedKernel {
  std::string name;
  EntryPoint entry_point;
  std::array<std::uint32_t, 3> work_group_size;
  std::shared_ptr<const KernelSource> portable;
};

// Compiles, loads and launches custom kernels through the runtime's KernelCache. Thread-safe; a launch is as
// thread-safe as its stream. Compiling throws
// - CompileFailed, "kernel 'x', line 3, column 7: ...", in lines of your text, with the compiler's output as detail(),
// - NoCompiler if the device does not compile this kind of kernel: any text on the CPU, portable ones on WebGPU,
// - InvalidInput, with line, column and rule, if a portable source is not in the subset of docs/kernels.md.
class VECTIS_API KernelManager {
 public:
  explicit KernelManager(Runtime& runtime = Runtime::get_default());
  ~KernelManager();
  KernelManager(const KernelManager&) = delete;
  KernelManager& operator=(const KernelManager&) = delete;

  // Compiles text in the backend's language (OpenCL C, CUDA C++, HIP C++, WGSL) and returns the binary; empty if the
  // backend provides none. `name` is the kernel function; throws InvalidInput if the text has none of that name.
  // `backend` is anything VECTIS_DEVICE takes.
  [[nodiscard]] std::vector<std::byte> compile_kernel(std::string_view name, std::string_view source,
                                                      std::string_view backend);
  [[nodiscard]] std::vector<std::byte> compile_kernel(const KernelSource& source, std::string_view backend);

  // The same, as a Kernel to launch or store.
  [[nodiscard]] Kernel make_kernel(std::string_view name, std::string_view source, std::string_view backend,
                                   std::array<std::uint32_t, 3> work_group_size = {64, 1, 1});
  // A portable kernel can be launched on every OpenCL, CUDA and HIP device; it is compiled for `backend` now.
  [[nodiscard]] Kernel make_kernel(const KernelSource& source, std::string_view backend);

  // Loads the binary or, if there is none or the driver rejects it, compiles the source. Throws InvalidInput if the
  // kernel has neither, or no entry point of its name; otherwise throws as compile_kernel.
  [[nodiscard]] LoadedKernel load(const DeviceContext& context, const Kernel& kernel);

  // Enqueues the kernel on the stream. Arguments are the buffers in order, then the scalars in order. For a portable
  // kernel throws InvalidInput, with the parameter's name and before anything is enqueued, if their number, category
  // (memory or value) or range is wrong, or memory is not a multiple of 4 bytes. With 0 work-items the arguments are
  // only checked.
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
