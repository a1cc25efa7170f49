#include "vectis/kernel/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "device/cores.hpp"
#include "device/launch.hpp"
#include "device/observer.hpp"
#include "kernel/ir/passes.hpp"
#include "kernel/launch/check.hpp"
#include "kernel/launch/compile.hpp"
#include "kernel/launch/prepared.hpp"
#include "kernel/launch/split.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/kernel/tuner.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::uint32_t group_items = 256;
constexpr std::uint32_t groups_max = 65535;  // in one dimension, on the most limited devices

// Elements of a table's memory.
std::uint64_t table_elements(const DeviceMemory& memory, DType element) { return memory.bytes() / 4 * lanes(element); }

[[noreturn]] void throw_invalid_map(const std::string& message) {
  throw Error(ErrorCode::invalid_input, "map", message);
}

// The bytes a buffer covers, and its name in messages.
struct BufferRange {
  std::string name;
  detail::ByteRange at;
  DType element;
};

std::uint64_t bytes_of(DType element, std::uint64_t count) { return (count + lanes(element) - 1) / lanes(element) * 4; }

void check_number(const ir::Function& function, std::string_view what, std::size_t given, std::size_t wanted) {
  if (given == wanted) return;
  throw_invalid_map(fmt::format("'{}' has {} {}, {} were given; give each one", function.name, wanted, what, given));
}

BufferRange checked(const std::string& name, const DeviceMemory& memory, DType element, std::uint64_t count) {
  const std::uint64_t bytes = bytes_of(element, count);
  if (memory.bytes() < bytes) {
    throw_invalid_map(fmt::format("{} has {} bytes, {} elements of {} need {} (whole 32-bit words); give more memory",
                                  name, memory.bytes(), count, short_name(element), bytes));
  }
  return {name, detail::byte_range(memory, 0, bytes), element};
}

BufferRange checked_table(const std::string& name, const DeviceMemory& memory, DType element) {
  const std::uint64_t elements = table_elements(memory, element);
  if (memory.bytes() % 4 != 0 || elements > UINT32_MAX) {
    throw_invalid_map(fmt::format("{} has {} bytes; a table is whole 32-bit words and at most {} elements", name,
                                  memory.bytes(), UINT32_MAX));
  }
  return {name, detail::byte_range(memory, 0, memory.bytes()), element};
}

void check_overlaps(const std::vector<BufferRange>& read, const std::vector<BufferRange>& tables,
                    const std::vector<BufferRange>& written) {
  const auto meets = [](const BufferRange& a, const BufferRange& b) { return detail::overlaps(a.at, b.at); };
  const auto fail = [](const BufferRange& out, const BufferRange& other) {
    throw_invalid_map(
        fmt::format("{} takes bytes {} to {} of a memory of which {} takes {} to {}; only a whole input of the same "
                    "element type may be an output",
                    out.name, out.at.begin, out.at.end, other.name, other.at.begin, other.at.end));
  };
  for (std::size_t o = 0; o < written.size(); ++o) {
    const BufferRange& out = written[o];
    for (const BufferRange& input : read) {
      const bool same = out.at.begin == input.at.begin && out.at.end == input.at.end && out.element == input.element;
      if (meets(out, input) && !same) fail(out, input);
    }
    for (const BufferRange& table : tables) {
      if (meets(out, table)) fail(out, table);
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (meets(out, written[other])) fail(out, written[other]);
    }
  }
}

