// LSTM over a sequence: on the CPU one product and one pass over the data for each step, elsewhere made of other
// operations.

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "array/dry_run.hpp"
#include "array/engine.hpp"
#include "array/lstm_kernels.hpp"
#include "array/operands.hpp"
#include "array/pooled.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The extents of a call, and the numbers of elements of its arrays.
struct Extents {
  explicit Extents(const Tensor& inputs)
      : steps(inputs.extent(0)), batch(inputs.extent(1)), hidden(inputs.extent(2) / 4) {}

  [[nodiscard]] std::int64_t of_step() const { return batch * hidden; }
  [[nodiscard]] std::int64_t of_states() const { return steps * batch * hidden; }
  [[nodiscard]] Shape states() const { return {steps, batch, hidden}; }

  std::int64_t steps;
  std::int64_t batch;
  std::int64_t hidden;
};

// (count,) elements of a vector from `first` on in another shape.
Tensor part(const Tensor& vector, std::int64_t first, const Shape& shape) {
  return slice(vector, 0, {first, first + shape.elements()}).reshape(shape);
}

// Hidden states and cells of all steps as one vector.
Tensor composed_lstm(const Tensor& inputs, const Tensor& weight, const Tensor& hidden, const Tensor& cell) {
  const Extents extents(inputs);
  const Tensor factor = matrix_transpose(weight);
  Tensor state = hidden;
  Tensor memory = cell;
  std::vector<Tensor> states;
  std::vector<Tensor> memories;
  for (std::int64_t step = 0; step < extents.steps; ++step) {
    const Tensor gates = select(inputs, 0, step) + matmul(state, factor);
    const auto gate = [&](std::int64_t number) {
      return slice(gates, 1, {number * extents.hidden, (number + 1) * extents.hidden});
    };
    memory = sigmoid(gate(1)) * memory + sigmoid(gate(0)) * tanh(gate(2));
    state = sigmoid(gate(3)) * tanh(memory);
    states.push_back(state);
    memories.push_back(memory);
  }
  states.insert(states.end(), memories.begin(), memories.end());
  return flatten(stack(states));
}

View matrix(const PooledElements& elements, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  return {elements.storage->buffer.memory(),
          DType::float32,
          static_cast<std::uint64_t>(rows),
          static_cast<std::uint64_t>(columns),
          static_cast<std::uint64_t>(elements.offset + first),
          static_cast<std::uint64_t>(columns)};
}
View matrix(const Storage& storage, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  const auto width = static_cast<std::uint64_t>(columns);
  return {storage.buffer.memory(),           DType::float32, static_cast<std::uint64_t>(rows), width,
          static_cast<std::uint64_t>(first), width};
}

// Calls body(row) for each row of the batch.
template <class Body>
void for_each_row(Lane& lane, const Extents& extents, const Body& body) {
  constexpr std::int64_t elements_per_task_min = 1 << 11;
  lane.executor().parallel_for(static_cast<std::size_t>(extents.batch),
                               static_cast<std::size_t>(elements_per_task_min / extents.hidden + 1),
                               [&](std::size_t begin, std::size_t end) {
                                 for (std::size_t row = begin; row < end; ++row) body(static_cast<std::int64_t>(row));
                               });
}

// Takes the memory of a primitive that reads some of its inputs in the pool.
void dry_run_with_workspace(Node& node, std::initializer_list<std::size_t> pooled, std::uint64_t bytes, DryRun& run) {
  std::vector<std::shared_ptr<Storage>> kept;
  for (const std::size_t input : pooled) kept.push_back(pooled_copy(run, *node.inputs[input].node()));
  run.allocate(node);
  kept.push_back(workspace_in_pool(run, *node.lane, bytes));
}

