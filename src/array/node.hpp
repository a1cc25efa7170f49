// A node of the graph of recorded operations: what a Tensor refers to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <source_location>
#include <utility>
#include <vector>

#include "array/primitive.hpp"
#include "array/storage.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

class Lane;
struct Batch;
struct Node;

// A gradient that is being taken: while it is open, nodes that depend on its variables keep their inputs after they
// were computed. Gradients of a thread nest: a later one is closed before those that enclose it. Those of several
// threads end in any order: what depends on two of them has a tape that joins them. Thread-safe.
class Tape {
 public:
  // Opens a tape within `enclosing`, the one that the thread opened before; null: none.
  Tape(std::uint64_t serial_number, std::shared_ptr<const Tape> enclosing) noexcept
      : number(serial_number), enclosing_(std::move(enclosing)) {}
  // Joins two tapes: open as long as one of them is.
  Tape(std::shared_ptr<Tape> first, std::shared_ptr<Tape> second) noexcept
      : number(0), first_(std::move(first)), second_(std::move(second)) {}

  [[nodiscard]] bool is_open() const noexcept {
    return first_ ? first_->is_open() || second_->is_open() : is_open_.load();
  }
  // Returns whether this tape is open at least as long as `other`.
  [[nodiscard]] bool covers(const Tape& other) const noexcept;
  // Returns true, and remembers the node, when its inputs must be kept.
  bool keep(Node& node);
  // Lets the inputs of all nodes go that were kept, unless another open tape needs them. Not of joined tapes.
  void close() noexcept;

  // The tapes that were joined; null: this one is of one gradient.
  [[nodiscard]] const std::shared_ptr<Tape>& first() const noexcept { return first_; }
  [[nodiscard]] const std::shared_ptr<Tape>& second() const noexcept { return second_; }

  const std::uint64_t number;  // of a gradient: increases from tape to tape of the process

 private:
  const std::shared_ptr<const Tape> enclosing_;
  const std::shared_ptr<Tape> first_;
  const std::shared_ptr<Tape> second_;
  std::atomic<bool> is_open_ = true;
  std::mutex mutex_;  // guards kept_, and closing
  std::vector<std::weak_ptr<Node>> kept_;
};

// Returns a tape that is open as long as one of two, either of which may be null.
std::shared_ptr<Tape> joined(const std::shared_ptr<Tape>& a, const std::shared_ptr<Tape>& b);

// What a node needs to be computed, and for gradients.
struct Origin {
  std::vector<Tensor> inputs;
  std::shared_ptr<const Primitive> primitive;  // null: a value that the program gave
};

// A value, or how to compute it. Shape, type, lane, primitive and tape never change. Storage, offset, strides and
// inputs change only when the engine computes the node: from outside, they are read when is_computed is true.
struct Node : std::enable_shared_from_this<Node> {
  Node(Lane& on, DType element, Shape extents) : shape(std::move(extents)), type(element), lane(&on) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  Shape shape;
  DType type;
  Lane* lane;
  std::shared_ptr<const Primitive> primitive;  // null: a value that the program gave, or no longer needed
  std::vector<Tensor> inputs;                  // emptied once they are no longer needed
  std::shared_ptr<Tape> tape;                  // the outermost gradients that depend on this node; null: none
  std::uint64_t number = 0;                    // increases from node to node of an engine
  std::source_location where;

  // The value.
  std::atomic<bool> is_computed = false;
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;    // of the first element, in elements
  bool is_contiguous = true;  // row-major without gaps
  Shape strides;              // in elements, one for each axis; not set when is_contiguous

  std::atomic<std::uint32_t> pending = 0;  // at least the number of nodes to compute before this one, and itself

  // Of the engine.
  std::shared_ptr<Batch> batch;  // the evaluation that computes the node now
  std::uint64_t mark = 0;        // the last collection that visited the node
  std::uint32_t consumers = 0;   // edges from nodes of the batch
  std::uint32_t in_group = 0;    // those of them that come from the group being formed
  bool is_grouped = false;
  std::uint32_t slot = 0;  // position in its group

  // Takes what computed the node away from it, to be destroyed without a lock.
  [[nodiscard]] Origin take_origin() noexcept { return {std::move(inputs), std::move(primitive)}; }

  [[nodiscard]] std::size_t element_bytes() const noexcept { return size_of(type); }
  [[nodiscard]] std::int64_t elements() const noexcept { return shape.elements(); }
  // Returns the host address of the first element. Requires a computed node in host memory.
  [[nodiscard]] std::byte* host_data() const noexcept {
    return storage->host + offset * static_cast<std::int64_t>(element_bytes());
  }
  template <class T>
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(host_data());
  }
  // Returns the strides in elements, also of a contiguous node.
  [[nodiscard]] Shape all_strides() const;
  // Returns true when all elements are one element of the storage.
  [[nodiscard]] bool is_uniform() const noexcept;
};

// Gives `node` the value of `source`, which has the same elements: both share the storage.
void share_value(const Node& source, Node& node);

// Returns the strides of a row-major array without gaps.
Shape contiguous_strides(const Shape& shape);

// Returns a node that `primitive` computes from `inputs` on their lane, or on `target`: the recording step of every
// operation. Computes it at once when too many nodes are pending. Throws Unsupported when the lane's device lacks the
// type, and what computing the nodes throws.
Tensor record(std::shared_ptr<const Primitive> primitive, std::vector<Tensor> inputs, DType type, Shape shape,
              const std::source_location& where, Lane* target = nullptr);

// Wraps a primitive with static storage duration.
inline std::shared_ptr<const Primitive> unowned(const Primitive& primitive) {
  return {std::shared_ptr<const void>(), &primitive};
}

}  // namespace vectis::inline v0_1::array
