// LSTM over a sequence: on the CPU one product and one pass over the data for each step, in float32 or with products of
// 16 bits; elsewhere, and in double precision, made of other operations.

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
#include "array/row_kernels.hpp"
#include "array/strided.hpp"
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

View matrix(const Storage& storage, std::int64_t first, std::int64_t rows, std::int64_t columns,
            DType type = DType::float32) {
  const auto width = static_cast<std::uint64_t>(columns);
  return {storage.buffer.memory(),           type, static_cast<std::uint64_t>(rows), width,
          static_cast<std::uint64_t>(first), width};
}

void run_on(Lane& lane, std::string_view operation, const View& x, const View& out) {
  const View views[] = {x, out};
  lane.run_operation(operation, views, {});
}

// Multiplies matrices of one shape by the weights of shape (rows, columns) or, for `transposed`, by their
// transpose. Matrices of float32 are rounded to the type of the weights. Writes float32.
class WeightProduct {
 public:
  WeightProduct(Lane& lane, const Node& weight, bool transposed)
      : lane_(lane),
        type_(weight.type),
        rows_(weight.shape[transposed ? 1 : 0]),
        columns_(weight.shape[transposed ? 0 : 1]) {
    const PooledElements elements(weight);
    first_ = elements.offset;
    weight_ = elements.storage;
    if (!transposed) return;
    // Once for all steps: a product by a transposed matrix would do it in every step.
    weight_ = allocate_in_pool(lane, static_cast<std::uint64_t>(weight.elements()) * weight.element_bytes());
    run_on(lane, "transpose", matrix(*elements.storage, first_, columns_, rows_, type_),
           matrix(*weight_, 0, rows_, columns_, type_));
    first_ = 0;
  }

  void multiply(const View& x, const View& product) {
    const View views[] = {x.type == type_ ? x : rounded(x), matrix(*weight_, first_, rows_, columns_, type_), product};
    lane_.run_operation("matmul", views, {});
  }

 private:
  View rounded(const View& x) {
    if (rounded_ == nullptr) rounded_ = allocate_in_pool(lane_, x.rows * x.columns * size_of(type_));
    const View result = matrix(*rounded_, 0, static_cast<std::int64_t>(x.rows), rows_, type_);
    run_on(lane_, "cast", x, result);
    return result;
  }

  Lane& lane_;
  DType type_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::shared_ptr<Storage> weight_;
  std::int64_t first_;
  std::shared_ptr<Storage> rounded_;
};

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

// Takes the memory of a primitive that reads some of its inputs in the pool; workspaces of 0 bytes are not there.
void dry_run_with_workspaces(Node& node, std::initializer_list<std::size_t> pooled,
                             std::initializer_list<std::uint64_t> workspaces, DryRun& run) {
  std::vector<std::shared_ptr<Storage>> kept;
  for (const std::size_t input : pooled) kept.push_back(pooled_copy(run, *node.inputs[input].node()));
  run.allocate(node);
  for (const std::uint64_t bytes : workspaces) {
    if (bytes != 0) kept.push_back(workspace_in_pool(run, *node.lane, bytes));
  }
}

