// What the suite knows of an operation: types and error limits, shapes, data, and the reference that judges it.
// src/kernel/conformance/<name>.cpp describes one operation or a family; a new file there is found by itself.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/conformance/suite/operand.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/random.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/kernel/conformance.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::conformance {

// One call: the operands as they are before it, and its parameters.
struct Problem {
  std::vector<Operand> operands;
  std::vector<ParameterValue> parameters;
};

// What an element of an output must be: given bits, or a value within a relative error.
//
// The error of an element is max(0, |actual - value| - floor) / scale, and may be at most the limit of its TypeSet.
// `scale` is the size of what was summed to compute the element, the sum of the magnitudes of all terms for a sum:
// rounding errors grow with the terms, not with a result in which they may cancel. A NaN requires any NaN, an infinity
// that infinity, and a scale of 0 the exact value. A limit is set to about twice the largest error measured over all
// devices and seeds: below four times what one device shows (see Line::has_headroom), and above the rounding of every
// order of summation.
class Expectation {
 public:
  Expectation() = default;
  static Expectation exactly(std::uint32_t bits) {
    Expectation made;
    made.bitwise_ = true;
    made.bits_ = bits;
    return made;
  }
  // `floor` is subtracted from the error: a device may flush denormals to zero, which changes each term by up to
  // `flushed` = 2^-126, however large the sum.
  static Expectation near(double value, double scale, double floor = 0) {
    Expectation made;
    made.value_ = value;
    made.scale_ = scale;
    made.floor_ = floor;
    return made;
  }
  // The error of an element with these bits; infinite when it is simply wrong.
  [[nodiscard]] double error(DType type, std::uint32_t bits) const;
  // For messages: "0.5", "bits 0x3c00".
  [[nodiscard]] std::string text(DType type) const;

 private:
  bool bitwise_ = false;
  std::uint32_t bits_ = 0;
  double value_ = 0;
  double scale_ = 0;
  double floor_ = 0;
};

inline constexpr double flushed = 0x1p-126;  // the smallest normal float32, above what flushing a denormal changes

using Dimensions = std::vector<std::uint64_t>;

// Operand types that go together, with the largest error they may show. 0: exact.
struct TypeSet {
  std::string label;  // "float16", "float32->int8"
  std::vector<DType> types;
  double limit = 0;
};

// The types that operations which move elements take.
inline constexpr std::array stored_types = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};

// For each type of stored_types, the set in which all `count` operands have that type. Exact.
inline std::vector<TypeSet> equal_types(std::size_t count) {
  std::vector<TypeSet> sets;
  sets.reserve(stored_types.size());
  for (const DType type : stored_types) sets.push_back({std::string(name(type)), std::vector<DType>(count, type), 0});
  return sets;
}

// For each (type, limit), the set of `inputs` operands of that type and one operand of type `output`.
inline std::vector<TypeSet> reducing_types(std::size_t inputs, DType output,
                                           std::initializer_list<std::pair<DType, double>> limits) {
  std::vector<TypeSet> sets;
  for (const auto& [type, limit] : limits) {
    std::vector<DType> types(inputs, type);
    types.push_back(output);
    sets.push_back({std::string(name(type)), std::move(types), limit});
  }
  return sets;
}

struct Verdict {
  double worst = 0;     // largest error
  std::string failure;  // empty: everything as it must be
};

