#include "vectis/nn/recurrent.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/dropout.hpp"
#include "vectis/nn/initialization.hpp"

namespace vectis::inline v0_1::nn {

namespace {

using Cell = Recurrent::Cell;
using Direction = Recurrent::Direction;

std::int64_t gates_of(Cell cell) {
  if (cell == Cell::lstm) return 4;
  return cell == Cell::gru ? 3 : 1;
}

std::string_view name_of(Cell cell) {
  if (cell == Cell::lstm) return "lstm";
  return cell == Cell::gru ? "gru" : "rnn";
}

// The columns of gate `index` of (batch, gates * hidden).
Tensor gate(const Tensor& gates, std::int64_t index, std::int64_t hidden) {
  return slice(gates, 1, {index * hidden, (index + 1) * hidden});
}

// One element of a sequence: the next state from `inputs`, the part of the gates that comes from the input.
class Step {
 public:
  Step(Cell cell, const Direction& weights, std::int64_t hidden)
      : cell_(cell), weights_(weights), hidden_(hidden), recurrent_(matrix_transpose(weights.weight_hh)) {}

  void advance(const Tensor& inputs, Recurrent::State& state) const {
    const Tensor product = matmul(state.hidden, recurrent_);
    switch (cell_) {
      case Cell::tanh:
        state.hidden = tanh(inputs + product);
        return;
      case Cell::relu:
        state.hidden = array::relu(inputs + product);
        return;
      case Cell::gru: {
        // The bias of the hidden part of the new state is multiplied by the reset gate: it cannot join the input's.
        const Tensor recurrent = weights_.bias_hh.is_empty() ? product : product + weights_.bias_hh;
        const Tensor reset = sigmoid(gate(inputs, 0, hidden_) + gate(recurrent, 0, hidden_));
        const Tensor update = sigmoid(gate(inputs, 1, hidden_) + gate(recurrent, 1, hidden_));
        const Tensor candidate = tanh(gate(inputs, 2, hidden_) + reset * gate(recurrent, 2, hidden_));
        state.hidden = candidate + update * (state.hidden - candidate);
        return;
      }
      case Cell::lstm:
        return;  // all steps are one operation, array::lstm
    }
  }

 private:
  Cell cell_;
  const Direction& weights_;
  std::int64_t hidden_;
  Tensor recurrent_;  // (hidden, gates * hidden)
};

// Runs one direction over x (sequence, batch, features); the outputs are in the order of the sequence.
Tensor run_direction(Cell cell, const Direction& weights, std::int64_t hidden, const Tensor& x, bool is_reverse,
                     Recurrent::State& state) {
  Tensor bias = weights.bias_ih;
  if (!bias.is_empty() && cell != Cell::gru) bias = bias + weights.bias_hh;
  const Tensor inputs = linear(x, weights.weight_ih, bias);  // of all steps in one product
  if (cell == Cell::lstm) {
    const auto in_order = [&](const Tensor& sequence) { return is_reverse ? flip(sequence, {0}) : sequence; };
    const array::LstmStates states = array::lstm(in_order(inputs), weights.weight_hh, state.hidden, state.cell);
    state = {select(states.hidden, 0, -1), select(states.cells, 0, -1)};
    return in_order(states.hidden);
  }
  const Step step(cell, weights, hidden);
  const std::int64_t length = x.extent(0);
  std::vector<Tensor> outputs(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t at = is_reverse ? length - 1 - i : i;
    step.advance(select(inputs, 0, at), state);
    outputs[static_cast<std::size_t>(at)] = state.hidden;
  }
  return stack(outputs, 0);
}

// The initial state: that given, or zeros.
Tensor initial(std::string_view op, const Tensor& given, const Tensor& x, const Shape& shape) {
  if (given.is_empty()) return array::zeros(shape, x.dtype(), {.device = x.device()});
  if (given.shape() == shape) return given;
  throw_invalid(op, fmt::format("expected a state of shape {}, received {}; give (layers * directions, batch, hidden)",
                                to_string(shape), to_string(given.shape())));
}

}  // namespace

Recurrent::Recurrent(Cell cell, std::int64_t inputs, std::int64_t hidden, Generator& random,
                     const RecurrentOptions& given)
    : hidden_size(hidden), options(given), cell_(cell) {
  const std::string_view op = name_of(cell);
  check_min(op, "the number of inputs", inputs);
  check_min(op, "the hidden size", hidden);
  check_min(op, "the number of layers", options.layers);
  check_dropout(op, options.dropout);
  const std::int64_t ways = options.bidirectional ? 2 : 1;
  const std::int64_t rows = gates_of(cell) * hidden;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::int64_t features = layer == 0 ? inputs : ways * hidden;
    for (std::int64_t way = 0; way < ways; ++way) {
      Direction& made = directions.emplace_back();
      made.weight_ih = fan_uniform({rows, features}, hidden, random);
      made.weight_hh = fan_uniform({rows, hidden}, hidden, random);
      if (!options.bias) continue;
      made.bias_ih = fan_uniform({rows}, hidden, random);
      made.bias_hh = fan_uniform({rows}, hidden, random);
    }
  }
}

