// Generated kernels that compute arrays on a device other than the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/lane.hpp"
#include "array/node.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::array {

// A kernel that computes each element of new arrays from any elements of others. Shapes and strides are arguments, so
// that arrays of other sizes use the same compiled kernel. Used once, for one call.
//
//   DeviceKernel kernel("take");
//   const DeviceKernel::Array x = kernel.array(node);
//   kernel.store(kernel.load(x, position), node.type, node.storage);
//   kernel.run(lane, elements);
class DeviceKernel {
 public:
  // An operand, read at any index.
  struct Array {
    DType type = DType::float32;
    bool is_known = false;           // one element, that the host knows: an argument
    ir::Value argument;              // the known element
    std::uint32_t table = 0;         // in which the elements are
    std::vector<ir::Value> extents;  // of the axes, without the first; adjacent axes are merged where strides allow it
    std::vector<ir::Value> strides;  // of the axes
    ir::Value offset;
  };

  explicit DeviceKernel(std::string_view name) : code_(std::string(name)) {}

  // The function being built. Its arguments are made by number() only.
  [[nodiscard]] ir::Builder& code() noexcept { return code_; }
  // Returns a u32 argument. Throws Unsupported when it has more than 32 bits.
  ir::Value number(std::int64_t value);
  // Returns an argument of the type of an element.
  ir::Value element(DType type, const std::byte* value);
  // Returns the index of the computed element.
  ir::Value index() { return code_.index(); }

  // Adds an operand, a computed node of the kernel's lane.
  Array array(const Node& node);
  // Returns the element of an operand at a position in row-major order, a u32.
  ir::Value load(const Array& array, ir::Value position);
  // Returns the element of a computed node at the computed index; both have the same shape.
  ir::Value current(const Node& node);

  // Makes `value` the elements of `target`. Each computed array is stored once.
  void store(ir::Value value, DType type, std::shared_ptr<Storage> target);
  // Computes `count` elements of each stored array.
  void run(Lane& lane, std::int64_t count);

  // A position in row-major order around an axis.
  struct Position {
    ir::Value outer;  // of the axes before
    ir::Value along;  // of the axis
    ir::Value inner;  // of the axes behind
  };
  // Divides a position of an array whose axis has `extent` elements, before `inner` elements of the axes behind it.
  Position split(ir::Value position, ir::Value extent, ir::Value inner);
  // Returns the position of an array in row-major order.
  ir::Value join(const Position& at, ir::Value extent, ir::Value inner);

  // --- Arithmetic of u32 -------------------------------------------------------------------------------------------
  ir::Value add(ir::Value a, ir::Value b) { return code_.add(a, b); }
  ir::Value mul(ir::Value a, ir::Value b) { return code_.mul(a, b); }
  ir::Value div(ir::Value a, ir::Value b) { return code_.div(a, b); }
  ir::Value rem(ir::Value a, ir::Value b) { return code_.binary(ir::Op::rem, a, b); }

 private:
  ir::Builder code_;
  std::vector<DeviceMemory> inputs_;
  std::vector<DeviceMemory> tables_;
  std::vector<DeviceMemory> outputs_;
  std::vector<std::uint32_t> arguments_;
  std::vector<std::shared_ptr<Storage>> kept_;  // alive until the kernel is enqueued
};

// Elements in device memory in row-major order without gaps.
struct DeviceElements {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;  // of the first element, in elements
};

// Returns the elements of a computed node: its own memory, or a copy.
DeviceElements contiguous_on_device(const Node& node);
// Returns the elements of a computed node, converted to float32: its own memory, or a copy.
DeviceElements as_float32(const Node& node);
// Copies the elements of a computed node of any lane to `target`, in row-major order.
void read_elements(const Node& node, std::span<std::byte> target);
// Returns a copy of a computed node on the CPU.
std::shared_ptr<Node> copied_to_host(const Node& node);
// Computes a group of element-wise nodes as compute_map() does, in one kernel.
void compute_map_on_device(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs);
// Computes a node on the host, with copies of its inputs there and of its value back.
void compute_by_host(const Primitive& primitive, Node& node);
// Sets the storage of `node` to `from` converted to the type of the node; both have the same number of elements.
void store_converted(const std::shared_ptr<Storage>& from, DType type, Node& node);

}  // namespace vectis::inline v0_1::array