struct Subject {
  std::string operation;
  std::string error_of;  // what an error is relative to: "the sum of magnitudes"; empty when every type is exact
  std::vector<TypeSet> type_sets;
  // From the dimensions of a case to the shapes of its operands.
  std::function<std::vector<Shape>(const Dimensions&, std::span<const ParameterValue>)> shapes;
  std::vector<Dimensions> small;  // each in every layout
  Dimensions medium;              // with every kind of data and all parameters
  std::vector<Dimensions> large;  // each once
  // A large case has few results and so shows few errors: they also run with the second kind of data in every layout,
  // so that any seed finds an error near the worst. Not in a slice.
  bool few_results = false;
  // Over 2^31 bytes of a type of four; the first dimension grows for smaller types. With --full only.
  std::vector<Dimensions> huge;
  Dimensions timed;                                            // what `perf` measures
  std::vector<std::vector<ParameterValue>> parameters = {{}};  // the first for most cases
  std::vector<Data> data = {Data::uniform};                    // the first for most cases
  Dimensions random_max;                                       // of random cases, by dimension
  std::function<void(Dimensions&)> repair;                     // makes random dimensions fit together; may be empty
  // Draws parameters of a random case; empty: one of `parameters`.
  std::function<std::vector<ParameterValue>(Random&)> random_parameters;
  // Changes operands after the general filling (indices into range); may be empty.
  std::function<void(Problem&, Random&)> prepare;
  // Which operands it writes, by their place.
  std::vector<std::size_t> outputs;
  // What row `row` of output `output` (a place in `operands`) must be afterwards.
  std::function<void(const Problem&, std::size_t output, std::uint64_t row, std::span<Expectation>)> reference;
  // Instead of it, where elements have no place of their own (a set in any order): judges row `row` of all outputs,
  // which have equally many rows, with errors up to `limit`.
  std::function<Verdict(const Problem& before, std::span<const Operand> after, std::uint64_t row, double limit)>
      compare;
  // Counts that the shapes of other operands do not determine: (operand, 'r' or 'c').
  std::vector<std::pair<std::size_t, char>> free_counts;
};

// One call to make. Its name is enough to make it again: "float16:37x65/strided/special/1,0".
struct Case {
  const TypeSet* types = nullptr;
  Dimensions dimensions;
  Layout layout = Layout::tight;
  Data data = Data::uniform;
  std::vector<ParameterValue> parameters;
};
std::string name(const Case& one);
// The inverse; InvalidInput when the subject has no such types or the text is no name of a case.
Case parse_case(const Subject& subject, std::string_view text);

std::vector<Case> cases_of(const Subject& subject, const TypeSet& types, Coverage coverage);
Case random_case(const Subject& subject, Random& random);
// Of all operands together, without what lies around them.
std::uint64_t bytes_of(const Subject& subject, const Case& one);
// The same problem for the same seed, operation and case, whatever else runs.
Problem make_problem(const Subject& subject, const Case& one, std::uint64_t seed);
std::uint64_t case_seed(std::uint64_t seed, std::string_view operation, std::string_view case_name);

// Compares the operands after the call with the reference: outputs within the limit, everything else untouched. At most
// `rows_checked` rows of an output, the first and last among them, the others drawn.
Verdict judge(Executor& executor, const Subject& subject, const Case& one, const Problem& before,
              std::span<const Operand> after, std::uint64_t rows_checked = std::numeric_limits<std::uint64_t>::max());

// Behavior that is not one operation's: streams, memory, errors, threads. Throws or returns failures.
struct BehaviorReport {
  std::uint64_t cases = 0;
  double worst = 0;  // largest error, where there is one to measure
  std::vector<std::string> failures;
};
struct Behavior {
  std::string name;     // "streams"
  std::string summary;  // one sentence
  double limit = 0;     // of the error
  std::function<BehaviorReport(Runtime&, const Device&, std::uint64_t seed, Coverage)> run;
};

struct Suite {
  std::vector<Subject> subjects;
  std::vector<Behavior> behaviors;
};
// Everything in the folder, by name. Several subjects may share an operation, with different types.
const Suite& whole_suite();

// The operations and behavior tests that Options::operations matches.
struct Selection {
  std::vector<const Subject*> subjects;
  std::vector<const Behavior*> behaviors;
};
// Throws InvalidInput if the expression is not a regular expression or matches nothing.
Selection select(const Options& options);

}  // namespace vectis::inline v0_1::conformance