// From inputs, weights, first states, the gradient of hidden states and cells, and the value of Lstm: the gradients of
// inputs, first hidden state and first cell as one vector.
class LstmGradient final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "lstm_gradient"; }

  void compute(Node& node) const override {
    Lane& lane = *node.lane;
    const Extents extents(node.inputs[0]);
    const std::int64_t n = extents.hidden;
    const std::int64_t of_step = extents.of_step();
    const std::int64_t of_states = extents.of_states();
    const PooledElements weight(*node.inputs[1].node());
    const PooledElements first_cell(*node.inputs[3].node());
    const PooledElements adjoint(*node.inputs[4].node());
    const PooledElements value(*node.inputs[5].node());
    const float* const cells = value.floats() + of_states;
    const float* const gates = value.floats() + 2 * of_states;
    const auto bytes_of_step = static_cast<std::uint64_t>(of_step) * sizeof(float);
    const std::shared_ptr<Storage> result =
        allocate_in_pool(lane, static_cast<std::uint64_t>(node.elements()) * sizeof(float));
    const std::shared_ptr<Storage> later = allocate_in_pool(lane, bytes_of_step);
    auto* const out = reinterpret_cast<float*>(result->host);
    auto* const later_adjoint = reinterpret_cast<float*>(later->host);
    float* const carried = out + 4 * of_states + of_step;  // ends as the gradient of the first cell
    std::fill_n(later_adjoint, of_step, 0.0F);
    std::fill_n(carried, of_step, 0.0F);
    for (std::int64_t step = extents.steps - 1; step >= 0; --step) {
      const float* const before = step == 0 ? first_cell.floats() : cells + (step - 1) * of_step;
      for_each_row(lane, extents, [&](std::int64_t row) {
        const std::int64_t at = step * of_step + row * n;
        lstm_row_gradient({.hidden = static_cast<std::size_t>(n),
                           .gates = gates + 4 * at,
                           .cell_before = before + row * n,
                           .cell = cells + at,
                           .output_adjoint = adjoint.floats() + at,
                           .cell_adjoint = adjoint.floats() + of_states + at,
                           .later_adjoint = later_adjoint + row * n,
                           .carried = carried + row * n,
                           .gates_adjoint = out + 4 * at});
      });
      // That of the hidden state before: of the gates times the weights.
      const View views[] = {matrix(*result, 4 * step * of_step, extents.batch, 4 * n), matrix(weight, 0, 4 * n, n),
                            matrix(*later, 0, extents.batch, n)};
      const ParameterValue parameters[] = {int{0}, int{0}};
      lane.run_operation("matmul", views, parameters);
    }
    std::copy_n(later_adjoint, of_step, out + 4 * of_states);
    node.storage = result;
  }

  void dry_run(Node& node, DryRun& run) const override {
    const auto bytes_of_step = static_cast<std::uint64_t>(Extents(node.inputs[0]).of_step()) * sizeof(float);
    dry_run_with_workspace(node, {1, 3, 4, 5}, bytes_of_step, run);
  }

  // By the gradient of the gradient of the composed operations.
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Function first_order = [](std::span<const Tensor> x) {
      const Function values = [](std::span<const Tensor> y) { return composed_lstm(y[0], y[1], y[2], y[3]); };
      const std::vector<Tensor> gradients = vjp(values, x.first(4), x[4]).gradients;
      return concat(std::array{flatten(gradients[0]), flatten(gradients[2]), flatten(gradients[3])});
    };
    std::vector<Tensor> gradients = vjp(first_order, inputs.first(5), adjoint).gradients;
    gradients.emplace_back();  // the value is a function of the other inputs
    return gradients;
  }
};
const LstmGradient gradient_primitive;

