#include "array/element_map.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "array/dry_run.hpp"
#include "array/element_kernels.hpp"
#include "array/engine.hpp"
#include "array/map_program.hpp"
#include "array/strided.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Elements that are computed together when an input must be gathered first.
constexpr std::int64_t gathered_block = 4096;

// A group whose nodes are numbered: inputs in the order in which they occur, then members.
class Group {
 public:
  Group(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) : members_(members) {
    for (std::uint32_t i = 0; i < members.size(); ++i) members[i]->slot = i;
    for (Node* const member : members) {
      for (const Tensor& input : member->inputs) add_input(input.node().get());
    }
    for (const std::shared_ptr<Node>& output : outputs) output_slots_.push_back(output->slot);
  }

  [[nodiscard]] std::span<const Node* const> inputs() const { return inputs_; }

  [[nodiscard]] ElementMaps::Key key() const {
    ElementMaps::Key key;
    key.reserve(3 + inputs_.size() + members_.size() * 5 + output_slots_.size());
    key.push_back(static_cast<std::uint32_t>(inputs_.size()));
    for (const Node* const input : inputs_) {
      key.push_back(static_cast<std::uint32_t>(input->type) * 2 + std::uint32_t{input->is_uniform()});
    }
    for (const Node* const member : members_) {
      key.push_back(static_cast<std::uint32_t>(member->primitive->element_function()->op) << 8U |
                    static_cast<std::uint32_t>(member->type));
      for (const Tensor& input : member->inputs) key.push_back(number_of(input.node().get()));
    }
    key.insert(key.end(), output_slots_.begin(), output_slots_.end());
    return key;
  }

  [[nodiscard]] MapStructure structure() const {
    MapStructure structure;
    for (const Node* const input : inputs_) structure.inputs.push_back({input->type, input->is_uniform()});
    for (const Node* const member : members_) {
      MapStructure::Instruction instruction{member->primitive->element_function(), member->type, {}};
      for (std::size_t i = 0; i < member->inputs.size(); ++i) {
        instruction.operands[i] = number_of(member->inputs[i].node().get());
      }
      structure.instructions.push_back(instruction);
    }
    structure.outputs = output_slots_;
    return structure;
  }

 private:
  [[nodiscard]] bool is_member(const Node* node) const {
    return node->slot < members_.size() && members_[node->slot] == node;
  }
  void add_input(const Node* node) {
    if (!is_member(node) && std::ranges::find(inputs_, node) == inputs_.end()) inputs_.push_back(node);
  }
  [[nodiscard]] std::uint32_t number_of(const Node* node) const {
    const std::size_t position = is_member(node)
                                     ? inputs_.size() + node->slot
                                     : static_cast<std::size_t>(std::ranges::find(inputs_, node) - inputs_.begin());
    return static_cast<std::uint32_t>(position);
  }

  std::span<Node* const> members_;
  std::vector<const Node*> inputs_;
  std::vector<std::uint32_t> output_slots_;
};

// An input of a group as the program reads it: in place, gathered block by block, or copied when blocks would touch the
// same cache lines again and again.
class MapInput {
 public:
  explicit MapInput(const Node& node) : data_(node.host_data()), bytes_(node.is_uniform() ? 0 : node.element_bytes()) {
    if (node.is_contiguous || node.is_uniform()) return;
    StridedReader reader(node);
    if (reader.is_transposed() && node.elements() > gathered_block) {
      data_ = contiguous_data(node, copy_);
    } else {
      reader_ = std::move(reader);
    }
  }

  [[nodiscard]] bool is_gathered() const { return reader_.has_value(); }
  [[nodiscard]] bool is_uniform() const { return bytes_ == 0; }
  // The address of element `first`, from which `count` elements follow. `scratch` has room for a block.
  const std::byte* at(std::int64_t first, std::vector<std::byte>& scratch, std::int64_t count) const {
    if (!reader_) return data_ + first * static_cast<std::int64_t>(bytes_);
    scratch.resize(static_cast<std::size_t>(gathered_block) * bytes_);
    reader_->read(first, count, scratch.data());
    return scratch.data();
  }

 private:
  const std::byte* data_;
  std::size_t bytes_;  // from one element to the next; 0 when one element is all
  std::optional<StridedReader> reader_;
  std::shared_ptr<Storage> copy_;
};