// Throws InvalidInput unless there are as many buffers and arguments as the function has, all buffers are of the
// stream's context and hold `count` elements in whole 32-bit words, and no output overlaps another buffer, except that
// an output may be exactly an input of the same element type.
void check_map(const Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count) {
  if (count > UINT32_MAX)
    throw_invalid_map(fmt::format("{} elements were asked for, at most {}; map parts", count, UINT32_MAX));
  check_number(function, "inputs", buffers.inputs.size(), function.inputs.size());
  check_number(function, "tables", buffers.tables.size(), function.tables.size());
  check_number(function, "outputs", buffers.outputs.size(), function.outputs.size());
  check_number(function, "arguments", buffers.arguments.size(), function.arguments.size());
  for (const auto list : {buffers.inputs, buffers.tables, buffers.outputs}) {
    for (const DeviceMemory& memory : list)
      detail::check_same_context("map", *stream.context().core(), *memory.context().core());
  }
  std::vector<BufferRange> read;
  std::vector<BufferRange> tables;
  std::vector<BufferRange> written;
  read.reserve(buffers.inputs.size());
  tables.reserve(buffers.tables.size());
  written.reserve(buffers.outputs.size());
  for (std::size_t i = 0; i < buffers.inputs.size(); ++i)
    read.push_back(checked(fmt::format("input {}", i), buffers.inputs[i], function.inputs[i], count));
  for (std::size_t i = 0; i < buffers.tables.size(); ++i)
    tables.push_back(checked_table(fmt::format("table {}", i), buffers.tables[i], function.tables[i]));
  for (std::size_t i = 0; i < buffers.outputs.size(); ++i)
    written.push_back(checked(fmt::format("output {}", i), buffers.outputs[i], function.outputs[i].element, count));
  check_overlaps(read, tables, written);
}

std::vector<LaunchArgument> kernel_arguments(const detail::PreparedFunction& prepared, const MapBuffers& buffers,
                                             std::uint64_t count) {
  std::vector<LaunchArgument> arguments;
  for (const auto list : {buffers.inputs, buffers.tables, buffers.outputs})
    arguments.insert(arguments.end(), list.begin(), list.end());
  arguments.emplace_back(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < buffers.tables.size(); ++i) {
    arguments.emplace_back(static_cast<std::uint32_t>(table_elements(buffers.tables[i], prepared.lifted().tables[i])));
  }
  arguments.insert(arguments.end(), buffers.arguments.begin(), buffers.arguments.end());
  arguments.insert(arguments.end(), prepared.constants().begin(), prepared.constants().end());
  return arguments;
}

// Whether an output shares bytes with an input: running twice is then not as good as once. Slices of one allocation,
// such as buffers of a pool, need not share any.
bool changes_inputs(const MapBuffers& buffers) {
  const auto whole = [](const DeviceMemory& memory) { return detail::byte_range(memory, 0, memory.bytes()); };
  return std::ranges::any_of(buffers.outputs, [&](const DeviceMemory& output) {
    return std::ranges::any_of(buffers.inputs,
                               [&](auto& input) { return detail::overlaps(whole(input), whole(output)); });
  });
}

void launch_kernel(Stream& stream, detail::PreparedFunction& prepared, const MapBuffers& buffers, std::uint64_t count,
                   Dialect dialect) {
  const DeviceContext context = stream.context();
  const DeviceLimits& limits = context.core()->device->info.limits;
  const std::uint32_t default_group = std::min({group_items, limits.group_items_max, limits.group_size_max[0]});
  const std::vector<LaunchArgument> arguments = kernel_arguments(prepared, buffers, count);
  const std::uint32_t per_item = ir::elements_per_item(prepared.lifted());
  const auto launch = [&](std::uint32_t group) {
    const std::string& key = prepared.kernel_key();
    const auto text = [&] {
      return KernelText{std::string(name(dialect)), ir::print(prepared.lifted(), dialect, group),
                        ir::entry_point(prepared.lifted()), ""};
    };
    const EntryPoint kernel = kernel_cache(context).entry_point(
        context, group == default_group ? key : fmt::format("{}/{}", key, group), text);
    const std::uint64_t each = std::uint64_t{group} * per_item;
    const std::uint64_t groups = (count + each - 1) / each;
    const std::uint64_t rows = (groups + groups_max - 1) / groups_max;
    const std::uint64_t columns = (groups + rows - 1) / rows;
    stream.launch(kernel, {{static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows), 1}, {group, 1, 1}},
                  arguments);
  };
  const std::uint64_t items = changes_inputs(buffers) ? 0 : count / per_item;
  launch(tuned_group(stream, prepared.kernel_key(), items, default_group, launch));
}

