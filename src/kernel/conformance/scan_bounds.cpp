#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Places of the operands.
enum : std::size_t {
  scan_x,
  scan_q,
  scan_x_terms,
  scan_q_terms,
  scan_candidates,
  scan_bounds,
  scan_counts,
  scan_excluded
};

struct ScanBound {
  double lower = 0;
  double upper = 0;
  double scale = 0;  // of what was added up
};

ScanBound bound_of(const Problem& problem, std::uint64_t query, std::uint64_t row) {
  const std::vector<Operand>& v = problem.operands;
  double dot = 0;
  double products = 0;
  for (std::uint64_t d = 0; d < v[scan_x].columns(); ++d) {
    const double product = v[scan_q].value(query, d) * v[scan_x].value(row, d);
    dot += product;
    products += std::fabs(product);
  }
  const auto of_row = [&](std::uint64_t term) { return v[scan_x_terms].value(row, term); };
  const auto of_query = [&](std::uint64_t term) { return v[scan_q_terms].value(query, term); };
  const double steps = of_query(0) * of_row(1);
  const double reach = of_query(1) * of_row(2) + of_query(2) * of_row(3);
  const double beta_margin = problem.parameters.size() > 1 ? problem.parameters[1].real : 0x1p-19;
  const double margin = problem.parameters.size() > 2 ? problem.parameters[2].real : 0;
  ScanBound bound;
  bound.lower = of_row(0) + steps * dot - reach;
  bound.upper = bound.lower + 2 * reach + beta_margin * std::fabs(of_row(0)) + margin;
  bound.scale = std::fabs(of_row(0)) + std::fabs(steps) * products + 3 * std::fabs(reach) + margin + flushed;
  return bound;
}

bool is_excluded(const Problem& problem, std::uint64_t row) {
  if (problem.parameters.size() < 4 || problem.parameters[3].integer == 0) return false;
  const std::uint64_t number = static_cast<std::uint64_t>(problem.parameters[0].integer) + row;
  return ((problem.operands[scan_excluded].bits(0, number / 32) >> (number % 32)) & 1U) != 0;
}

// What one query has after the call: everything within the limit once, in any order; nothing else; and what was there
// before, and behind the last, as it was. A lower bound as near to the limit as its error may be on either side.
class ScanJudge {
 public:
  ScanJudge(const Problem& before, std::span<const Operand> after, std::uint64_t query, double error)
      : before_(before), after_(after), query_(query), error_(error) {}

  Verdict verdict() {
    const auto begin = static_cast<std::int32_t>(before_.operands[scan_counts].bits(query_, 0));
    const auto end = static_cast<std::int32_t>(after_[scan_counts].bits(query_, 0));
    const auto capacity = static_cast<std::int64_t>(after_[scan_candidates].columns());
    look_at_rows();
    if (end - begin < static_cast<std::int64_t>(required_.size()) || end - begin > allowed_) {
      return wrong(fmt::format("count went from {} to {}, {} to {} rows are within the limit", begin, end,
                               required_.size(), allowed_));
    }
    for (std::int64_t slot = 0; slot < capacity && failure_.empty(); ++slot) {
      if (slot >= begin && slot < end) {
        judge_slot(static_cast<std::uint64_t>(slot));
      } else if (!unchanged(static_cast<std::uint64_t>(slot))) {
        return wrong(fmt::format("slot {} was changed, {} to {} were to be written", slot, begin, end));
      }
    }
    if (!failure_.empty()) return wrong(failure_);
    if (end <= capacity && !required_.empty()) {
      return wrong(fmt::format("row {} is within the limit and was not found", *required_.begin()));
    }
    return {worst_, {}};
  }

 private:
  Verdict wrong(const std::string& what) const {
    return {std::numeric_limits<double>::infinity(), fmt::format("query {}: {}", query_, what)};
  }

