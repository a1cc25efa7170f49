#include "kernel/launch/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "device/call.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint64_t word_bytes = 4;
constexpr std::uint64_t column_step = 256;  // elements; parts of a row end at whole words and memory transactions

// The alignment in bytes at which a memory can be sliced without splitting an element.
std::uint64_t slice_alignment(const DeviceLimits& limits) { return std::lcm(limits.memory_alignment, word_bytes); }

bool bindable(std::span<const DeviceMemory> memories, const DeviceLimits& limits) noexcept {
  return std::ranges::all_of(memories,
                             [&](const DeviceMemory& memory) { return memory.bytes() <= limits.binding_bytes_max; });
}

// Splits a call until each of its operands can be bound.
class CallSplitter {
 public:
  CallSplitter(const DeviceCore& device, const std::function<void(const OperationCall&)>& one)
      : device_(device), limits_(device.info.limits), one_(one) {}

  void run(const OperationCall& call) const {
    for (std::size_t operand = 0; operand < call.views.size(); ++operand) {
      const View& view = call.views[operand];
      if (view.memory.bytes() > limits_.binding_bytes_max && window(view).bytes > limits_.binding_bytes_max) {
        return split(call, operand);
      }
    }
    std::vector<View> narrow;
    narrow.reserve(call.views.size());
    for (const View& view : call.views) narrow.push_back(narrowed(view));
    one_({call.operation, narrow, call.parameters});
  }

 private:
  struct Window {
    std::uint64_t begin;
    std::uint64_t bytes;
  };

  // The slice of its memory that contains the view.
  [[nodiscard]] Window window(const View& view) const {
    const std::uint64_t step = slice_alignment(limits_);
    const std::uint64_t begin = view.offset * size_of(view.type) / step * step;
    const std::uint64_t end = (view.end() * size_of(view.type) + word_bytes - 1) / word_bytes * word_bytes;
    return {begin, std::min(end, view.memory.bytes()) - begin};
  }

  [[nodiscard]] View narrowed(const View& view) const {
    if (view.memory.bytes() <= limits_.binding_bytes_max) return view;
    const auto [begin, bytes] = window(view);
    return {view.memory.slice(begin, bytes),          view.type,  view.rows, view.columns,
            view.offset - begin / size_of(view.type), view.stride};
  }

  // Whether splitting makes the view span less memory: by rows if there are several, by columns only in a single row.
  static bool shortens(const View& view, const SplitOperand& operand) {
    return operand.axis == SplitAxis::rows ? view.rows > 1 : view.rows == 1 && view.columns > 1;
  }

  void split(const OperationCall& call, std::size_t operand) const {
    if (call.operation->splits) {
      for (const CallSplit& way : call.operation->splits(call)) {
        for (const SplitOperand& each : way.operands) {
          if (each.operand == operand && shortens(call.views[operand], each)) {
            return run_parts(call, way, fitting(call.views[operand], each.axis),
                             extent(call.views[operand], each.axis));
          }
        }
      }
    }
    const std::string& name = call.operation->operands[operand].name;
    throw Error(
        ErrorCode::invalid_input, call.operation->name,
        fmt::format("'{}' spans {} bytes, {} gives a kernel at most {} of a memory, and the operation cannot "
                    "be split along '{}'; call it for parts of it, or use another device",
                    name, window(call.views[operand]).bytes, describe(device_), limits_.binding_bytes_max, name));
  }

  static std::uint64_t extent(const View& view, SplitAxis axis) {
    return axis == SplitAxis::rows ? view.rows : view.columns;
  }

  // How many rows or columns can be bound together, at any alignment; at least 1.
  [[nodiscard]] std::uint64_t fitting(const View& view, SplitAxis axis) const {
    const std::uint64_t alignment_loss = slice_alignment(limits_) + word_bytes;
    const std::uint64_t room =
        limits_.binding_bytes_max > alignment_loss ? limits_.binding_bytes_max - alignment_loss : 0;
    const std::uint64_t elements = room / size_of(view.type);
    if (axis == SplitAxis::rows) return elements < view.columns ? 1 : (elements - view.columns) / view.stride + 1;
    return std::max<std::uint64_t>(elements > column_step ? elements / column_step * column_step : elements, 1);
  }

