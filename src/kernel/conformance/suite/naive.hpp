// A second implementation of every operation, as plainly as its definition reads and in float: for the tests of the
// suite itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::conformance::second {

// Returns an element as float, unpacked by the library's conversions. Requires float32, float16, bfloat16 or int8
// (any other type is read as float32), row < rows() and column < columns(); does not check them.
inline float load(const Operand& operand, std::uint64_t row, std::uint64_t column) {
  const std::uint32_t bits = operand.bits(row, column);
  switch (operand.type()) {
    case DType::float16:
      return to_float(Half{static_cast<std::uint16_t>(bits)});
    case DType::bfloat16:
      return to_float(Bfloat16{static_cast<std::uint16_t>(bits)});
    case DType::int8:
      return static_cast<float>(static_cast<std::int8_t>(bits));
    default:
      return std::bit_cast<float>(bits);
  }
}

// Rounds to the nearest integer, ties to even, saturated to [least, most]; NaN becomes 0. Requires limits of int32.
inline std::int32_t to_integer(double value, std::int64_t least, std::int64_t most) {
  if (value != value) return 0;
  if (value <= static_cast<double>(least)) return static_cast<std::int32_t>(least);
  if (value >= static_cast<double>(most)) return static_cast<std::int32_t>(most);
  return static_cast<std::int32_t>(std::lrint(value));
}

// Returns `value` as a float for a second rounding to a narrower type. Rounding to nearest would round twice, so the
// part that float cannot represent is kept as an odd last bit (round to odd).
inline float to_odd_float(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (std::fabs(std::bit_cast<float>(bits)) > std::fabs(value)) --bits;
  if (std::bit_cast<float>(bits) != value && std::isfinite(value)) bits |= 1U;
  return std::bit_cast<float>(bits);
}

