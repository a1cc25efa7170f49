// The named operations, which run on every device: by the backend's own implementation (`run_op` of the backend
// contract) or by the portable kernels. vectis/kernel/ops.hpp has a typed function for each.
//
//   run(stream, "sum_rows", {{x, DType::float16, rows, columns}, {out, DType::float32, rows, 1}});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1 {

// A matrix of elements in device memory, row-major: one operand of a named operation. All counts are in elements.
// The constructors check nothing; run() throws InvalidInput for a view that does not fit into its memory. Keeps the
// memory alive.
struct VECTIS_API View {
  // Views `rows` x `columns` elements without gaps from the start of the memory. Checks nothing; run() throws
  // InvalidInput if the memory is smaller than the view.
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns);
  // Views `rows` x `columns` elements from element `offset` of the memory; a row begins `stride` elements after the
  // row before. Checks nothing; run() throws InvalidInput if the view exceeds its memory or `stride` is less than
  // `columns`.
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns, std::uint64_t offset,
       std::uint64_t stride);

  DeviceMemory memory;
  DType type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t offset;  // of the first element
  std::uint64_t stride;  // from the first element of a row to that of the next row; at least `columns`

  [[nodiscard]] std::uint64_t elements() const noexcept { return rows * columns; }
  // Returns the index in the memory of the element after the view's last one; `offset` if the view has no elements.
  // Does not check for overflow.
  [[nodiscard]] std::uint64_t end() const noexcept;
};

// The value of a scalar parameter of an operation. run() throws InvalidInput if the value is out of the parameter's
// range, or not an integer where the operation takes one.
struct ParameterValue {
  // NOLINTBEGIN(google-explicit-constructor): a call lists its parameters as plain numbers.
  ParameterValue(double value) noexcept : real(value) {}
  ParameterValue(std::int64_t value) noexcept : integer(value), real(static_cast<double>(value)) {}
  ParameterValue(int value) noexcept : ParameterValue(static_cast<std::int64_t>(value)) {}
  // NOLINTEND(google-explicit-constructor)
  std::int64_t integer = 0;
  double real = 0;
};

struct Operation;

// A call of a named operation: its views and its parameters with defaults filled in. run() has checked number, types
// and memory before it passes the call to Operation::check; plan and cost require a call that also passed check.
struct OperationCall {
  const Operation* operation = nullptr;
  std::span<const View> views;
  std::span<const ParameterValue> parameters;
};

// One kernel launch of a LaunchPlan: the kernel, the grid and the arguments.
struct PlannedLaunch {
  std::string key;  // identifies the kernel text in the cache: the kernel's name and everything its text depends on
  std::function<KernelSource()> source;  // called only if no kernel is cached under `key`
  LaunchShape shape;
  std::vector<std::size_t> buffers;  // index of a view of the call, or views.size() + index of a temporary
  std::vector<LaunchArgument> scalars;
};

// The kernel launches, in order, by which an operation runs on a device that does not implement it natively, and the
// temporary buffers that the launches share.
struct LaunchPlan {
  std::vector<std::uint64_t> temporary_bytes;  // size of each temporary
  std::vector<PlannedLaunch> launches;
};

// Work of one call of an operation, as Operation::cost estimates it.
struct OperationCost {
  double operations = 0;  // arithmetic operations; a multiply-add counts as two
  double bytes = 0;       // read and written, each element once
};

// The axis along which an operand of a CallSplit is divided.
enum class SplitAxis : std::uint8_t { rows, columns };
// An operand that a CallSplit divides: the index of the view in the call, and the axis.
struct SplitOperand {
  std::size_t operand = 0;
  SplitAxis axis = SplitAxis::rows;
};
// A way to split a call into smaller calls that run one after the other. Each smaller call takes the same range of
// rows or columns of `operands` and the other operands whole, so all of `operands` must have the same extent along
// their axes.
struct CallSplit {
  std::vector<SplitOperand> operands;
  std::optional<std::size_t> offset_parameter{};      // index of the parameter to which the start of the range is added
  std::optional<std::size_t> accumulate_parameter{};  // index of the parameter that is 1 in all calls but the first
};

// An operand that an operation takes. run() throws InvalidInput for a view whose type is not in `types`.
struct OperandRule {
  std::string name;
  Access access = Access::read;
  std::vector<DType> types;
};

