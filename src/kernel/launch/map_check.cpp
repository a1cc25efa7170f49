#include "kernel/launch/map_check.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "device/cores.hpp"
#include "device/launch.hpp"
#include "kernel/launch/extent.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, "map", message); }

// A buffer's place, and what errors call it.
struct BufferExtent {
  std::string name;
  Extent at;
  DType element;
};

std::uint64_t bytes_of(DType element, std::uint64_t count) { return (count + lanes(element) - 1) / lanes(element) * 4; }

void check_number(const ir::Function& function, std::string_view what, std::size_t given, std::size_t wanted) {
  if (given == wanted) return;
  refuse(fmt::format("'{}' has {} {}, {} were given; give each one", function.name, wanted, what, given));
}

BufferExtent checked(const std::string& name, const DeviceMemory& memory, DType element, std::uint64_t count) {
  const std::uint64_t bytes = bytes_of(element, count);
  if (memory.bytes() < bytes) {
    refuse(fmt::format("{} has {} bytes, {} elements of {} need {} (whole 32-bit words); give more memory", name,
                       memory.bytes(), count, short_name(element), bytes));
  }
  return {name, extent(memory, 0, bytes), element};
}

BufferExtent checked_table(const std::string& name, const DeviceMemory& memory, DType element) {
  const std::uint64_t elements = table_elements(memory, element);
  if (memory.bytes() % 4 != 0 || elements > UINT32_MAX) {
    refuse(fmt::format("{} has {} bytes; a table is whole 32-bit words and at most {} elements", name, memory.bytes(),
                       UINT32_MAX));
  }
  return {name, extent(memory, 0, memory.bytes()), element};
}

void check_overlaps(const std::vector<BufferExtent>& read, const std::vector<BufferExtent>& tables,
                    const std::vector<BufferExtent>& written) {
  const auto meets = [](const BufferExtent& a, const BufferExtent& b) { return meet(a.at, b.at); };
  const auto fail = [](const BufferExtent& out, const BufferExtent& other) {
    refuse(
        fmt::format("{} takes bytes {} to {} of a memory of which {} takes {} to {}; only a whole input of the same "
                    "element type may be an output",
                    out.name, out.at.begin, out.at.end, other.name, other.at.begin, other.at.end));
  };
  for (std::size_t o = 0; o < written.size(); ++o) {
    const BufferExtent& out = written[o];
    for (const BufferExtent& input : read) {
      const bool same = out.at.begin == input.at.begin && out.at.end == input.at.end && out.element == input.element;
      if (meets(out, input) && !same) fail(out, input);
    }
    for (const BufferExtent& table : tables) {
      if (meets(out, table)) fail(out, table);
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (meets(out, written[other])) fail(out, written[other]);
    }
  }
}

}  // namespace

std::uint64_t table_elements(const DeviceMemory& memory, DType element) { return memory.bytes() / 4 * lanes(element); }

void check_map(const Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count) {
  if (count > UINT32_MAX) refuse(fmt::format("{} elements were asked for, at most {}; map parts", count, UINT32_MAX));
  check_number(function, "inputs", buffers.inputs.size(), function.inputs.size());
  check_number(function, "tables", buffers.tables.size(), function.tables.size());
  check_number(function, "outputs", buffers.outputs.size(), function.outputs.size());
  check_number(function, "arguments", buffers.arguments.size(), function.arguments.size());
  for (const auto list : {buffers.inputs, buffers.tables, buffers.outputs}) {
    for (const DeviceMemory& memory : list)
      check_same_context("map", *stream.context().core(), *memory.context().core());
  }
  std::vector<BufferExtent> read;
  std::vector<BufferExtent> tables;
  std::vector<BufferExtent> written;
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

}  // namespace vectis::inline v0_1::detail