// The inputs of a node whose last axis is adjacent in memory in each of them, or is one element: rows are then read in
// place. Immutable.
class Rows {
 public:
  static constexpr std::int64_t row_min = 16;  // elements: shorter rows are gathered faster

  static bool fit(const Node& node) {
    const std::size_t last = node.shape.rank() - 1;
    return node.shape.rank() >= 2 && node.shape[last] >= row_min &&
           std::ranges::all_of(node.inputs, [&](const Tensor& input) {
             const std::int64_t stride = input.node()->all_strides()[last];
             return stride == 0 || stride == 1;
           });
  }

  explicit Rows(const Node& node) : shape_(node.shape) {
    for (const Tensor& input : node.inputs) {
      strides_.push_back(input.node()->all_strides());
      operands_.push_back({input.node()->host_data(), strides_.back()[shape_.rank() - 1] == 0});
      bytes_.push_back(static_cast<std::int64_t>(input.node()->element_bytes()));
    }
  }

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(shape_.elements() / extent()); }
  [[nodiscard]] std::int64_t extent() const { return shape_[shape_.rank() - 1]; }
  // Calls `body(row, operands)` for a range of rows.
  template <class Body>
  void for_each(std::size_t begin, std::size_t end, const Body& body) const {
    std::vector<KernelOperand> operands = operands_;
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        auto rest = static_cast<std::int64_t>(row);
        std::int64_t offset = 0;
        for (std::size_t axis = shape_.rank() - 1; axis-- > 0;) {
          offset += rest % shape_[axis] * strides_[i][axis];
          rest /= shape_[axis];
        }
        operands[i].data = operands_[i].data + offset * bytes_[i];
      }
      body(row, operands.data());
    }
  }

 private:
  Shape shape_;
  std::vector<Shape> strides_;
  std::vector<KernelOperand> operands_;
  std::vector<std::int64_t> bytes_;  // of an element
};

bool is_read_in_place(const Tensor& input) { return input.node()->is_contiguous || input.node()->is_uniform(); }

// Computes one function by its loop, row by row.
void run_kernel_of_rows(ElementKernel kernel, Node& node) {
  constexpr std::int64_t grain = 1 << 15;  // elements
  const Rows rows(node);
  const auto extent = static_cast<std::size_t>(rows.extent());
  const std::size_t bytes = extent * node.element_bytes();
  node.lane->executor().parallel_for(rows.count(), grain / extent + 1, [&](std::size_t begin, std::size_t end) {
    rows.for_each(begin, end, [&](std::size_t row, const KernelOperand* operands) {
      if (std::all_of(operands, operands + node.inputs.size(), [](const auto& one) { return one.is_uniform; })) {
        // One value for the row, which the loop would not repeat.
        kernel(operands, node.host_data() + row * bytes, 1);
        for (std::size_t i = 1; i < extent; ++i) {
          std::memcpy(node.host_data() + row * bytes + i * node.element_bytes(), node.host_data() + row * bytes,
                      node.element_bytes());
        }
      } else {
        kernel(operands, node.host_data() + row * bytes, extent);
      }
    });
  });
}

// Computes one function by its loop. The kernel IR and its programs are for what is fused.
void run_kernel(ElementKernel kernel, Node& node) {
  if (!std::ranges::all_of(node.inputs, is_read_in_place) && Rows::fit(node)) return run_kernel_of_rows(kernel, node);
  constexpr std::size_t operands_max = 3;
  constexpr std::int64_t grain = 1 << 15;  // elements
  std::array<std::optional<MapInput>, operands_max> inputs;
  bool is_gathered = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    inputs[i].emplace(*node.inputs[i].node());
    is_gathered |= inputs[i]->is_gathered();
  }
  const auto run_range = [&](std::size_t begin, std::size_t end) {
    const std::size_t block = is_gathered ? static_cast<std::size_t>(gathered_block) : end - begin;
    std::array<std::vector<std::byte>, operands_max> scratch;
    for (std::size_t first = begin; first < end; first += block) {
      const std::size_t count = std::min(block, end - first);
      std::array<KernelOperand, operands_max> operands;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        operands[i] = {inputs[i]->at(static_cast<std::int64_t>(first), scratch[i], static_cast<std::int64_t>(count)),
                       inputs[i]->is_uniform()};
      }
      kernel(operands.data(), node.host_data() + first * node.element_bytes(), count);
    }
  };
  const auto elements = static_cast<std::size_t>(node.elements());
  if (elements <= static_cast<std::size_t>(grain)) return run_range(0, elements);
  node.lane->executor().parallel_for(elements, grain, run_range);
}

