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

// A matrix of elements in device memory, row-major. All counts are in elements. The constructors check nothing; run()
// throws InvalidInput for a view that does not fit into its memory. Keeps the memory alive.
struct VECTIS_API View {
  // Rows without gaps, from the start of the memory.
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns);
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns, std::uint64_t offset,
       std::uint64_t stride);

  DeviceMemory memory;
  DType type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t offset;  // of the first element
  std::uint64_t stride;  // from the first element of a row to that of the next row; at least `columns`

  [[nodiscard]] std::uint64_t elements() const noexcept { return rows * columns; }
  // Index in the memory of the element after the view's last one; `offset` if the view is empty.
  [[nodiscard]] std::uint64_t end() const noexcept;
};

// The value of a scalar parameter of an operation. run() throws InvalidInput if it is out of the parameter's range, or
// not an integer where the operation takes one.
struct ParameterValue {
  ParameterValue(double value) noexcept : real(value) {}  // NOLINT(google-explicit-constructor)
  ParameterValue(std::int64_t value) noexcept : integer(value), real(static_cast<double>(value)) {}  // NOLINT
  ParameterValue(int value) noexcept
      : ParameterValue(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  std::int64_t integer = 0;
  double real = 0;
};

struct Operation;

// A call of an operation that has passed all checks, as check, plan and cost of the operation see it.
struct OperationCall {
  const Operation* operation = nullptr;
  std::span<const View> views;
  std::span<const ParameterValue> parameters;
};

// One kernel launch of the portable form.
struct PlannedLaunch {
  std::string key;  // identifies the kernel text in the cache: the kernel's name and everything its text depends on
  std::function<KernelSource()> source;  // called only if no kernel is cached under `key`
  LaunchShape shape;
  std::vector<std::size_t> buffers;  // index of a view of the call, or views.size() + index of a temporary
  std::vector<LaunchArgument> scalars;
};

// The portable form of a call: kernel launches in order, and the temporary buffers they share.
struct LaunchPlan {
  std::vector<std::uint64_t> temporary_bytes;  // size of each temporary
  std::vector<PlannedLaunch> launches;
};

struct OperationCost {
  double operations = 0;  // arithmetic operations; a multiply-add counts as two
  double bytes = 0;       // read and written, each element once
};

// A way to split a call into smaller calls that run one after the other: each takes the same range of rows or columns
// of the named operands, and the other operands whole.
enum class SplitAxis : std::uint8_t { rows, columns };
struct SplitOperand {
  std::size_t operand = 0;
  SplitAxis axis = SplitAxis::rows;
};
struct CallSplit {
  std::vector<SplitOperand> operands;
  std::optional<std::size_t> offset_parameter{};      // index of the parameter to which the start of the range is added
  std::optional<std::size_t> accumulate_parameter{};  // index of the parameter that is 1 in all calls but the first
};

struct OperandRule {
  std::string name;
  Access access = Access::read;
  std::vector<DType> types;
};

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
  // Whether the operands' types can be combined; empty: all combinations of the operands' own types.
  std::function<bool(std::span<const DType>)> types_agree;
  // Throws InvalidInput if shapes or parameters do not fit together. Types and ranges were checked before. Depends on
  // types, shapes and parameters only: a repeated call is not checked again.
  std::function<void(const OperationCall&)> check;
  // Runs instead of the kernels if a view is empty; calls other operations. Empty: nothing to do.
  std::function<void(Stream&, const OperationCall&)> when_empty;
  // The kernels of a call for a device. Depends on types, shapes and parameters only: a stream reuses the plan. Throws
  // Unsupported if the device's limits are too small.
  std::function<LaunchPlan(const OperationCall&, const DeviceInfo&)> plan;
  std::function<OperationCost(const OperationCall&)> cost;
  // Non-empty operand shapes (rows, columns) for which `plan` uses, taken together, every kernel of the operation.
  std::vector<std::vector<std::array<std::uint64_t, 2>>> samples;
  // Ways to split a call whose operands are larger than the device can bind to a kernel; empty: none.
  std::function<std::vector<CallSplit>(const OperationCall&)> splits{};
};

// All operations in alphabetical order. Thread-safe.
VECTIS_API std::span<const Operation> operations();
// Null if there is no operation of that name. Thread-safe.
VECTIS_API const Operation* find_operation(std::string_view name) noexcept;

// Enqueues the operation on the stream and returns without waiting for it. Views are in the order of
// docs/operations.md; parameters left out have their defaults. Views of no elements are checked, and nothing is
// enqueued for them, except that a sum of no elements is 0. Throws
// - InvalidInput for an unknown name; a wrong number of views or parameters; types, shapes or parameters the operation
// does
//   not take; views outside their memory or of another context than the stream; and an output that overlaps another
//   view,
// - NoCompiler if the device neither runs the operation itself nor compiles kernels,
// - the stream's earlier failure, DeviceLost, Forked, or the backend's error.
// A call that repeats the operation, types, shapes and parameters of an earlier one on the same stream is neither
// planned nor compiled again and allocates nothing. One thread at a time, like the stream.
VECTIS_API void run(Stream& stream, std::string_view operation, std::span<const View> views,
                    std::span<const ParameterValue> parameters = {});
VECTIS_API void run(Stream& stream, std::string_view operation, std::initializer_list<View> views,
                    std::initializer_list<ParameterValue> parameters = {});

// Every kernel of every operation for all types, as planned for `device`. Used by tests and to prebuild kernels.
VECTIS_API std::vector<KernelSource> builtin_kernels(const DeviceInfo& device);
// The same for a device with work-groups of 256 work-items and 48 KiB of shared memory.
VECTIS_API std::vector<KernelSource> builtin_kernels();
// The limits for which kernels of this dialect are compiled when Vectis is built; empty for dialects that are compiled
// at run time only. A WebGPU device reports one of its two sets, even if it has more, so that every kernel it needs is
// prebuilt. NVIDIA devices have the limits of the one set for CUDA.
VECTIS_API std::vector<DeviceInfo> prebuilt_devices(Dialect dialect);

}  // namespace vectis::inline v0_1