// Writes an element, rounded to the operand's type; integers saturate and NaN becomes 0 in them. Requires float32,
// float16, bfloat16, int8 or int32 (any other type is written as float32), row < rows() and column < columns().
inline void store(Operand& operand, std::uint64_t row, std::uint64_t column, double value) {
  switch (operand.type()) {
    case DType::float16:
      return operand.set_bits(row, column, to_half(to_odd_float(value)).bits);
    case DType::bfloat16:
      return operand.set_bits(row, column, to_bfloat16(to_odd_float(value)).bits);
    case DType::int8:
      return operand.set_bits(row, column, static_cast<std::uint8_t>(to_integer(value, -128, 127)));
    case DType::int32:
      return operand.set_bits(row, column, static_cast<std::uint32_t>(to_integer(value, INT32_MIN, INT32_MAX)));
    default:
      return operand.set_bits(row, column, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
}

using Operands = std::vector<Operand>;
using Parameters = std::vector<ParameterValue>;

// Reduces the values `x` by `kind` (argmax, sum, mean, norm, max or min) and writes the result to column 0 of a row
// of `out`; argmax writes an index. A NaN wins in argmax, max and min. Any other kind writes nothing.
inline void reduce(const std::string& kind, const std::vector<float>& x, Operand& out, std::uint64_t row) {
  if (kind == "argmax") {
    std::size_t best = 0;
    for (std::size_t i = 1; i < x.size(); ++i) {
      if (std::isnan(x[best])) break;
      if (std::isnan(x[i]) || x[i] > x[best]) best = i;
    }
    return out.set_bits(row, 0, static_cast<std::uint32_t>(best));
  }
  double sum = 0;
  double squares = 0;
  float most = -INFINITY;
  float least = INFINITY;
  for (const float value : x) {
    sum += value;
    squares += static_cast<double>(value) * value;
    most = std::isnan(value) || std::isnan(most) ? NAN : std::max(most, value);
    least = std::isnan(value) || std::isnan(least) ? NAN : std::min(least, value);
  }
  if (kind == "sum") store(out, row, 0, sum);
  if (kind == "mean") store(out, row, 0, sum / static_cast<double>(x.size()));
  if (kind == "norm") store(out, row, 0, std::sqrt(squares));
  if (kind == "max") store(out, row, 0, most);
  if (kind == "min") store(out, row, 0, least);
}

// Reduces operand 0 by `kind` into operand 1: each row on its own if `by_row`, else all elements together. Requires
// two operands, the second with a row for each result.
inline void reduction(const std::string& kind, bool by_row, Operands& v) {
  std::vector<float> all;
  for (std::uint64_t r = 0; r < v[0].rows(); ++r) {
    for (std::uint64_t c = 0; c < v[0].columns(); ++c) all.push_back(load(v[0], r, c));
    if (!by_row) continue;
    reduce(kind, all, v[1], r);
    all.clear();
  }
  if (!by_row) reduce(kind, all, v[1], 0);
}

// Computes operand 2 = alpha * op(operand 0) * op(operand 1) + beta * operand 2. The parameters, which may be absent,
// are transpose of operand 0, of operand 1, alpha (1) and beta (0). Requires three operands with matching shapes.
inline void matmul(Operands& v, const Parameters& n) {
  const bool ta = !n.empty() && n[0].integer != 0;
  const bool tb = n.size() > 1 && n[1].integer != 0;
  const double alpha = n.size() > 2 ? n[2].real : 1;
  const double beta = n.size() > 3 ? n[3].real : 0;
  const std::uint64_t depth = ta ? v[0].rows() : v[0].columns();
  for (std::uint64_t i = 0; i < v[2].rows(); ++i) {
    for (std::uint64_t j = 0; j < v[2].columns(); ++j) {
      double sum = 0;
      for (std::uint64_t k = 0; k < depth; ++k) {
        sum +=
            static_cast<double>(ta ? load(v[0], k, i) : load(v[0], i, k)) * (tb ? load(v[1], j, k) : load(v[1], k, j));
      }
      const double scaled = depth == 0 ? 0 : alpha * sum;
      store(v[2], i, j, beta == 0 ? scaled : scaled + beta * load(v[2], i, j));
    }
  }
}

// Computes operand 2, the distances of all rows of operand 0 to all rows of operand 1. `kind` is l2_squared,
// dot_product or cosine_distance (1 if a vector is 0); any other kind writes nothing. Requires matching shapes.
inline void distance(const std::string& kind, Operands& v) {
  for (std::uint64_t i = 0; i < v[2].rows(); ++i) {
    for (std::uint64_t j = 0; j < v[2].columns(); ++j) {
      double l2 = 0;
      double dot = 0;
      double qq = 0;
      double xx = 0;
      for (std::uint64_t d = 0; d < v[0].columns(); ++d) {
        const double a = load(v[0], i, d);
        const double b = load(v[1], j, d);
        l2 += (a - b) * (a - b);
        dot += a * b;
        qq += a * a;
        xx += b * b;
      }
      if (kind == "l2_squared") store(v[2], i, j, l2);
      if (kind == "dot_product") store(v[2], i, j, dot);
      if (kind == "cosine_distance")
        store(v[2], i, j, qq == 0 || xx == 0 ? 1 : 1 - dot / std::sqrt(qq) / std::sqrt(xx));
    }
  }
}

// Writes the k largest (or smallest) elements of each row of operand 0 to operand 1 and their columns to operand 2; k
// is the columns of operand 1. NaN comes last, and the lower column first among equal elements. Requires k at most
// the columns of operand 0.
inline void top_k(Operands& v, bool largest) {
  for (std::uint64_t r = 0; r < v[0].rows(); ++r) {
    std::vector<bool> taken(v[0].columns());
    for (std::uint64_t k = 0; k < v[1].columns(); ++k) {
      std::uint64_t best = v[0].columns();
      for (std::uint64_t c = 0; c < v[0].columns(); ++c) {
        if (taken[c]) continue;
        const float x = load(v[0], r, c);
        const float held = best == v[0].columns() ? 0 : load(v[0], r, best);
        const bool first = best == v[0].columns();
        if (first || (std::isnan(held) && !std::isnan(x)) || (largest ? x > held : x < held)) best = c;
      }
      taken[best] = true;
      v[1].set_bits(r, k, v[0].bits(r, best));
      v[2].set_bits(r, k, static_cast<std::uint32_t>(best));
    }
  }
}

// Copies rows by the int32 indices in row 0 of operand 1: gather reads row index[m] of operand 0 into row m of
// operand 2, scatter writes row m of operand 0 to row index[m] of operand 2. An index outside of the rows gathers
// zeros and scatters nothing.
inline void move_rows(bool gather, Operands& v) {
  for (std::uint64_t m = 0; m < v[1].columns(); ++m) {
    const auto named = static_cast<std::int32_t>(v[1].bits(0, m));
    const std::uint64_t rows = gather ? v[0].rows() : v[2].rows();
    const bool there = named >= 0 && static_cast<std::uint64_t>(named) < rows;
    for (std::uint64_t c = 0; c < v[0].columns(); ++c) {
      const auto row = static_cast<std::uint64_t>(there ? named : 0);
      if (gather) v[2].set_bits(m, c, there ? v[0].bits(row, c) : 0);
      if (!gather && there) v[2].set_bits(row, c, v[0].bits(m, c));
    }
  }
}

// Writes the prefix sums of each row of operand 0 to operand 1, without the element itself if `exclusive`. Sums of
// int32 wrap. Requires operands of equal shape.
inline void prefix_sum(Operands& v, bool exclusive) {
  for (std::uint64_t r = 0; r < v[0].rows(); ++r) {
    double sum = 0;
    std::uint32_t wrapped = 0;
    for (std::uint64_t c = 0; c < v[0].columns(); ++c) {
      const bool whole = v[0].type() == DType::int32;
      const auto put = [&] { whole ? v[1].set_bits(r, c, wrapped) : store(v[1], r, c, sum); };
      if (exclusive) put();
      sum += whole ? 0 : load(v[0], r, c);
      wrapped += v[0].bits(r, c);
      if (!exclusive) put();
    }
  }
}

// Computes the operation scan_bounds: appends to operands 4 and 5 the row and the bounds of every row of codes
// (operand 0) whose lower bound is at most the query's limit, and counts them in operand 6, also those that do not
// fit. Leaves out rows whose bit in operand 7 is set if parameter 3 is 1. Appends rows in reverse order, since any
// order is right. Requires the operands that the operation takes.
inline void scan_bounds(Operands& v, const Parameters& n) {
  const float beta_margin = n.size() > 1 ? static_cast<float>(n[1].real) : 0x1p-19F;
  const float margin = n.size() > 2 ? static_cast<float>(n[2].real) : 0.0F;
  const bool masked = n.size() > 3 && n[3].integer != 0;
  const std::uint64_t first = n.empty() ? 0 : static_cast<std::uint64_t>(n[0].integer);
  for (std::uint64_t q = 0; q < v[1].rows(); ++q) {
    for (std::uint64_t row = v[0].rows(); row-- > 0;) {  // any order is right
      const std::uint64_t number = first + row;
      if (masked && ((v[7].bits(0, number / 32) >> (number % 32)) & 1U) != 0) continue;
      double dot = 0;
      for (std::uint64_t d = 0; d < v[0].columns(); ++d) dot += double{load(v[0], row, d)} * load(v[1], q, d);
      const float beta = load(v[2], row, 0);
      const float reach = load(v[3], q, 1) * load(v[2], row, 2) + load(v[3], q, 2) * load(v[2], row, 3);
      const float lower = beta + load(v[3], q, 0) * load(v[2], row, 1) * static_cast<float>(dot) - reach;
      if (lower > load(v[3], q, 3)) continue;
      const std::uint32_t slot = v[6].bits(q, 0);
      v[6].set_bits(q, 0, slot + 1);
      if (slot >= v[4].columns()) continue;
      v[4].set_bits(q, slot, static_cast<std::uint32_t>(number));
      store(v[5], q, 2 * slot, lower);
      store(v[5], q, 2 * slot + 1, lower + 2 * reach + (beta_margin * std::fabs(beta) + margin));
    }
  }
}

// Computes the operation tighten_bounds: lowers each query's limit (operand 3) to the k-th smallest upper bound, where
// k is parameter 0, 1 by default; copies the candidates within the limit to operands 4 and 5 in reverse order, and
// their count to operand 2. For a query with more candidates than operand 0 holds, only the limit is lowered. Requires
// the operation's operands; does not check them.
inline void tighten_bounds(Operands& v, const Parameters& n) {
  const std::uint64_t k = n.empty() ? 1 : static_cast<std::uint64_t>(n[0].integer);
  for (std::uint64_t q = 0; q < v[0].rows(); ++q) {
    const std::uint64_t stored = std::min<std::uint64_t>(v[2].bits(q, 0), v[0].columns());
    float limit = load(v[3], q, 0);
    for (std::uint64_t i = 0; i < stored; ++i) {  // the least upper bound that k are not above
      const float upper = load(v[1], q, 2 * i + 1);
      std::uint64_t within = 0;
      for (std::uint64_t j = 0; j < stored; ++j) within += load(v[1], q, 2 * j + 1) <= upper ? 1U : 0U;
      if (within >= k && upper < limit) limit = upper;
    }
    store(v[3], q, 0, limit);
    if (v[2].bits(q, 0) > v[0].columns()) continue;
    std::uint32_t kept = 0;
    for (std::uint64_t i = stored; i-- > 0;) {
      if (load(v[1], q, 2 * i) > limit) continue;
      if (kept < v[4].columns()) {
        v[4].set_bits(q, kept, v[0].bits(q, i));
        v[5].set_bits(q, 2 * kept, v[1].bits(q, 2 * i));
        v[5].set_bits(q, 2 * kept + 1, v[1].bits(q, 2 * i + 1));
      }
      ++kept;
    }
    v[2].set_bits(q, 0, kept);
  }
}

// Returns the squared Euclidean distance of a row of `a` and a row of `b`, summed in float. Requires rows that exist
// and at least as many columns in `b`.
inline float squared_distance(const Operand& a, std::uint64_t row, const Operand& b, std::uint64_t other) {
  float sum = 0;
  for (std::uint64_t d = 0; d < a.columns(); ++d) {
    const float difference = load(a, row, d) - load(b, other, d);
    sum += difference * difference;
  }
  return sum;
}

// Returns a key that orders by distance, then by row: the distance's bits above the row. NaN comes last. Requires a
// distance that is not negative.
inline std::uint64_t beam_key(float distance, std::uint32_t row) {
  const std::uint32_t bits = distance != distance ? 0x7FC0'0000U : std::bit_cast<std::uint32_t>(distance);
  return std::uint64_t{bits} << 32U | row;
}

// Computes the operation graph_search, a beam search in a graph, for each query of operand 1: writes the nearest rows
// to operand 4, their squared distances to operand 5 and the count of scored rows to operand 6. Entries without a row
// are ~0 and infinity. Requires the operands that the operation takes.
inline void graph_search(Operands& v, const Parameters& n) {
  const std::uint64_t width = v[4].columns();
  const std::uint64_t nearest =
      std::min<std::uint64_t>(n.empty() ? 1 : static_cast<std::uint64_t>(n[0].integer), width);
  const auto epsilon = n.size() > 1 ? static_cast<float>(n[1].real) : 0.0F;
  for (std::uint64_t q = 0; q < v[1].rows(); ++q) {
    std::map<std::uint64_t, bool> kept;  // by key, whether it was visited
    std::uint32_t scored = 0;
    const Operand* lists = &v[3];
    std::uint64_t list = 0;
    while (lists != nullptr) {
      std::map<std::uint64_t, bool> next = kept;
      for (std::uint64_t i = 0; i < lists->columns(); ++i) {
        const std::uint32_t row = lists->bits(list, i);
        if (row >= v[0].rows()) continue;
        const std::uint64_t key = beam_key(squared_distance(v[0], row, v[1], q), row);
        if (next.try_emplace(key, false).second) ++scored;
      }
      while (next.size() > width) next.erase(std::prev(next.end()));
      kept = next;
      lists = nullptr;
      const auto distance = [](std::uint64_t key) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32U));
      };
      float limit = INFINITY;
      if (epsilon > 0 && kept.size() >= nearest) {
        const float known = distance(std::next(kept.begin(), static_cast<std::ptrdiff_t>(nearest) - 1)->first);
        limit = epsilon * epsilon * known;
      }
      for (auto& [key, visited] : kept) {
        if (visited) continue;
        if (distance(key) > limit ||
            (limit == limit && epsilon > 0 && kept.size() >= nearest && std::isnan(distance(key))))
          break;
        visited = true;
        list = static_cast<std::uint32_t>(key);
        lists = &v[2];
        break;
      }
    }
    auto one = kept.begin();
    for (std::uint64_t i = 0; i < width; ++i) {
      const bool none = one == kept.end();
      v[4].set_bits(q, i, none ? ~0U : static_cast<std::uint32_t>(one->first));
      v[5].set_bits(q, i, none ? 0x7F80'0000U : static_cast<std::uint32_t>(one->first >> 32U));
      if (!none) ++one;
    }
    v[6].set_bits(q, 0, scored);
  }
}