  void look_at_rows() {
    const double limit = before_.operands[scan_q_terms].value(query_, 3);
    for (std::uint64_t row = 0; row < before_.operands[scan_x].rows(); ++row) {
      const ScanBound& bound = bounds_.emplace_back(bound_of(before_, query_, row));
      const double error = error_ * bound.scale;
      if (is_excluded(before_, row)) continue;
      if (bound.lower + error <= limit) required_.insert(row);
      if (bound.lower - error <= limit) ++allowed_;
    }
  }

  bool unchanged(std::uint64_t slot) const {
    const auto same = [&](std::size_t place, std::uint64_t column) {
      return after_[place].bits(query_, column) == before_.operands[place].bits(query_, column);
    };
    return same(scan_candidates, slot) && same(scan_bounds, 2 * slot) && same(scan_bounds, 2 * slot + 1);
  }

  void judge_slot(std::uint64_t slot) {
    const std::int64_t first = before_.parameters.empty() ? 0 : before_.parameters[0].integer;
    const std::int64_t row = static_cast<std::int32_t>(after_[scan_candidates].bits(query_, slot)) - first;
    const double limit = before_.operands[scan_q_terms].value(query_, 3);
    if (row < 0 || row >= static_cast<std::int64_t>(bounds_.size())) {
      failure_ = fmt::format("slot {} names row {} of {}", slot, row, bounds_.size());
      return;
    }
    const auto place = static_cast<std::uint64_t>(row);
    const ScanBound& bound = bounds_[place];
    if (!seen_.insert(place).second || bound.lower - error_ * bound.scale > limit || is_excluded(before_, place)) {
      failure_ =
          fmt::format("slot {} names row {}, which was there before, is over the limit or is excluded", slot, row);
      return;
    }
    required_.erase(place);
    for (const std::uint64_t side : {0U, 1U}) {
      const std::uint32_t bits = after_[scan_bounds].bits(query_, 2 * slot + side);
      const double wanted = side == 0 ? bound.lower : bound.upper;
      const double error = Expectation::near(wanted, bound.scale).error(DType::float32, bits);
      worst_ = std::max(worst_, error);
      if (error > error_) {
        failure_ = fmt::format("the {} bound of row {} is {}, expected {}", side == 0 ? "lower" : "upper", row,
                               after_[scan_bounds].value(query_, 2 * slot + side), wanted);
      }
    }
  }

  const Problem& before_;
  std::span<const Operand> after_;
  std::uint64_t query_;
  double error_;
  std::vector<ScanBound> bounds_;
  std::set<std::uint64_t> required_;
  std::int64_t allowed_ = 0;
  std::set<std::uint64_t> seen_;
  double worst_ = 0;
  std::string failure_;
};

// Terms are small multiples of powers of two, so that bounds of int8 are exact. A limit is some row's lower bound, or
// everything, or nothing; a count is anything up to more than there is room for.
void prepare_scan(Problem& problem, Random& random) {
  std::vector<Operand>& v = problem.operands;
  const auto any = [&](std::uint64_t most) { return static_cast<double>(random.below(most)); };
  for (std::uint64_t row = 0; row < v[scan_x].rows(); ++row) {
    v[scan_x_terms].set(row, 0, any(1000));
    v[scan_x_terms].set(row, 1, random.below(2) == 0 ? 1 : 0.5);
    v[scan_x_terms].set(row, 2, any(30));
    v[scan_x_terms].set(row, 3, any(30));
  }
  v[scan_bounds].fill(Data::uniform, random);
  for (std::uint64_t word = 0; word < v[scan_excluded].columns(); ++word) {
    v[scan_excluded].set_bits(0, word, static_cast<std::uint32_t>(random.next()));
  }
  const std::uint64_t capacity = v[scan_candidates].columns();
  for (std::uint64_t query = 0; query < v[scan_q].rows(); ++query) {
    v[scan_q_terms].set(query, 0, random.below(2) == 0 ? -2 : 1);
    v[scan_q_terms].set(query, 1, any(9));
    v[scan_q_terms].set(query, 2, any(9));
    const std::uint64_t kind = random.below(8);
    double limit = kind == 0 ? INFINITY : -INFINITY;
    if (kind > 1 && v[scan_x].rows() > 0) {
      limit = bound_of(problem, query, random.below(v[scan_x].rows())).lower;
    }
    v[scan_q_terms].set(query, 3, limit);
    const std::uint64_t start = random.below(4) == 0 ? random.below(capacity + 3) : random.below(capacity / 2 + 1);
    v[scan_counts].set_bits(query, 0, static_cast<std::uint32_t>(start));
  }
}

