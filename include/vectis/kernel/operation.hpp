// The named operations: what every device can do, however it does it. A backend may do one itself (run_op of the
// contract); otherwise the portable kernel runs.
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

// A rectangle of elements in device memory, row after row. Counted in elements, so that packed types need no bytes.
struct VECTIS_API View {
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns);  // tight, from the start
  View(DeviceMemory memory, DType type, std::uint64_t rows, std::uint64_t columns, std::uint64_t offset,
       std::uint64_t stride);

  DeviceMemory memory;
  DType type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t offset;  // of the first element
  std::uint64_t stride;  // from one row's first element to the next row's; at least `columns`

  [[nodiscard]] std::uint64_t elements() const noexcept { return rows * columns; }
  // One past the last element it touches, counted from the start of the memory; `offset` when it is empty.
  [[nodiscard]] std::uint64_t end() const noexcept;
};

// A parameter of a call: integer or real as the operation says.
struct Number {
  Number(double value) noexcept : real(value) {}  // NOLINT(google-explicit-constructor)
  Number(std::int64_t value) noexcept : integer(value), real(static_cast<double>(value)) {}  // NOLINT
  Number(int value) noexcept : Number(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  std::int64_t integer = 0;
  double real = 0;
};

struct Operation;

// One call of an operation, already checked.
struct OperationCall {
  const Operation* operation = nullptr;
  std::span<const View> views;
  std::span<const Number> numbers;
};

// One launch of the portable form. `buffers` are the places of the call's views, or of temporaries (views.size() + n).
struct PlannedLaunch {
  std::string key;                       // names the compiled kernel among all: the kernel's name and what varies in it
  std::function<KernelSource()> source;  // asked only when `key` was never compiled
  LaunchShape shape;
  std::vector<std::size_t> buffers;
  std::vector<LaunchArgument> scalars;
};

// The portable form of a call: launches in order, with temporaries in between.
struct LaunchPlan {
  std::vector<std::uint64_t> temporary_bytes;
  std::vector<PlannedLaunch> launches;
};

struct OperationCost {
  double operations = 0;  // arithmetic, a multiply-add counting as two
  double bytes = 0;       // read and written at least once
};

// A way to do a call in parts, one after the other: a part takes the same range of these operands, along rows or
// columns, and the others whole.
enum class CutAxis : std::uint8_t { rows, columns };
struct CutOperand {
  std::size_t operand = 0;
  CutAxis axis = CutAxis::rows;
};
struct Cut {
  std::vector<CutOperand> operands;
  std::optional<std::size_t> numbered{};  // the parameter that a part's beginning is added to
  std::optional<std::size_t> added_to{};  // the parameter that is 1 in all parts but the first
};

struct OperandRule {
  std::string name;
  Access access = Access::read;
  std::vector<DType> types;
};

struct ParameterRule {
  std::string name;
  bool integer = true;
  double least = 0;
  double most = 0;
  double standard = 0;  // when the caller gives fewer numbers
};

// What an operation is. src/kernel/operations/<name>.cpp defines one or a family; CONTRIBUTING.md says how to add one.
struct Operation {
  std::string name;     // "sum_rows"
  std::string summary;  // one sentence for the generated table
  std::vector<OperandRule> operands;
  std::vector<ParameterRule> parameters;
  // Which types go together; empty: any that the rules allow.
  std::function<bool(std::span<const DType>)> types_agree;
  // Throws InvalidInput when shapes or numbers do not fit together; types and ranges were checked before.
  std::function<void(const OperationCall&)> check;
  // What a call does that has an empty view and passed the check; empty: nothing. Said in other operations.
  std::function<void(Stream&, const OperationCall&)> when_empty;
  std::function<LaunchPlan(const OperationCall&, const DeviceInfo&)> plan;
  std::function<OperationCost(const OperationCall&)> cost;
  // Shapes of the operands (rows, columns), not empty, that together make `plan` use every kernel it has.
  std::vector<std::vector<std::array<std::uint64_t, 2>>> samples;
  // How a call can be done in parts, where a device cannot give a kernel its operands whole; empty: in none.
  std::function<std::vector<Cut>(const OperationCall&)> cuts{};
};

// All of them, by name in alphabetical order.
VECTIS_API std::span<const Operation> operations();
VECTIS_API const Operation* find_operation(std::string_view name) noexcept;

// Enqueues the operation. InvalidInput with the operation's name, the number and the limit when it does not fit; empty
// views do nothing but are checked. NoCompiler when the device neither does it itself nor compiles kernels.
VECTIS_API void run(Stream& stream, std::string_view operation, std::span<const View> views,
                    std::span<const Number> numbers = {});
VECTIS_API void run(Stream& stream, std::string_view operation, std::initializer_list<View> views,
                    std::initializer_list<Number> numbers = {});

// Every kernel of every operation, for all types they take, as planned for `device`. What proofs compile.
VECTIS_API std::vector<KernelSource> builtin_kernels(const DeviceInfo& device);
// The same for a device with groups of 256 work-items and 48 KiB shared by them.
VECTIS_API std::vector<KernelSource> builtin_kernels();
// The devices whose kernels are compiled when Vectis is built, by the language they are printed in; none for languages
// that are compiled at run time alone. A WebGPU device states the limits of one of its two, whatever it has beyond, so
// their kernels are all it is ever asked for. NVIDIA's devices have the limits of the one for CUDA.
VECTIS_API std::vector<DeviceInfo> prebuilt_devices(Dialect dialect);

}  // namespace vectis::inline v0_1
