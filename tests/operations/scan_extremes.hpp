// scan_bounds of terms of any magnitude against its formula in float32 on the host. Vectors hold small integers, so
// that their products have no rounding, whatever the type and the order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <map>
#include <vector>

#include "tests/operations/fixture.hpp"

namespace vectis::test {

struct ScanSize {
  std::uint64_t queries = 1;
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t capacity = 1;
  std::uint64_t aligned = 1;  // offsets and strides of both matrices are multiples of it
};

// A float of one of several kinds: of any bits, of ordinary, many or the smallest magnitudes, special ones, integers.
inline float extreme(Random& random, std::uint64_t kind) {
  const auto bits = static_cast<std::uint32_t>(random.next());
  const float fraction = std::ldexp(static_cast<float>(static_cast<std::int32_t>(bits)), -31);
  constexpr std::array<float, 10> specials = {0.0F,     -0.0F,   INFINITY, -INFINITY, FLT_MAX,
                                              -FLT_MAX, FLT_MIN, 1.0F,     -1.0F,     FLT_MIN / 2};
  switch (kind) {
    case 0:
      return std::bit_cast<float>(bits);
    case 1:
      return fraction;
    case 2:
      return std::ldexp(fraction, static_cast<int>(random.below(260)) - 150);
    case 3:
      return std::ldexp(static_cast<float>(static_cast<int>(bits % 7) - 3), static_cast<int>(random.below(4)) - 149);
    case 4:
      return specials.at(bits % specials.size());
    default:
      return static_cast<float>(static_cast<int>(bits % 2001) - 1000);
  }
}

struct ScanTerms {
  float beta, sigma, rho, nu;  // of the row
  float gamma, a, b, limit;    // of the query
  [[nodiscard]] float reach() const { return std::fma(b, nu, a * rho); }
  [[nodiscard]] float lower(float dot) const { return std::fma(gamma * sigma, dot, beta) - reach(); }
};

class ScanExtremes {
 public:
  ScanExtremes(Random& random, DType type, const ScanSize& size, bool tiny_margins = false)
      : random_(random),
        size_(size),
        x_(type, layout(size.rows)),
        q_(type, layout(size.queries)),
        x_terms_(DType::float32, {size.rows, 4, random.below(4), random.below(4)}),
        q_terms_(DType::float32, {size.queries, 4, random.below(4), random.below(4)}),
        candidates_(DType::int32, {size.queries, size.capacity, random.below(4), random.below(4)}),
        bounds_(DType::float32, {size.queries, 2 * size.capacity, random.below(4), random.below(4)}),
        counts_(DType::int32, {size.queries, 1, random.below(4), random.below(4)}),
        excluded_(DType::int32, {1, (first_row + size.rows) / 32 + 1, random.below(4), 0}),
        masked_(random.below(2) == 0) {
    // -128 among them: int8 has no +128.
    const auto integer = [&](auto, auto) {
      return type == DType::int8 ? static_cast<double>(random.below(256)) - 128
                                 : static_cast<double>(random.below(7)) - 3;
    };
    x_.fill(integer);
    q_.fill(integer);
    excluded_.fill([&](auto, auto) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(random.next())); });
    counts_.fill(
        [&](auto, auto) { return random.below(8) == 0 ? -1.0 : static_cast<double>(random.below(size.capacity + 2)); });
    dots_.resize(size.queries * size.rows);
    for (std::uint64_t query = 0; query < size.queries; ++query) {
      for (std::uint64_t row = 0; row < size.rows; ++row) dots_[query * size.rows + row] = product(query, row);
    }
    tiny_margins ? draw_tiny_margins() : draw_terms();
  }

  // Runs the operation and checks what each query finds. A row whose `reach` overflows may be found or not: in float32
  // its bound is -infinity, though the exact one need not be within the limit.
  void run_on(DeviceContext& context) {
    const std::vector<HostMatrix*> matrices = {&x_,          &q_,      &x_terms_, &q_terms_,
                                               &candidates_, &bounds_, &counts_,  &excluded_};
    const HostMatrix before = counts_;
    std::vector<View> views;
    Stream stream(context);
    for (const HostMatrix* matrix : matrices) {
      views.push_back(matrix->view(DeviceMemory(context, matrix->bytes().size())));
      stream.copy_to_device(views.back().memory, 0, matrix->bytes());
    }
    const std::vector<ParameterValue> parameters = {static_cast<std::int64_t>(first_row), 0.0, 0.0,
                                                    static_cast<std::int64_t>(masked_ ? 1 : 0)};
    run(stream, "scan_bounds", views, parameters);
    for (std::size_t i = 0; i < matrices.size(); ++i) stream.copy_to_host(matrices[i]->bytes(), views[i].memory, 0);
    stream.synchronize();
    for (std::uint64_t query = 0; query < size_.queries; ++query) {
      check(query, static_cast<std::int64_t>(before.get(query, 0)));
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  static constexpr std::uint64_t first_row = 37;

  Layout layout(std::uint64_t rows) const {
    const std::uint64_t gap =
        random_.below(3) * size_.aligned + (size_.aligned - size_.columns % size_.aligned) % size_.aligned;
    return {rows, size_.columns, random_.below(3) * size_.aligned, gap};
  }

  [[nodiscard]] float product(std::uint64_t query, std::uint64_t row) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < size_.columns; ++i) sum += q_.get(query, i) * x_.get(row, i);
    return static_cast<float>(sum);
  }
  [[nodiscard]] ScanTerms terms(std::uint64_t query, std::uint64_t row) const {
    const auto x = [&](std::uint64_t i) { return static_cast<float>(x_terms_.get(row, i)); };
    const auto q = [&](std::uint64_t i) { return static_cast<float>(q_terms_.get(query, i)); };
    return {x(0), x(1), x(2), x(3), q(0), q(1), q(2), q(3)};
  }
  [[nodiscard]] float dot(std::uint64_t query, std::uint64_t row) const { return dots_[query * size_.rows + row]; }

  // The error margin of each row is as large as the rest of its bound, and the query's term a is so small that it has
  // few digits: a margin relative to a would be lost.
  void draw_tiny_margins() {
    for (std::uint64_t query = 0; query < size_.queries; ++query) {
      q_terms_.set(query, 0, 1);
      q_terms_.set(query, 1, std::ldexp(1.0 + std::ldexp(static_cast<double>(query % 8), -3), -140));
      q_terms_.set(query, 2, 1);
      q_terms_.set(query, 3, 0);
    }
    for (std::uint64_t row = 0; row < size_.rows; ++row) {
      const std::uint64_t query = row % size_.queries;
      const float small = std::ldexp(std::fabs(extreme(random_, 1)), -30);
      x_terms_.set(row, 0, std::ldexp(small, -40));
      x_terms_.set(row, 1, dot(query, row) == 0 ? 1 : small / dot(query, row));
      x_terms_.set(row, 2, small / static_cast<float>(q_terms_.get(query, 1)));
      x_terms_.set(row, 3, std::ldexp(small, -static_cast<int>(random_.below(40))) * 0x1p-10F);
    }
  }

  // Kinds change from row to row. Some rows cancel: the product and beta, or the product and the reach.
  void draw_terms() {
    for (std::uint64_t query = 0; query < size_.queries; ++query) {
      const std::uint64_t kind = random_.below(6);
      for (std::uint64_t i = 0; i < 3; ++i) {
        float value = extreme(random_, kind);
        while (i > 0 && std::isnan(value)) value = extreme(random_, kind);
        q_terms_.set(query, i, value);
      }
    }
    for (std::uint64_t row = 0; row < size_.rows; ++row) {
      const std::uint64_t kind = random_.below(6);
      for (std::uint64_t i = 0; i < 4; ++i) x_terms_.set(row, i, extreme(random_, kind));
      const std::uint64_t query = random_.below(size_.queries);
      const ScanTerms drawn = terms(query, row);
      const float scaled = drawn.gamma * drawn.sigma * dot(query, row);
      if (random_.below(3) == 0 && std::isfinite(scaled)) x_terms_.set(row, 0, -scaled);
      if (random_.below(3) == 0 && drawn.a != 0) x_terms_.set(row, 2, (drawn.beta + scaled) / drawn.a);
    }
    for (std::uint64_t query = 0; query < size_.queries; ++query) {
      const std::uint64_t row = random_.below(size_.rows);
      const float lower = terms(query, row).lower(dot(query, row));
      const std::array<float, 5> limits = {lower, lower, std::nextafter(lower, INFINITY),
                                           std::nextafter(lower, -INFINITY), extreme(random_, random_.below(6))};
      q_terms_.set(query, 3, limits.at(random_.below(limits.size())));
    }
  }

  [[nodiscard]] bool is_excluded(std::uint64_t row) const {
    const std::uint64_t number = first_row + row;
    const auto word = static_cast<std::uint32_t>(static_cast<std::int32_t>(excluded_.get(0, number / 32)));
    return masked_ && ((word >> (number % 32)) & 1U) != 0;
  }

  void check(std::uint64_t query, std::int64_t begin) {
    std::map<std::uint64_t, float> allowed;
    std::uint64_t required = 0;
    std::map<std::uint64_t, bool> must;
    for (std::uint64_t row = 0; row < size_.rows; ++row) {
      const ScanTerms of = terms(query, row);
      const float lower = of.lower(dot(query, row));
      if (lower > of.limit || is_excluded(row)) continue;
      allowed[row] = lower;
      if (must[row] = !std::isinf(of.reach()); must[row]) ++required;
    }
    const auto end = static_cast<std::int64_t>(counts_.get(query, 0));
    ASSERT_GE(end - begin, static_cast<std::int64_t>(required))
        << "query " << query << missing(query, begin, end, must);
    ASSERT_LE(end - begin, static_cast<std::int64_t>(allowed.size())) << "query " << query;
    if (begin < 0) return;  // counts that are no counts only have room for nothing
    for (std::int64_t slot = begin; slot < std::min<std::int64_t>(end, static_cast<std::int64_t>(size_.capacity));
         ++slot) {
      const auto row = static_cast<std::uint64_t>(candidates_.get(query, static_cast<std::uint64_t>(slot))) - first_row;
      const auto at = allowed.find(row);
      ASSERT_NE(at, allowed.end()) << "query " << query << " finds row " << row;
      const auto lower = static_cast<float>(bounds_.get(query, 2 * static_cast<std::uint64_t>(slot)));
      ASSERT_TRUE(lower == at->second || (std::isnan(lower) && std::isnan(at->second)))
          << "query " << query << ", row " << row << ": " << lower << " instead of " << at->second;
      allowed.erase(at);
      must.erase(row);
    }
    if (end > static_cast<std::int64_t>(size_.capacity)) return;
    for (const auto& [row, needed] : must) ASSERT_FALSE(needed) << "query " << query << " misses row " << row;
  }

  // The rows that a query did not find, with their terms.
  [[nodiscard]] std::string missing(std::uint64_t query, std::int64_t begin, std::int64_t end,
                                    std::map<std::uint64_t, bool> must) const {
    for (std::int64_t slot = std::max<std::int64_t>(begin, 0);
         slot < std::min<std::int64_t>(end, static_cast<std::int64_t>(size_.capacity)); ++slot)
      must.erase(static_cast<std::uint64_t>(candidates_.get(query, static_cast<std::uint64_t>(slot))) - first_row);
    std::string text;
    for (const auto& [row, needed] : must) {
      const ScanTerms of = terms(query, row);
      if (needed)
        text += fmt::format(
            ", misses row {}: beta {} sigma {} rho {} nu {}, gamma {} a {} b {} limit {}, product {}, lower {}", row,
            of.beta, of.sigma, of.rho, of.nu, of.gamma, of.a, of.b, of.limit, dot(query, row),
            of.lower(dot(query, row)));
    }
    return text;
  }

  Random& random_;
  ScanSize size_;
  HostMatrix x_, q_, x_terms_, q_terms_, candidates_, bounds_, counts_, excluded_;
  bool masked_;
  std::vector<float> dots_;
};

}  // namespace vectis::test