// The loop for a node, or null. Loops take operands of one type, of which one at least has an element for each result.
ElementKernel kernel_of(const Node& node) {
  const ElementOp op = node.primitive->element_function()->op;
  const auto is_repeated = [](const Tensor& input) { return input.node()->is_computed && input.node()->is_uniform(); };
  if (node.elements() != 1 && std::ranges::all_of(node.inputs, is_repeated)) return nullptr;
  if (op == ElementOp::convert) return conversion_kernel(node.inputs[0].dtype(), node.type);
  return element_kernel(op, op == ElementOp::where ? node.type : node.inputs[0].dtype());
}

// A group as loops, one after the other on blocks of elements that stay in the first cache: for element types that the
// kernel IR does not have, or widens.
class KernelChain {
 public:
  // Returns whether each member has a loop and the IR would compute the group in wider types.
  static bool fits(std::span<Node* const> members) {
    const bool is_wide = std::ranges::any_of(members, [](const Node* node) { return size_of(node->type) == 8; });
    const bool is_narrow = std::ranges::all_of(members, [](const Node* node) { return size_of(node->type) == 1; });
    return (is_wide || is_narrow) &&
           std::ranges::all_of(members, [](const Node* node) { return kernel_of(*node) != nullptr; });
  }

  KernelChain(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) : members_(members) {
    for (std::uint32_t i = 0; i < members.size(); ++i) members[i]->slot = i;
    for (const Node* const member : members) {
      Step step{kernel_of(*member), {}, member->element_bytes(), nullptr};
      for (std::size_t i = 0; i < member->inputs.size(); ++i) step.operands[i] = number_of(*member->inputs[i].node());
      steps_.push_back(step);
    }
    for (const std::shared_ptr<Node>& output : outputs) steps_[output->slot].out = output->host_data();
  }

  void run(Executor& executor, std::size_t elements) const {
    const auto run_range = [&](std::size_t begin, std::size_t end) {
      const std::size_t size = std::min(block, end - begin);
      std::vector<std::byte> memory(steps_.size() * size * sizeof(double));
      std::vector<std::vector<std::byte>> scratch(inputs_.size());
      std::vector<KernelOperand> values(steps_.size() + inputs_.size());
      for (std::size_t first = begin; first < end; first += size) {
        run_block(first, std::min(size, end - first), {memory.data(), size * sizeof(double)}, scratch, values);
      }
    };
    if (elements <= grain) return run_range(0, elements);
    executor.parallel_for(elements, grain, run_range);
  }

 private:
  static constexpr std::size_t block = 2048;  // elements
  static constexpr std::size_t grain = 1 << 15;

  struct Step {
    ElementKernel kernel;
    std::array<std::size_t, 3> operands;  // numbers of values: those of members, then those of inputs
    std::size_t bytes;                    // of an element of the result
    std::byte* out;                       // null: the result is used in the group only
  };
  struct Scratch {
    std::byte* data;
    std::size_t bytes;  // for each member
  };

  std::size_t number_of(const Node& node) {
    if (node.slot < members_.size() && members_[node.slot] == &node) return node.slot;
    const auto found = std::ranges::find(nodes_, &node);
    if (found != nodes_.end()) return members_.size() + static_cast<std::size_t>(found - nodes_.begin());
    nodes_.push_back(&node);
    inputs_.emplace_back(node);
    return members_.size() + nodes_.size() - 1;
  }