// Computes the operation graph_prune (RobustPrune) for each list of candidates in operand 1: writes the chosen rows
// to operand 3 and their distances to operand 4, and fills the rest with ~0 and infinity. Parameter 0 is alpha (1 if
// absent). Requires candidates in order of distance.
inline void graph_prune(Operands& v, const Parameters& n) {
  const auto reach = static_cast<float>(n.empty() ? 1 : n[0].real);
  for (std::uint64_t list = 0; list < v[1].rows(); ++list) {
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < v[1].columns() && taken < v[3].columns(); ++i) {
      const std::uint32_t row = v[1].bits(list, i);
      bool way = row >= v[0].rows();
      for (std::uint64_t k = 0; k < taken && !way; ++k) {
        way = !(squared_distance(v[0], v[3].bits(list, k), v[0], row) * reach * reach > load(v[2], list, i));
      }
      if (way) continue;
      v[3].set_bits(list, taken, row);
      v[4].set_bits(list, taken++, v[2].bits(list, i));
    }
    for (; taken < v[3].columns(); ++taken) {
      v[3].set_bits(list, taken, ~0U);
      v[4].set_bits(list, taken, 0x7F80'0000U);
    }
  }
}

// Returns the operands after a call of the operation, computed on the host. Requires operands and parameters that the
// operation takes, as make_problem() makes them. For an unknown operation, returns the operands unchanged.
inline Operands naive(const std::string& operation, const Problem& problem) {
  Operands v = problem.operands;
  const Parameters& n = problem.parameters;
  const bool first = !n.empty() && n[0].integer != 0;
  if (operation == "l2_squared" || operation == "dot_product" || operation == "cosine_distance") {
    distance(operation, v);
  } else if (operation == "matmul") {
    matmul(v, n);
  } else if (operation == "top_k") {
    top_k(v, n.empty() || first);
  } else if (operation == "scan_bounds") {
    scan_bounds(v, n);
  } else if (operation == "tighten_bounds") {
    tighten_bounds(v, n);
  } else if (operation == "graph_search") {
    graph_search(v, n);
  } else if (operation == "graph_prune") {
    graph_prune(v, n);
  } else if (operation == "gather" || operation == "scatter") {
    move_rows(operation == "gather", v);
  } else if (operation == "prefix_sum") {
    prefix_sum(v, first);
  } else if (v.size() == 2 && operation != "copy" && operation != "transpose" && operation != "cast") {
    const bool by_row = operation.ends_with("_rows");
    reduction(by_row ? operation.substr(0, operation.size() - 5) : operation, by_row, v);
  } else {
    Operand& out = v.back();
    for (std::uint64_t r = 0; r < out.rows(); ++r) {
      for (std::uint64_t c = 0; c < out.columns(); ++c) {
        if (operation == "fill") store(out, r, c, n[0].real);
        if (operation == "copy") out.set_bits(r, c, v[0].bits(r, c));
        if (operation == "transpose") out.set_bits(r, c, v[0].bits(c, r));
        if (operation == "cast") {
          const bool whole = v[0].type() == DType::int32;
          store(out, r, c, whole ? static_cast<std::int32_t>(v[0].bits(r, c)) : double{load(v[0], r, c)});
        }
      }
    }
  }
  return v;
}

}  // namespace vectis::conformance::second