// Dimensions: queries, rows, coordinates, capacity.
Subject scan_subject(std::vector<TypeSet> type_sets) {
  Subject made;
  made.operation = "scan_bounds";
  made.error_of = "what the bound is the sum of";
  made.type_sets = std::move(type_sets);
  made.shapes = [](const Dimensions& d, std::span<const ParameterValue> parameters) {
    const std::uint64_t first = parameters.empty() ? 0 : static_cast<std::uint64_t>(parameters[0].integer);
    return std::vector<Shape>{{d[1], d[2]}, {d[0], d[2]},     {d[1], 4}, {d[0], 4},
                              {d[0], d[3]}, {d[0], 2 * d[3]}, {d[0], 1}, {1, (first + d[1]) / 32 + 1}};
  };
  made.small = {{0, 3, 4, 2},    {3, 0, 4, 2},      {1, 1, 1, 1},      {1, 1, 3, 2},
                {1, 7, 5, 9},    {7, 1, 5, 3},      {2, 3, 4, 1},      {5, 5, 7, 20},
                {8, 9, 16, 9},   {17, 15, 31, 30},  {33, 65, 64, 100}, {65, 33, 129, 40},
                {4, 64, 65, 80}, {3, 130, 18, 200}, {9, 300, 37, 64},  {1, 200, 96, 300}};
  made.medium = {21, 137, 131, 90};
  made.timed = {256, 16384, 128, 20000};
  made.large = {{70, 1500, 128, 300}, {45, 700, 76, 200}, {3, 3007, 500, 4000}, {1, 20011, 32, 5000}};
  made.parameters = {{0}, {1000}, {7, 1.0, 3.0}, {}, {37, 0.0, 0.0, 1}};
  made.data = {Data::uniform, Data::ties, Data::positive, Data::zeros};
  made.random_max = {60, 600, 400, 800};
  made.repair = [](Dimensions& d) {
    d[2] = std::max<std::uint64_t>(d[2], 1);
    d[3] = std::max<std::uint64_t>(d[3], 1);
  };
  made.prepare = prepare_scan;
  made.outputs = {scan_candidates, scan_bounds, scan_counts};
  made.free_counts = {{scan_excluded, 'c'}};
  made.compare = [](const Problem& before, std::span<const Operand> after, std::uint64_t query, double limit) {
    return ScanJudge(before, after, query, limit).verdict();
  };
  return made;
}

std::vector<DType> scan_types(DType type, DType of_queries) {
  return {type, of_queries, DType::float32, DType::float32, DType::int32, DType::float32, DType::int32, DType::int32};
}

}  // namespace

void add_scan_bounds(Suite& suite) {
  std::vector<TypeSet> floats;
  constexpr double limit = 1.1e-6;
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16}) {
    // Products of two bfloat16 are exact in float32.
    floats.push_back({std::string(name(type)), scan_types(type, type), type == DType::bfloat16 ? limit / 2 : limit});
    if (type == DType::float32) continue;
    floats.push_back({fmt::format("{} with float32", name(type)), scan_types(type, DType::float32), limit});
  }
  suite.subjects.push_back(scan_subject(std::move(floats)));
  Subject whole = scan_subject({{std::string(name(DType::int8)), scan_types(DType::int8, DType::int8), 0}});
  whole.parameters = {{0, 0.0, 0.0}, {1000, 0.0, 0.0}, {7, 1.0, 3.0}, {37, 0.0, 0.0, 1}};
  suite.subjects.push_back(std::move(whole));
}

}  // namespace vectis::inline v0_1::conformance