// Hidden states, cells and gates of all steps as one vector: the gates are kept for the gradient.
class Lstm final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "lstm"; }
  [[nodiscard]] double operations(const Node& node) const override {
    const Extents extents(node.inputs[0]);
    return 8.0 * static_cast<double>(extents.of_states()) * static_cast<double>(extents.hidden);
  }

  void compute(Node& node) const override {
    Lane& lane = *node.lane;
    const Extents extents(node.inputs[0]);
    const std::int64_t n = extents.hidden;
    const std::int64_t of_step = extents.of_step();
    const PooledElements inputs(*node.inputs[0].node());
    const PooledElements weight(*node.inputs[1].node());
    const PooledElements first_hidden(*node.inputs[2].node());
    const PooledElements first_cell(*node.inputs[3].node());
    const std::shared_ptr<Storage> result =
        allocate_in_pool(lane, static_cast<std::uint64_t>(node.elements()) * sizeof(float));
    const std::shared_ptr<Storage> product =
        allocate_in_pool(lane, 4 * static_cast<std::uint64_t>(of_step) * sizeof(float));
    auto* const states = reinterpret_cast<float*>(result->host);
    float* const cells = states + extents.of_states();
    float* const gates = cells + extents.of_states();
    for (std::int64_t step = 0; step < extents.steps; ++step) {
      const View before = step == 0 ? matrix(first_hidden, 0, extents.batch, n)
                                    : matrix(*result, (step - 1) * of_step, extents.batch, n);
      const View views[] = {before, matrix(weight, 0, 4 * n, n), matrix(*product, 0, extents.batch, 4 * n)};
      const ParameterValue parameters[] = {int{0}, int{1}};
      lane.run_operation("matmul", views, parameters);
      const float* const cell_before = step == 0 ? first_cell.floats() : cells + (step - 1) * of_step;
      for_each_row(lane, extents, [&](std::int64_t row) {
        const std::int64_t at = step * of_step + row * n;
        lstm_row({.hidden = static_cast<std::size_t>(n),
                  .inputs = inputs.floats() + 4 * at,
                  .recurrent = reinterpret_cast<const float*>(product->host) + 4 * row * n,
                  .cell_before = cell_before + row * n,
                  .gates = gates + 4 * at,
                  .cell = cells + at,
                  .output = states + at});
      });
    }
    node.storage = result;
  }

  void dry_run(Node& node, DryRun& run) const override {
    const auto bytes_of_gates = 4 * static_cast<std::uint64_t>(Extents(node.inputs[0]).of_step()) * sizeof(float);
    dry_run_with_workspace(node, {0, 1, 2, 3}, bytes_of_gates, run);
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Extents extents(inputs[0]);
    const std::int64_t of_states = extents.of_states();
    const Tensor of_results = slice(adjoint, 0, {0, 2 * of_states});
    const Shape shape = {4 * of_states + 2 * extents.of_step()};
    const Tensor all =
        record(unowned(gradient_primitive), {inputs[0], inputs[1], inputs[2], inputs[3], of_results, output},
               DType::float32, shape, {});
    const Tensor of_inputs = part(all, 0, inputs[0].shape());
    const Shape first = inputs[2].shape();
    std::vector<Tensor> before = {expand_dims(inputs[2], 0)};
    if (extents.steps > 1) {
      before.push_back(part(output, 0, {extents.steps - 1, extents.batch, extents.hidden}));
    }
    const Tensor states_before = concat(before).reshape({-1, extents.hidden});
    const Tensor of_weight = matmul(matrix_transpose(of_inputs.reshape({-1, 4 * extents.hidden})), states_before);
    return {of_inputs, of_weight, part(all, 4 * of_states, first), part(all, 4 * of_states + extents.of_step(), first)};
  }
};
const Lstm lstm_primitive;

void check_shape_of(std::string_view what, const Tensor& x, const Shape& expected) {
  if (x.shape() == expected) return;
  throw_invalid("lstm", fmt::format("{} have shape {}, expected {}", what, to_string(x.shape()), to_string(expected)));
}

}  // namespace

LstmStates lstm(const Operand& inputs, const Operand& weights, const Operand& hidden, const Operand& cell) {
  const std::array<const Operand*, 4> operands = {&inputs, &weights, &hidden, &cell};
  std::vector<Tensor> tensors;
  for (const Operand* operand : operands) {
    tensors.push_back(as_tensor("lstm", *operand));
    check_devices("lstm", tensors[0], tensors.back());
    if (tensors.back().dtype() != tensors[0].dtype()) {
      throw_invalid("lstm", "the arrays have several element types; convert them by astype()");
    }
  }
  if (tensors[0].rank() != 3 || tensors[0].extent(2) % 4 != 0) {
    throw_invalid(
        "lstm", fmt::format("inputs have shape {}; give (sequence, batch, 4 * hidden)", to_string(tensors[0].shape())));
  }
  const Extents extents(tensors[0]);
  check_shape_of("weights", tensors[1], {4 * extents.hidden, extents.hidden});
  check_shape_of("hidden states", tensors[2], {extents.batch, extents.hidden});
  check_shape_of("cells", tensors[3], {extents.batch, extents.hidden});
  const std::int64_t count = extents.of_states();
  if (count == 0) throw_invalid("lstm", "the sequence has no elements; give some");
  const bool has_kernel = tensors[0].dtype() == DType::float32 && tensors[0].node()->lane->is_host();
  const Tensor all = has_kernel ? record(unowned(lstm_primitive), tensors, DType::float32, {6 * count}, inputs.where())
                                : composed_lstm(tensors[0], tensors[1], tensors[2], tensors[3]);
  return {part(all, 0, extents.states()), part(all, count, extents.states())};
}

}  // namespace vectis::inline v0_1::array
