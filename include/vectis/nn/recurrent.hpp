// Recurrent layers: the simple recurrent network, LSTM (Hochreiter and Schmidhuber, 1997) and GRU (Cho et al., 2014).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

struct RecurrentOptions {
  std::int64_t layers = 1;
  bool bidirectional = false;  // a second direction reads the sequence backwards; outputs have both, joined
  bool batch_first = false;    // sequences are (batch, sequence, features) instead of (sequence, batch, features)
  bool bias = true;
  double dropout = 0;  // of the outputs of all layers but the last
};

// What RNN, LSTM and GRU share. Parameters are named "weight_ih_l0", "weight_hh_l0", "bias_ih_l0" and "bias_hh_l0",
// with the number of the layer, and "_reverse" in the second direction.
class VECTIS_API Recurrent {
 public:
  // The weights of one layer in one direction; an LSTM has 4 gates (input, forget, cell, output), a GRU 3 (reset,
  // update, new), the simple network 1.
  struct Direction {
    Tensor weight_ih;  // (gates * hidden, features)
    Tensor weight_hh;  // (gates * hidden, hidden)
    Tensor bias_ih;    // (gates * hidden,)
    Tensor bias_hh;    // (gates * hidden,)
  };
  enum class Cell : std::uint8_t { tanh, relu, lstm, gru };
  // The state between two elements of a sequence: shapes (layers * directions, batch, hidden). Empty: zeros.
  struct State {
    Tensor hidden;
    Tensor cell;  // of LSTM
  };
  struct Result {
    Tensor output;  // (sequence, batch, directions * hidden), or with the first two exchanged
    State state;    // after the sequence
  };

  // Returns the outputs, as a module does.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return run(x, {}, mode).output; }
  // Returns the outputs and the state after the sequence, beginning with `state`. Throws InvalidInput when shapes do
  // not fit or the sequence is empty.
  [[nodiscard]] Result run(const Tensor& x, const State& state, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  std::vector<Direction> directions;  // layer by layer, of a bidirectional layer forwards and backwards
  std::int64_t hidden_size;
  RecurrentOptions options;

 protected:
  // Draws all tensors uniformly from +-1 / sqrt(hidden). Throws InvalidInput for numbers below 1 and
  // unless 0 <= dropout < 1.
  Recurrent(Cell cell, std::int64_t inputs, std::int64_t hidden, Generator& random, const RecurrentOptions& given);

 private:
  Cell cell_;
};

enum class RecurrentActivation : std::uint8_t { tanh, relu };
// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it.
class RNN : public Recurrent {
 public:
  static constexpr std::string_view kind = "RNN";
  RNN(std::int64_t inputs, std::int64_t hidden, Generator& random, const RecurrentOptions& given = {},
      RecurrentActivation activation = RecurrentActivation::tanh)
      : Recurrent(activation == RecurrentActivation::tanh ? Cell::tanh : Cell::relu, inputs, hidden, random, given) {}
};
class LSTM : public Recurrent {
 public:
  static constexpr std::string_view kind = "LSTM";
  LSTM(std::int64_t inputs, std::int64_t hidden, Generator& random, const RecurrentOptions& given = {})
      : Recurrent(Cell::lstm, inputs, hidden, random, given) {}
};
class GRU : public Recurrent {
 public:
  static constexpr std::string_view kind = "GRU";
  GRU(std::int64_t inputs, std::int64_t hidden, Generator& random, const RecurrentOptions& given = {})
      : Recurrent(Cell::gru, inputs, hidden, random, given) {}
};

// The last output of a sequence: (batch, sequence, features) becomes (batch, features).
class VECTIS_API LastOfSequence {
 public:
  static constexpr std::string_view kind = "LastOfSequence";

  // Throws InvalidInput unless `x` has three axes and the sequence an element.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& /*visitor*/) {}
};

}  // namespace vectis::inline v0_1::nn