// A scalar parameter that an operation takes. run() throws InvalidInput for a value outside [min, max], and for a
// fraction if `integer` is set.
struct ParameterRule {
  std::string name;
  bool integer = true;
  double min = 0;
  double max = 0;
  double default_value = 0;  // of a parameter the caller leaves out
};

// The definition of an operation. src/kernel/operations/<name>.cpp defines one or a family; see "Adding an operation"
// in CONTRIBUTING.md. Immutable once defined.
struct Operation {
  std::string name;     // "sum_rows"
  std::string summary;  // for docs/operations.md
  std::vector<OperandRule> operands;
  std::vector<ParameterRule> parameters;
  // Returns whether the operands' types, each one allowed by its OperandRule, can be combined; run() throws
  // InvalidInput if not. Empty: all combinations are allowed.
  std::function<bool(std::span<const DType>)> types_agree;
  // Throws InvalidInput if shapes or parameters do not fit together. Called after types and ranges were checked. Must
  // depend on types, shapes and parameters only, since a repeated call is not checked again.
  std::function<void(const OperationCall&)> check;
  // Runs instead of the kernels if a view has no elements, and enqueues other operations, such as a fill with zeros.
  // Throws what they throw. An empty function: nothing is enqueued.
  std::function<void(Stream&, const OperationCall&)> when_empty;
  // Returns the kernel launches of a checked call, without empty views, for a device. Must depend on types, shapes
  // and parameters only, since a stream reuses the plan. Throws Unsupported if the device's limits are too small.
  std::function<LaunchPlan(const OperationCall&, const DeviceInfo&)> plan;
  // Returns the estimated work of a checked call.
  std::function<OperationCost(const OperationCall&)> cost;
  // Shapes (rows, columns) of the operands, none empty, for which `plan` uses, taken together, every kernel of the
  // operation.
  std::vector<std::vector<std::array<std::uint64_t, 2>>> samples;
  // Returns ways to split a call whose operands are larger than the device can bind to a kernel. If none shortens the
  // operand, or the function is empty, run() throws InvalidInput for the call.
  std::function<std::vector<CallSplit>(const OperationCall&)> splits{};
};

// Returns the definitions of all operations in alphabetical order, valid until the process ends. Thread-safe.
VECTIS_API std::span<const Operation> operations();
// Returns the operation of that name, valid until the process ends; null if there is none. Thread-safe, does not
// throw.
VECTIS_API const Operation* find_operation(std::string_view name) noexcept;

// Enqueues the named operation on the stream without waiting for it, except that the CPU computes it in the call; the
// first call may compile kernels. Views are in the order of docs/operations.md, parameters left out have defaults. One
// thread at a time per stream. Throws InvalidInput for an unknown name, types, shapes or parameters it does not take,
// views outside their memory or of another context, or overlapping outputs; NoCompiler or Unsupported if the device
// cannot run it; the stream's earlier error.
VECTIS_API void run(Stream& stream, std::string_view operation, std::span<const View> views,
                    std::span<const ParameterValue> parameters = {});
// Enqueues the named operation as the other run() does, with views and parameters as braced lists:
// run(stream, "sum", {x, out}). Throws InvalidInput for an unknown name or views and parameters that the operation does
// not take; NoCompiler or Unsupported if the device cannot run it; the stream's earlier error.
VECTIS_API void run(Stream& stream, std::string_view operation, std::initializer_list<View> views,
                    std::initializer_list<ParameterValue> parameters = {});

// Returns every kernel of every operation for all types, as planned for the limits of `device`, for tests and to
// prebuild kernels. Kernels that exceed the limits are left out. Plans them on the CPU backend, whatever `device` is;
// throws BackendCreation when the CPU backend cannot be opened.
VECTIS_API std::vector<KernelSource> builtin_kernels(const DeviceInfo& device);
// Returns every kernel of every operation for all types, as planned for a device with work-groups of 256 work-items
// and 48 KiB of shared memory. Throws BackendCreation when the CPU backend, on which it plans them, cannot be opened.
VECTIS_API std::vector<KernelSource> builtin_kernels();
// Returns the limits and capabilities for which kernels of this dialect are compiled when Vectis is built: two sets of
// limits for glsl_webgpu; for cuda one, without and with int8 matrix units; none for dialects compiled only at run
// time. A WebGPU device reports one of its two sets, even if it has more, so that every kernel it needs is prebuilt.
VECTIS_API std::vector<DeviceInfo> prebuilt_devices(Dialect dialect);

}  // namespace vectis::inline v0_1
