// The quantizer of a segment: fp32 rows to int8, bf16 or fp16 codes, and the terms of the bound
// (docs/exact-search.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// The number of rows in a group of codes. Chunk c (64 bytes) of row r of group g is at byte ((g * chunks + c) * 16 +
// r) * 64, so that chunk c of a group is one AMX tile and every kernel reads memory in order. Bytes of the last chunk
// beyond a row's codes are zero.
inline constexpr std::size_t group_rows = 16;
inline constexpr std::size_t chunk_bytes = 64;

// The parameters that turn a vector x into codes: codes stand for (x - center) * 2^-exponent, with x divided by its
// norm under cosine. Each row of int8 codes also has a scale of its own (scalar quantization as in LVQ). Immutable
// once trained.
struct Quantizer {
  Metric metric = Metric::l2;
  Precision precision = Precision::int8;  // of the codes; fp32: no codes, fp32 rows are scanned
  std::size_t dim = 0;
  std::size_t chunks = 0;           // of a row
  std::unique_ptr<float[]> center;  // dim floats
  int exponent = 0;
};

// Returns the bytes of the code of one coordinate: 1 for int8, 2 for bf16 and fp16, 0 for fp32, which has no codes.
[[nodiscard]] std::size_t code_bytes(Precision precision) noexcept;
// Returns the number of 64-byte chunks that the codes of a row of `dim` coordinates fill, rounded up; 0 for fp32.
[[nodiscard]] std::size_t code_chunks(Precision precision, std::size_t dim) noexcept;

// Returns a bound of the relative error of a sum of `dim` squares in single precision. The quantizer lowers stored
// squared norms and raises stored norms by this share, so that bounds hold. Does not throw.
[[nodiscard]] float loosening(std::size_t dim) noexcept;

// Returns the Euclidean norm of `dim` floats, summed in double precision in index order; 0 for a zero vector.
// `vector` must point to `dim` floats. Does not throw.
[[nodiscard]] double l2_norm(const float* vector, std::size_t dim) noexcept;

// The largest norm, in units of the quantizer, of a row that is coded. A row with a larger norm gets infinite terms,
// with which it passes every limit and is always reranked.
inline constexpr float norm_coded_max = 0x1p40F;

// Trains a quantizer on rows of `dim` floats: the center is the median of each coordinate over a sample of at most
// 255 rows, the exponent makes the median norm about 1. Preconditions, not checked: at least one row, finite floats.
// fp32 needs no training and ignores the rows. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] Quantizer train_quantizer(Metric metric, Precision precision, std::size_t dim,
                                        std::span<const float> vectors);

// Pointers to the memory where a GroupEncoder writes the codes and terms of one group of 16 rows. Owns nothing.
struct CodeTarget {
  std::byte* codes = nullptr;
  float* step = nullptr;
  float* offset = nullptr;
  float* residual = nullptr;
  float* norm = nullptr;
  float* group_residual = nullptr;
  float* group_norm = nullptr;
};

// Encodes groups of rows. Not thread-safe.
class GroupEncoder {
 public:
  // The quantizer must outlive this object, and its precision must not be fp32 (not checked). Throws std::bad_alloc.
  explicit GroupEncoder(const Quantizer& quantizer);

  // Encodes vectors of quantizer.dim finite floats, at most 16, into the group at `target`. Gives missing rows, those
  // that are null and those beyond the last, terms that pass no limit, and a row with a norm above norm_coded_max terms
  // that pass every limit. Precondition, not checked: all pointers of `target` have room for 16 rows. Does not throw.
  void encode(std::span<const float* const> rows, const CodeTarget& target);

 private:
  const Quantizer& quantizer_;
  float scale_;
  std::vector<float> center_;  // scaled, padded with zeros to whole chunks
  std::vector<float> values_;  // of the present row
};

// Writes the quantizer.dim floats that the codes of row `row` (0 to 15) of the group at `group` stand for to
// `target`, in the user's units; `step` is the row's scale. Precondition, not checked: the precision is not fp32.
// Does not throw.
void decode_row(const Quantizer& quantizer, const std::byte* group, std::size_t row, float step,
                float* target) noexcept;

}  // namespace vectis::inline v0_1::exact
