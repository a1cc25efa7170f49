// The element-wise part of an LSTM step on float32 rows, compiled for each instruction set.
#pragma once

#include <cstddef>

namespace vectis::inline v0_1::array {

// One row of a batch: `hidden` elements, or four times as many for the gates, in the order input, forget, cell, output.
struct LstmRow {
  std::size_t hidden;
  const float* inputs;     // what the gates get from the input
  const float* recurrent;  // and from the previous hidden state
  const float* cell_before;
  float* gates;  // after their functions
  float* cell;
  float* output;  // the hidden state
};
void lstm_row(const LstmRow& row);

// The gradient of one row.
struct LstmRowGradient {
  std::size_t hidden;
  const float* gates;
  const float* cell_before;
  const float* cell;
  const float* output_adjoint;  // of the result of this step
  const float* cell_adjoint;    // of the cell as a result
  const float* later_adjoint;   // of the hidden state, from the step after
  float* carried;               // of the cell: from the step after, becomes that of the step before
  float* gates_adjoint;         // before the functions of the gates
};
void lstm_row_gradient(const LstmRowGradient& row);

}  // namespace vectis::inline v0_1::array