  void run_block(std::size_t first, std::size_t count, const Scratch& memory,
                 std::vector<std::vector<std::byte>>& scratch, std::vector<KernelOperand>& values) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      values[steps_.size() + i] = {
          inputs_[i].at(static_cast<std::int64_t>(first), scratch[i], static_cast<std::int64_t>(count)),
          inputs_[i].is_uniform()};
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      std::byte* const out = step.out != nullptr ? step.out + first * step.bytes : memory.data + i * memory.bytes;
      const std::array<KernelOperand, 3> operands = {values[step.operands[0]], values[step.operands[1]],
                                                     values[step.operands[2]]};
      step.kernel(operands.data(), out, count);
      values[i] = {out, false};
    }
  }

  std::span<Node* const> members_;
  std::vector<const Node*> nodes_;
  std::vector<MapInput> inputs_;
  std::vector<Step> steps_;
};

void run(const MapProgram& program, std::span<const Node* const> nodes,
         std::span<const std::shared_ptr<Node>> outputs) {
  Executor& executor = outputs.front()->lane->executor();
  const std::int64_t elements = outputs.front()->elements();
  std::vector<MapInput> inputs;
  inputs.reserve(nodes.size());
  for (const Node* const node : nodes) inputs.emplace_back(*node);
  const auto run_range = [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
    std::vector<std::vector<std::byte>> scratch(inputs.size());
    std::vector<const std::byte*> in(inputs.size());
    std::vector<std::byte*> out(outputs.size());
    for (std::int64_t first = begin; first < end; first += block) {
      const std::int64_t count = std::min(block, end - first);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = inputs[i].at(first, scratch[i], count);
      for (std::size_t o = 0; o < out.size(); ++o) {
        out[o] = outputs[o]->host_data() + first * static_cast<std::int64_t>(outputs[o]->element_bytes());
      }
      program.run(executor, in, out, static_cast<std::uint64_t>(count));
    }
  };
  if (std::ranges::none_of(inputs, &MapInput::is_gathered)) return run_range(0, elements, elements);
  if (elements <= gathered_block) return run_range(0, elements, gathered_block);
  executor.parallel_for(static_cast<std::size_t>(elements), gathered_block, [&](std::size_t begin, std::size_t end) {
    run_range(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), gathered_block);
  });
}

// Whether a group of one function is computed row by row, from inputs in place.
bool runs_by_rows(std::span<Node* const> members) {
  return members.size() == 1 && kernel_of(*members.front()) != nullptr && Rows::fit(*members.front());
}

// Whether MapInput copies the elements of a node.
bool is_copied(const Node& node) {
  return !node.is_contiguous && !node.is_uniform() && node.elements() > gathered_block &&
         adjacent_axis(MergedAxes(node.shape, node.strides).strides);
}

}  // namespace

std::vector<std::shared_ptr<Storage>> copies_of_map_inputs(std::span<Node* const> members, DryRun& run) {
  std::vector<std::shared_ptr<Storage>> copies;
  if (!members.front()->lane->is_host() || runs_by_rows(members)) return copies;
  std::vector<const Node*> seen;
  for (const Node* const member : members) {
    for (const Tensor& input : member->inputs) {
      const Node* const node = input.node().get();
      if (!node->is_computed || std::ranges::find(seen, node) != seen.end()) continue;
      seen.push_back(node);
      if (is_copied(*node)) copies.push_back(run.copy_unless_contiguous(*node));
    }
  }
  return copies;
}

ElementMaps::ElementMaps() = default;
ElementMaps::~ElementMaps() = default;

void compute_map(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) {
  if (members.size() == 1) {
    if (const ElementKernel kernel = kernel_of(*members.front())) {
      Node& node = *members.front();
      node.lane->allocate(node);
      if (node.elements() != 0) run_kernel(kernel, node);
      return;
    }
  }
  if (KernelChain::fits(members)) {
    for (const std::shared_ptr<Node>& output : outputs) output->lane->allocate(*output);
    const auto elements = static_cast<std::size_t>(outputs.front()->elements());
    if (elements != 0) KernelChain(members, outputs).run(outputs.front()->lane->executor(), elements);
    return;
  }
  const Group group(members, outputs);
  ElementMaps& maps = members.front()->lane->engine().element_maps();
  const std::shared_ptr<const MapProgram> program =
      maps.find(group.key(), [&] { return std::make_shared<const MapProgram>(group.structure()); });
  for (const std::shared_ptr<Node>& output : outputs) output->lane->allocate(*output);
  if (outputs.front()->elements() != 0) run(*program, group.inputs(), outputs);
}

}  // namespace vectis::inline v0_1::array
