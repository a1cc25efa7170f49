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

// A kernel as plain data, which can be stored and launched in this process or another. make_kernel() fills one in. A
// kernel filled in by hand needs an entry point and a source or a binary, else KernelManager::load() and launch()
// throw InvalidInput.
struct Kernel {
  std::string name;
  std::string source;  // in the backend's language; of a portable kernel, its body
  std::string entry_point;
  std::vector<std::byte> compiled_binary;  // empty: compiled from source at the first launch
  std::array<std::uint32_t, 3> work_group_size{64, 1, 1};
  std::string backend;                           // the backend of `compiled_binary`; empty: any
  std::shared_ptr<const KernelSource> portable;  // null: `source` is raw text, and arguments are not checked
};

// Number of work-items of a launch in each dimension; 0 in any dimension launches nothing. A launch rounds them up
// to whole work-groups, so a kernel must compare its id with a count.
struct WorkItems {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
};

// One argument of a launch, with its category, so that KernelManager::launch() can check it against the kernel's
// parameter and throw InvalidInput if they do not match. Keeps device memory alive.
class VECTIS_API KernelArgument {
 public:
  // Category of the argument: `real` is float, `wide_real` is double.
  enum class Kind : std::uint8_t { memory, shared, real, wide_real, integer, boolean };

  // Passes device memory as a buffer. For a portable kernel its size must be a multiple of 4 bytes, else launch()
  // throws InvalidInput.
  KernelArgument(const DeviceMemory& memory);  // NOLINT(google-explicit-constructor): argument lists read as calls
  // Passes the memory of a pool's buffer. Throws InvalidInput if the buffer is empty (released or moved from).
  KernelArgument(const ManagedBuffer& buffer);  // NOLINT(google-explicit-constructor)
  // Passes a float by value. For a portable kernel the parameter must be float32, else launch() throws InvalidInput.
  KernelArgument(float value) noexcept;  // NOLINT(google-explicit-constructor)
  // Passes a double by value, for raw kernels; launch() throws InvalidInput for any parameter of a portable kernel.
  KernelArgument(double value) noexcept;  // NOLINT(google-explicit-constructor)
  // Passes a bool by value, for raw kernels; launch() throws InvalidInput for any parameter of a portable kernel.
  KernelArgument(bool value) noexcept;  // NOLINT(google-explicit-constructor)
  // Passes an integer by value, for an int32 or uint32 parameter of a portable kernel; launch() throws InvalidInput
  // if the value is out of that type's range. A raw kernel gets sizeof(T) bytes.
  template <std::integral T>
  KernelArgument(T value) noexcept  // NOLINT(google-explicit-constructor)
      : lowered_(value), kind_(Kind::integer), integer_(clamped(value)) {}
  // Requests `bytes` of shared (local) memory per work-group, for a raw kernel with such a parameter. launch()
  // throws InvalidInput if the kernel is portable or the device has less shared memory.
  static KernelArgument shared(std::size_t bytes) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }  // clamped to int64
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }     // of device memory
  // Returns the argument in the form that Stream::launch() takes, without conversion to a parameter's type.
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

// A kernel loaded on one context by KernelManager::load(), to launch it often without a cache lookup. It can be
// launched only on streams of that context; others throw InvalidInput. Immutable, thread-safe.
struct LoadedKernel {
  std::string name;
  EntryPoint entry_point;
  std::array<std::uint32_t, 3> work_group_size;
  std::shared_ptr<const KernelSource> portable;
};

// Compiles, loads and launches custom kernels through the runtime's KernelCache. Compiling throws CompileFailed with
// line and column of your text and the compiler's output as detail(); NoCompiler for any text on the CPU and
// portable kernels on WebGPU; InvalidInput if a portable source is not in the subset of docs/kernels.md.
// Thread-safe; a launch is as thread-safe as its stream.
class VECTIS_API KernelManager {
 public:
  // Creates a manager for the devices of `runtime`, which must outlive it. Opens no device.
  explicit KernelManager(Runtime& runtime = Runtime::get_default());
  ~KernelManager();
  KernelManager(const KernelManager&) = delete;
  KernelManager& operator=(const KernelManager&) = delete;