Recurrent::Result Recurrent::run(const Tensor& x, const State& state, const Mode& mode) const {
  const std::string_view op = name_of(cell_);
  check_rank(op, x, 3, options.batch_first ? "(batch, sequence, features)" : "(sequence, batch, features)");
  check_extent(op, x, 2, directions[0].weight_ih.extent(1), "features");
  Tensor sequence = options.batch_first ? swapaxes(x, 0, 1) : x;
  if (sequence.extent(0) == 0) throw_invalid(op, "the sequence is empty; give one element or more");
  const std::int64_t ways = options.bidirectional ? 2 : 1;
  const Shape shape = {options.layers * ways, sequence.extent(1), hidden_size};
  const bool has_cell = cell_ == Cell::lstm;
  const Tensor hidden = initial(op, state.hidden, x, shape);
  const Tensor cells = has_cell ? initial(op, state.cell, x, shape) : Tensor();
  std::vector<Tensor> last_hidden;
  std::vector<Tensor> last_cells;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    if (layer > 0) sequence = dropout(sequence, options.dropout, mode);
    std::vector<Tensor> outputs;
    for (std::int64_t way = 0; way < ways; ++way) {
      const std::int64_t index = layer * ways + way;
      State now = {select(hidden, 0, index), has_cell ? select(cells, 0, index) : Tensor()};
      outputs.push_back(
          run_direction(cell_, directions[static_cast<std::size_t>(index)], hidden_size, sequence, way == 1, now));
      last_hidden.push_back(now.hidden);
      if (has_cell) last_cells.push_back(now.cell);
    }
    sequence = ways == 1 ? outputs[0] : array::concat(outputs, 2);
  }
  Result result;
  result.output = options.batch_first ? swapaxes(sequence, 0, 1) : sequence;
  result.state.hidden = array::stack(last_hidden, 0);
  if (has_cell) result.state.cell = array::stack(last_cells, 0);
  return result;
}

void Recurrent::visit(Visitor& visitor) {
  const std::size_t ways = options.bidirectional ? 2 : 1;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const std::string suffix = fmt::format("_l{}{}", i / ways, i % ways == 1 ? "_reverse" : "");
    Direction& weights = directions[i];
    visitor.parameter("weight_ih" + suffix, weights.weight_ih);
    visitor.parameter("weight_hh" + suffix, weights.weight_hh);
    visitor.parameter("bias_ih" + suffix, weights.bias_ih);
    visitor.parameter("bias_hh" + suffix, weights.bias_hh);
  }
}

Tensor LastOfSequence::forward(const Tensor& x, const Mode& /*mode*/) const {
  check_rank("last_of_sequence", x, 3, "(batch, sequence, features)");
  if (x.extent(1) == 0) throw_invalid("last_of_sequence", "the sequence is empty; give one element or more");
  return select(x, 1, -1);
}

}  // namespace vectis::inline v0_1::nn