// Each part counts its elements from its own first on.
void launch_parts(Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count,
                  Dialect dialect) {
  const detail::DeviceCore& device = *stream.core()->context->device;
  const bool shifted = ir::uses_index(function);
  const auto prepared =
      device.backend->runtime.service<detail::PreparedFunctions>().get(shifted ? ir::shift_index(function) : function);
  std::vector<std::uint32_t> arguments(buffers.arguments.begin(), buffers.arguments.end());
  if (shifted) arguments.push_back(0);
  detail::for_each_part(function, buffers, count, device,
                        [&](MapBuffers part, std::uint64_t first, std::uint64_t elements) {
                          if (shifted) arguments.back() = static_cast<std::uint32_t>(first);
                          part.arguments = arguments;
                          launch_kernel(stream, *prepared, part, elements, dialect);
                        });
}

// Read and written at least once.
std::uint64_t bytes_of(const ir::Function& function, std::uint64_t count) {
  const ir::Cost cost = ir::estimate_cost(function);
  return static_cast<std::uint64_t>((cost.bytes_read + cost.bytes_written) * static_cast<double>(count));
}

// Empty when the host cannot reach some of the memory.
std::optional<vm::HostBuffers> addresses(const ir::Function& function, const MapBuffers& buffers) {
  vm::HostBuffers host;
  host.arguments = buffers.arguments;
  bool reached = true;
  const auto address = [&](const DeviceMemory& memory) {
    std::byte* const at = memory.address();
    reached = reached && at != nullptr;
    return at;
  };
  for (const DeviceMemory& memory : buffers.inputs) host.inputs.push_back(address(memory));
  for (std::size_t i = 0; i < buffers.tables.size(); ++i)
    host.tables.push_back({address(buffers.tables[i]), table_elements(buffers.tables[i], function.tables[i])});
  for (const DeviceMemory& memory : buffers.outputs) host.outputs.push_back(address(memory));
  if (!reached) return std::nullopt;
  return host;
}

// On the host's threads, behind what the stream was given before.
void run_on_host(Stream& stream, detail::PreparedFunction& prepared, const vm::HostBuffers& host, std::uint64_t count) {
  stream.synchronize();
  prepared.compiled().run(stream.core()->context->device->backend->runtime.executor(), host, count);
}

void map_checked(Stream& stream, const ir::Function& function, detail::PreparedFunction& prepared,
                 const MapBuffers& buffers, std::uint64_t count) {
  const detail::DeviceCore& device = *stream.core()->context->device;
  if (const auto dialect = detail::printed_dialect(device.info, detail::KernelOrigin::generated)) {
    if (detail::bindable(buffers, device.info.limits)) return launch_kernel(stream, prepared, buffers, count, *dialect);
    return launch_parts(stream, function, buffers, count, *dialect);
  }
  const auto host = addresses(function, buffers);
  if (!host) {
    throw Error(ErrorCode::no_compiler, "map",
                fmt::format("{} compiles no dialect kernels are printed in, and the host cannot reach its memory; use "
                            "another device",
                            device.label()));
  }
  if (auto* observer = detail::observer_of(*stream.core())) [[unlikely]] {
    const detail::Work work{detail::WorkKind::launch, function.name, bytes_of(function, count)};
    detail::call_observed(*observer, *stream.core(), work, [&] {
      run_on_host(stream, prepared, *host, count);
      return true;
    });
    return;
  }
  run_on_host(stream, prepared, *host, count);
}

// While a profiler observes the stream.
[[gnu::noinline, gnu::cold]] void map_observed(detail::StreamObserver& observer, Stream& stream,
                                               const ir::Function& function, detail::PreparedFunction& prepared,
                                               const MapBuffers& buffers, std::uint64_t count) {
  const double operations = ir::estimate_cost(function).operations * static_cast<double>(count);
  const detail::ObservedRange range(
      observer, {function.name, bytes_of(function, count), operations, stream.core()->context->device->id});
  map_checked(stream, function, prepared, buffers, count);
}

}  // namespace

void map(Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count) {
  Runtime& runtime = stream.core()->context->device->backend->runtime;
  const auto prepared = runtime.service<detail::PreparedFunctions>().get(function);
  check_map(stream, function, buffers, count);
  if (count == 0) return;
  if (auto* observer = detail::observer_of(*stream.core())) [[unlikely]]
    return map_observed(*observer, stream, function, *prepared, buffers, count);
  map_checked(stream, function, *prepared, buffers, count);
}

}  // namespace vectis::inline v0_1