  // Compiles text in the backend's language (OpenCL C, CUDA C++, HIP C++, WGSL) and returns the binary; empty if the
  // backend provides none. `backend` is a device as in VECTIS_DEVICE, such as "opencl". Throws CompileFailed with
  // the line, InvalidInput if the text has no kernel function `name`, NoCompiler on a device without a compiler (the
  // CPU), UnsupportedBackend or BackendCreation for an unknown or unusable backend.
  [[nodiscard]] std::vector<std::byte> compile_kernel(std::string_view name, std::string_view source,
                                                      std::string_view backend);
  // Compiles a portable kernel for the device `backend`, such as "opencl", and returns the binary; empty if the
  // backend provides none. Throws InvalidInput if the source is not in the subset of docs/kernels.md, CompileFailed
  // with the line, NoCompiler on the CPU and WebGPU, UnsupportedBackend or BackendCreation for an unknown or
  // unusable backend.
  [[nodiscard]] std::vector<std::byte> compile_kernel(const KernelSource& source, std::string_view backend);

  // Compiles text in the backend's language and returns a Kernel to launch or store; arguments of its launches are
  // not checked. Throws CompileFailed with the line, InvalidInput if the text has no kernel function `name`,
  // NoCompiler on a device without a compiler (the CPU), UnsupportedBackend or BackendCreation for an unknown or
  // unusable backend. `work_group_size` is checked at the launch.
  [[nodiscard]] Kernel make_kernel(std::string_view name, std::string_view source, std::string_view backend,
                                   std::array<std::uint32_t, 3> work_group_size = {64, 1, 1});
  // Compiles a portable kernel for `backend` and returns a Kernel that can be launched on every OpenCL, CUDA and HIP
  // device. Throws InvalidInput if the source is not in the subset of docs/kernels.md, CompileFailed with the line,
  // NoCompiler on the CPU and WebGPU, UnsupportedBackend or BackendCreation for an unknown or unusable backend.
  [[nodiscard]] Kernel make_kernel(const KernelSource& source, std::string_view backend);

  // Loads the kernel on the context: its binary or, if there is none for the backend or the driver rejects it, its
  // source, which is compiled. Throws InvalidInput if the kernel has neither, lacks the entry point, or is portable
  // and `work_group_size` differs from its source; CompileFailed with the line; NoCompiler if the device compiles no
  // such kernel.
  [[nodiscard]] LoadedKernel load(const DeviceContext& context, const Kernel& kernel);

  // Loads the kernel on the stream's context, cached after the first call, and enqueues it over `items`; with 0
  // work-items it only checks. Arguments are the buffers in order, then the scalars in order. Throws InvalidInput if
  // a work-group is empty or exceeds the device's limit, or an argument of a portable kernel has a wrong category,
  // range or size (multiples of 4 bytes) or is missing; CompileFailed and NoCompiler as load().
  void launch(Stream& stream, const Kernel& kernel, const WorkItems& items, std::span<const KernelArgument> arguments);
  // Loads the kernel on the stream's context, cached after the first call, and enqueues it over `items`. Arguments
  // are listed as {x, y, count}: buffers, then scalars. Throws InvalidInput if a work-group is empty or exceeds the
  // device's limit, or an argument of a portable kernel has a wrong category, range or size (multiples of 4 bytes)
  // or is missing; CompileFailed and NoCompiler as load().
  void launch(Stream& stream, const Kernel& kernel, const WorkItems& items,
              std::initializer_list<KernelArgument> arguments);
  // Enqueues a loaded kernel over `items`; with 0 work-items it only checks. The stream must belong to the context
  // on which it was loaded, else InvalidInput. Arguments are the buffers in order, then the scalars in order. Throws
  // InvalidInput if a work-group is empty or exceeds the device's limit, or an argument of a portable kernel has a
  // wrong category, range or size (multiples of 4 bytes) or is missing.
  void launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
              std::span<const KernelArgument> arguments);
  // Enqueues a loaded kernel over `items`. The stream must belong to the context on which it was loaded, else
  // InvalidInput. Arguments are listed as {x, y, count}: buffers, then scalars. Throws InvalidInput if a work-group
  // is empty or exceeds the device's limit, or an argument of a portable kernel has a wrong category, range or size
  // (multiples of 4 bytes) or is missing.
  void launch(Stream& stream, const LoadedKernel& kernel, const WorkItems& items,
              std::initializer_list<KernelArgument> arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
