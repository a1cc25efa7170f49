#include "array/element_map.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "array/engine.hpp"
#include "array/map_program.hpp"
#include "array/strided.hpp"
#include "vectis/base/error.hpp"

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
  // The address of element `first`, from which `count` elements follow. `scratch` has room for a block.
  const std::byte* at(std::int64_t first, std::int64_t count, std::vector<std::byte>& scratch) const {
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
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = inputs[i].at(first, count, scratch[i]);
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

}  // namespace

ElementMaps::ElementMaps() = default;
ElementMaps::~ElementMaps() = default;

void compute_map(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) {
  const Group group(members, outputs);
  ElementMaps& maps = members.front()->lane->engine().element_maps();
  const std::shared_ptr<const MapProgram> program =
      maps.find(group.key(), [&] { return std::make_shared<const MapProgram>(group.structure()); });
  for (const std::shared_ptr<Node>& output : outputs) output->lane->allocate(*output);
  if (outputs.front()->elements() != 0) run(*program, group.inputs(), outputs);
}

}  // namespace vectis::inline v0_1::array