  void run_parts(const OperationCall& call, const CallSplit& split, std::uint64_t step, std::uint64_t count) const {
    std::vector<ParameterValue> parameters(call.parameters.begin(), call.parameters.end());
    for (std::uint64_t first = 0; first < count; first += step) {
      std::vector<View> views(call.views.begin(), call.views.end());
      for (const SplitOperand& each : split.operands) {
        View& view = views[each.operand];
        const bool rows = each.axis == SplitAxis::rows;
        view.offset += rows ? first * view.stride : first;
        (rows ? view.rows : view.columns) = std::min(step, count - first);
      }
      if (split.offset_parameter) {
        parameters[*split.offset_parameter] =
            call.parameters[*split.offset_parameter].integer + static_cast<std::int64_t>(first);
      }
      if (split.accumulate_parameter && first > 0) parameters[*split.accumulate_parameter] = 1.0;
      run({call.operation, views, parameters});
    }
  }

  const DeviceCore& device_;
  const DeviceLimits& limits_;
  const std::function<void(const OperationCall&)>& one_;
};

// Bytes of `count` packed elements, in whole words.
std::uint64_t packed_bytes(DType element, std::uint64_t count) {
  return (count + lanes(element) - 1) / lanes(element) * word_bytes;
}

void check_tables(const ir::Function& function, const MapBuffers& buffers, const DeviceCore& device) {
  const std::uint64_t limit = device.info.limits.binding_bytes_max;
  for (std::size_t i = 0; i < buffers.tables.size(); ++i) {
    if (buffers.tables[i].bytes() <= limit) continue;
    throw Error(ErrorCode::invalid_input, "map",
                fmt::format("table {} of '{}' has {} bytes, {} gives a kernel at most {} of a memory; use a smaller "
                            "table, or another device",
                            i, function.name, buffers.tables[i].bytes(), describe(device), limit));
  }
}

// Elements per part, a multiple of the slice alignment: in elements, and so in bytes of every element size.
std::uint64_t fitting_elements(const ir::Function& function, const DeviceLimits& limits) {
  const auto widest = [](bool found, DType element) { return found || lanes(element) == 1; };
  bool words = std::accumulate(function.inputs.begin(), function.inputs.end(), false, widest);
  for (const ir::Output& output : function.outputs) words = widest(words, output.element);
  const std::uint64_t element_bytes = words ? word_bytes : word_bytes / 2;
  const std::uint64_t step = slice_alignment(limits);
  return std::max(limits.binding_bytes_max / element_bytes / step * step, step);
}

}  // namespace

bool bindable(const OperationCall& call, const DeviceLimits& limits) noexcept {
  return std::ranges::all_of(call.views,
                             [&](const View& view) { return view.memory.bytes() <= limits.binding_bytes_max; });
}

bool bindable(const MapBuffers& buffers, const DeviceLimits& limits) noexcept {
  return bindable(buffers.inputs, limits) && bindable(buffers.tables, limits) && bindable(buffers.outputs, limits);
}

void for_each_part(const OperationCall& call, const DeviceCore& device,
                   const std::function<void(const OperationCall&)>& one) {
  CallSplitter(device, one).run(call);
}

void for_each_part(const ir::Function& function, const MapBuffers& buffers, std::uint64_t count,
                   const DeviceCore& device,
                   const std::function<void(const MapBuffers&, std::uint64_t, std::uint64_t)>& one) {
  check_tables(function, buffers, device);
  const std::uint64_t step = fitting_elements(function, device.info.limits);
  std::vector<DeviceMemory> inputs;
  std::vector<DeviceMemory> outputs;
  for (std::uint64_t first = 0; first < count; first += step) {
    const std::uint64_t part = std::min(step, count - first);
    inputs.clear();
    outputs.clear();
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      inputs.push_back(
          buffers.inputs[i].slice(packed_bytes(function.inputs[i], first), packed_bytes(function.inputs[i], part)));
    }
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      const DType element = function.outputs[i].element;
      outputs.push_back(buffers.outputs[i].slice(packed_bytes(element, first), packed_bytes(element, part)));
    }
    one({inputs, buffers.tables, outputs, buffers.arguments}, first, part);
  }
}

}  // namespace vectis::inline v0_1::detail