// The bytes in which WeightProduct rounds matrices of `elements` elements.
std::uint64_t rounded_bytes(const Node& weight, std::uint64_t elements) {
  return weight.type == DType::float32 ? 0 : elements * weight.element_bytes();
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
    WeightProduct by_weight(lane, *node.inputs[1].node(), false);
    const PooledElements first_cell(*node.inputs[3].node());
    const PooledElements adjoint(*node.inputs[4].node());
    const PooledElements value(*node.inputs[5].node());
    const float* const cells = value.floats() + of_states;
    const float* const gates = value.floats() + 2 * of_states;
    const std::shared_ptr<Storage> result =
        allocate_in_pool(lane, static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
    // The gradients that a step hands to the one before: of its hidden state and of its cell.
    const std::shared_ptr<Storage> carried =
        allocate_in_pool(lane, 2 * static_cast<std::uint64_t>(of_step) * sizeof(float));
    auto* const later_adjoint = reinterpret_cast<float*>(carried->host);
    std::fill_n(later_adjoint, 2 * of_step, 0.0F);
    const bool is_rounded = node.type != DType::float32;
    const std::shared_ptr<Storage> of_gates =
        is_rounded ? allocate_in_pool(lane, 4 * static_cast<std::uint64_t>(of_step) * sizeof(float)) : result;
    for (std::int64_t step = extents.steps - 1; step >= 0; --step) {
      const float* const before = step == 0 ? first_cell.floats() : cells + (step - 1) * of_step;
      const View gates_of_step = matrix(*result, 4 * step * of_step, extents.batch, 4 * n, node.type);
      float* const gates_adjoint =
          reinterpret_cast<float*>(of_gates->host) + (is_rounded ? 0 : static_cast<std::int64_t>(gates_of_step.offset));
      for_each_row(lane, extents, [&](std::int64_t row) {
        const std::int64_t at = step * of_step + row * n;
        lstm_row_gradient({.hidden = static_cast<std::size_t>(n),
                           .gates = gates + 4 * at,
                           .cell_before = before + row * n,
                           .cell = cells + at,
                           .output_adjoint = adjoint.floats() + at,
                           .cell_adjoint = adjoint.floats() + of_states + at,
                           .later_adjoint = later_adjoint + row * n,
                           .carried = later_adjoint + of_step + row * n,
                           .gates_adjoint = gates_adjoint + 4 * row * n});
      });
      if (is_rounded) run_on(lane, "cast", matrix(*of_gates, 0, extents.batch, 4 * n), gates_of_step);
      // That of the hidden state before: of the gates times the weights.
      by_weight.multiply(gates_of_step, matrix(*carried, 0, extents.batch, n));
    }
    run_on(lane, "cast", matrix(*carried, 0, 2, of_step), matrix(*result, 4 * of_states, 2, of_step, node.type));
    node.storage = result;
  }

  void dry_run(Node& node, DryRun& run) const override {
    const auto of_step = static_cast<std::uint64_t>(Extents(node.inputs[0]).of_step());
    const std::uint64_t of_gates = node.type == DType::float32 ? 0 : 4 * of_step * sizeof(float);
    dry_run_with_workspaces(node, {1, 3, 4, 5}, {2 * of_step * sizeof(float), of_gates}, run);
  }

  // By the gradient of the gradient of the composed operations.
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Function first_order = [](std::span<const Tensor> x) {
      const Function values = [](std::span<const Tensor> y) { return composed_lstm(y[0], y[1], y[2], y[3]); };
      const std::vector<Tensor> gradients = vjp(values, x.first(4), x[4]).gradients;
      return concat(std::array{flatten(gradients[0]), flatten(gradients[2]), flatten(gradients[3])})
          .astype(x[1].dtype());
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
    const Node& inputs = *node.inputs[0].node();
    std::shared_ptr<Storage> keep_inputs;
    const std::byte* const from_inputs = contiguous_data(inputs, keep_inputs);
    WeightProduct by_weight(lane, *node.inputs[1].node(), true);
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
      const View before = step == 0 ? matrix(*first_hidden.storage, first_hidden.offset, extents.batch, n)
                                    : matrix(*result, (step - 1) * of_step, extents.batch, n);
      by_weight.multiply(before, matrix(*product, 0, extents.batch, 4 * n));
      const float* const cell_before = step == 0 ? first_cell.floats() : cells + (step - 1) * of_step;
      for_each_row(lane, extents, [&](std::int64_t row) {
        const std::int64_t at = step * of_step + row * n;
        FloatRows floats(inputs.type);
        const std::byte* const row_inputs = from_inputs + 4 * at * static_cast<std::int64_t>(inputs.element_bytes());
        lstm_row({.hidden = static_cast<std::size_t>(n),
                  .inputs = floats.at(row_inputs, static_cast<std::size_t>(4 * n)),
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
    const Node& weight = *node.inputs[1].node();
    const auto of_step = static_cast<std::uint64_t>(Extents(node.inputs[0]).of_step());
    const std::shared_ptr<Storage> inputs = run.copy_unless_contiguous(*node.inputs[0].node());
    dry_run_with_workspaces(node, {2, 3},
                            {static_cast<std::uint64_t>(weight.elements()) * weight.element_bytes(),
                             4 * of_step * sizeof(float), rounded_bytes(weight, of_step)},
                            run);
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor&) const override {
    return std::vector<Tensor>(inputs.size());  // it is recorded without: LstmResults has the gradient
  }
};
const Lstm lstm_primitive;

// Of the operands of Lstm and its value: the hidden states and cells as one vector. So gradients that arrive have no
// part for the gates.
class LstmResults final : public ViewPrimitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "lstm"; }
  void compute(Node& node) const override { share_value(*node.inputs[4].node(), node); }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Extents extents(inputs[0]);
    const std::int64_t of_states = extents.of_states();
    const Shape shape = {4 * of_states + 2 * extents.of_step()};
    const DType type = inputs[1].dtype();
    const Tensor all = record(unowned(gradient_primitive),
                              {inputs[0], inputs[1], inputs[2], inputs[3], adjoint, inputs[4]}, type, shape, {});
    const Tensor of_inputs = part(all, 0, inputs[0].shape());
    const Shape first = inputs[2].shape();
    std::vector<Tensor> before = {expand_dims(inputs[2], 0)};
    if (extents.steps > 1) {  // of the output, through which gradients of gradients go
      before.push_back(part(output, 0, {extents.steps - 1, extents.batch, extents.hidden}));
    }
    const Tensor states_before = concat(before).reshape({-1, extents.hidden});
    const Tensor of_weight =
        matmul(matrix_transpose(of_inputs.reshape({-1, 4 * extents.hidden})), states_before.astype(type));
    return {of_inputs, of_weight, part(all, 4 * of_states, first), part(all, 4 * of_states + extents.of_step(), first),
            Tensor()};
  }
};
const LstmResults results_primitive;

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
  }
  DType type = tensors[0].dtype();
  for (const Tensor& tensor : tensors) type = promote(type, tensor.dtype());
  for (Tensor& tensor : tensors) tensor = tensor.astype(type);
  if (tensors[0].rank() != 3 || tensors[0].extent(2) % 4 != 0) {
    throw_invalid(
        "lstm", fmt::format("inputs have shape {}; give (sequence, batch, 4 * hidden)", to_string(tensors[0].shape())));
  }
  const Extents extents(tensors[0]);
  check_shape_of("weights", tensors[1], {4 * extents.hidden, extents.hidden});
  check_shape_of("hidden states", tensors[2], {extents.batch, extents.hidden});
  check_shape_of("cells", tensors[3], {extents.batch, extents.hidden});
  const std::int64_t count = extents.of_states();
  if (extents.steps == 0) throw_invalid("lstm", "the sequence has no elements; give some");
  const bool has_kernel = count > 0 && is_real(type) && type != DType::float64 && tensors[0].node()->lane->is_host();
  Tensor all;
  if (has_kernel) {
    // The kernels compute in float32; inputs and weights of 16 bits are read as they are.
    for (const std::size_t i : {2U, 3U}) tensors[i] = tensors[i].astype(DType::float32);
    std::vector<Tensor> operands = tensors;
    {
      const NoGradient none;
      operands.push_back(record(unowned(lstm_primitive), tensors, DType::float32, {6 * count}, inputs.where()));
    }
    all = record(unowned(results_primitive), operands, DType::float32, {2 * count}, inputs.where());
  } else {
    all = composed_lstm(tensors[0], tensors[1], tensors[2], tensors[3]);
  }
  return {part(all, 0, extents.states()).astype(type), part(all, count, extents.states()).astype(type)};
}

}  // namespace vectis::inline v0_1::array
