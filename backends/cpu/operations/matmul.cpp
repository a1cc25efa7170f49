// matmul: by oneDNN where it is installed and supports the types, otherwise by register tiles. Beyond the types of the
// named operation, float16 and bfloat16 are multiplied into their own type, for arrays.

#include <array>
#include <cmath>
#include <vector>

#include "backends/cpu/onednn.hpp"
#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"
#include "backends/cpu/tiles.hpp"

namespace vectis::cpu {

namespace {

struct Scales {
  float alpha;
  float beta;
};

MatrixProduct describe(const Call& call, bool transpose_a, bool transpose_b, Scales scales) {
  const VectisView& a = call.views[0];
  const VectisView& b = call.views[1];
  const VectisView& c = call.views[2];
  return {c.rows,      c.columns,    transpose_a ? a.rows : a.columns,
          a.type,      c.type,       row_of(a, 0),
          a.stride,    transpose_a,  row_of(b, 0),
          b.stride,    transpose_b,  scales.alpha,
          scales.beta, row_of(c, 0), c.stride};
}

void multiply_tiles(const Call& call, bool transpose_a, bool transpose_b, Scales scales) {
  const VectisView& c = call.views[2];
  const auto finish = [&](std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns,
                          const auto* values, std::size_t stride) {
    for (std::uint64_t r = 0; r < rows; ++r) {
      const auto* from = values + r * stride;
      if (c.type == VECTIS_INT32) {
        std::int32_t* to = row_as<std::int32_t>(c, row + r) + column;
        for (std::uint64_t i = 0; i < columns; ++i)
          to[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(from[i]));
      } else {
        float* to = row_as<float>(c, row + r) + column;
        for (std::uint64_t i = 0; i < columns; ++i) {
          const float product = scales.alpha * static_cast<float>(from[i]);
          to[i] = scales.beta == 0 ? product : product + scales.beta * to[i];
        }
      }
    }
  };
  for_pairs(call.threads, Pairing::dot, {call.views[0], transpose_a}, {call.views[1], !transpose_b}, finish);
}

// A float32 copy of a view, row after row without gaps.
std::vector<float> widened(const Threads& threads, const VectisView& x) {
  std::vector<float> wide(x.rows * x.columns);
  threads.parallel_for(x.rows, grain_bytes / (4 * x.columns + 1) + 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      read_floats(x.type, row_of(x, row), x.columns, wide.data() + row * x.columns);
    }
  });
  return wide;
}

// Converts float16 or bfloat16 to float32 where oneDNN does not support them directly; the products are the same.
bool multiply_widened(const Call& call, MatrixProduct product) {
  const std::vector<float> a = widened(call.threads, call.views[0]);
  const std::vector<float> b = widened(call.threads, call.views[1]);
  product.type = VECTIS_FLOAT32;
  product.a = a.data();
  product.a_stride = call.views[0].columns;
  product.b = b.data();
  product.b_stride = call.views[1].columns;
  return call.onednn.multiply(product, call.threads.count());
}

bool is_16_bits(VectisType type) { return type == VECTIS_FLOAT16 || type == VECTIS_BFLOAT16; }

// Whether oneDNN multiplied the elements as they are.
bool multiply_directly(const Call& call, const MatrixProduct& product) {
  // oneDNN multiplies bfloat16 in pairs. For an odd k it multiplies the element behind each row by zero, and the result
  // is NaN if that element is infinite or NaN.
  const bool reads_past_rows = product.type == VECTIS_BFLOAT16 && product.k % 2 != 0;
  return !reads_past_rows && call.onednn.supports(product.type) && call.onednn.multiply(product, call.threads.count());
}

bool multiply_with_onednn(const Call& call, const MatrixProduct& product) {
  if (multiply_directly(call, product)) return true;
  return product.type != VECTIS_INT8 && call.onednn.supports(VECTIS_FLOAT32) && multiply_widened(call, product);
}

// Multiplies into float32, or into int32.
void multiply(const Call& call, bool transpose_a, bool transpose_b, Scales scales) {
  const MatrixProduct product = describe(call, transpose_a, transpose_b, scales);
  if (!multiply_with_onednn(call, product)) multiply_tiles(call, transpose_a, transpose_b, scales);
}

// Multiplies into 16 bits, rounded from float32.
void multiply_rounded(const Call& call, bool transpose_a, bool transpose_b, Scales scales) {
  const VectisView& c = call.views[2];
  // oneDNN itself rounds to bfloat16.
  if (c.type == VECTIS_BFLOAT16 && multiply_directly(call, describe(call, transpose_a, transpose_b, scales))) return;
  std::vector<float> wide(c.rows * c.columns);
  VectisMemory memory = *c.memory;
  memory.bytes = reinterpret_cast<std::byte*>(wide.data());
  const std::array<VectisView, 3> views = {call.views[0], call.views[1],
                                           VectisView{&memory, 0, c.rows, c.columns, c.columns, VECTIS_FLOAT32}};
  multiply({views, call.numbers, call.threads, call.onednn}, transpose_a, transpose_b, scales);
  call.threads.parallel_for(c.rows, grain_bytes / (4 * c.columns) + 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      write_floats(c.type, wide.data() + row * c.columns, c.columns, row_of(c, row));
    }
  });
}

VectisStatus matmul(const Call& call) {
  const VectisView& a = call.views[0];
  const VectisView& c = call.views[2];
  const bool is_bytes = a.type == VECTIS_INT8;
  const bool is_rounded = is_16_bits(a.type) && c.type == a.type;
  const bool has_types = is_vector_type(a.type) && a.type == call.views[1].type &&
                         (is_rounded || c.type == (is_bytes ? VECTIS_INT32 : VECTIS_FLOAT32));
  const bool transpose_a = call.integer(0, 0) != 0;
  const bool transpose_b = call.integer(1, 0) != 0;
  const Scales scales{static_cast<float>(call.real(2, 1)), static_cast<float>(call.real(3, 0))};
  const bool is_scaled = scales.alpha != 1 || scales.beta != 0;
  if (!has_types || ((is_bytes || is_rounded) && is_scaled)) return VECTIS_UNSUPPORTED;
  if (is_rounded) {
    multiply_rounded(call, transpose_a, transpose_b, scales);
  } else {
    multiply(call, transpose_a, transpose_b, scales);
  }
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 1> operations{{{"matmul", matmul}}};

}  // namespace

std::span<const NamedOperation> matmul_operations() { return operations; }

}  // namespace vectis::cpu
