// How the conformance suite describes an operation: types and error limits, shapes, data, and the reference that
// judges it. src/kernel/conformance/<name>.cpp describes one operation or a family; the build finds a new file there.
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

// The operands and parameters of one call of an operation, before the call.
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
  // Returns the expectation of an element with exactly these bits.
  static Expectation exactly(std::uint32_t bits) {
    Expectation made;
    made.bitwise_ = true;
    made.bits_ = bits;
    return made;
  }
  // Returns the expectation of an element near `value`, with an error relative to `scale`, which must not be
  // negative. `floor` is subtracted from the absolute error: a device may flush denormals to zero, which changes each
  // term by up to `flushed` = 2^-126, however large the sum.
  static Expectation near(double value, double scale, double floor = 0) {
    Expectation made;
    made.value_ = value;
    made.scale_ = scale;
    made.floor_ = floor;
    return made;
  }
  // Returns the error of an element with these bits, relative to the scale; infinity if the bits differ from required
  // bits, or a NaN, infinity or exact value (scale 0) is missed. Requires a type that value_of() takes.
  [[nodiscard]] double error(DType type, std::uint32_t bits) const;
  // Returns the expectation as text for messages: the value with the scale of its error, or with the required bits.
  [[nodiscard]] std::string text(DType type) const;

 private:
  bool bitwise_ = false;
  std::uint32_t bits_ = 0;
  double value_ = 0;
  double scale_ = 0;
  double floor_ = 0;
};

inline constexpr double flushed = 0x1p-126;  // the smallest normal float32, above what flushing a denormal changes

// The sizes of a case, from which Subject::shapes computes the shapes of the operands.
using Dimensions = std::vector<std::uint64_t>;

// One combination of operand types that an operation takes, with its error limit: the largest error that Expectation
// may measure. A limit of 0 requires exact results.
struct TypeSet {
  std::string label;         // "float16", "float32->int8"
  std::vector<DType> types;  // of each operand
  double limit = 0;
};

// The element types that operations which only move elements take, such as copy and gather.
inline constexpr std::array stored_types = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};

// Returns one TypeSet for each type of stored_types, in which all `count` operands have that type and the error limit
// is 0: results must be exact.
inline std::vector<TypeSet> equal_types(std::size_t count) {
  std::vector<TypeSet> sets;
  sets.reserve(stored_types.size());
  for (const DType type : stored_types) sets.push_back({std::string(name(type)), std::vector<DType>(count, type), 0});
  return sets;
}

// Returns one TypeSet for each pair (type, error limit) of `limits`, with `inputs` operands of that type followed by
// one operand of type `output`.
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

// The outcome of comparing one call with its reference.
struct Verdict {
  double worst = 0;     // largest error of an element
  std::string failure;  // the element or byte that is wrong, as text; empty: the call is correct
};

// One operation under test (or some of its types): its cases, and the reference that judges them.
struct Subject {
  std::string operation;
  std::string error_of;  // what an error is relative to: "the sum of magnitudes"; empty when every type is exact
  std::vector<TypeSet> type_sets;
  // Returns the shapes of all operands, given the dimensions and parameters of a case.
  std::function<std::vector<Shape>(const Dimensions&, std::span<const ParameterValue>)> shapes;
  std::vector<Dimensions> small;  // each in every layout
  Dimensions medium;              // with every kind of data and all parameters
  std::vector<Dimensions> large;  // each once
  // Set if a large case has few results and so shows few errors: large cases also run with the second kind of `data`,
  // which must exist, in every layout, so that any seed finds an error near the worst. Coverage::slice omits them.
  bool few_results = false;
  // Dimensions of over 2^31 bytes for 4-byte elements; the first dimension grows for smaller types. Coverage::full
  // (the option --full) alone runs them.
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
  // The indices of the operands that the operation writes.
  std::vector<std::size_t> outputs;
  // Computes the expectations of row `row` of the output with index `output` in `operands`, one per column.
  std::function<void(const Problem&, std::size_t output, std::uint64_t row, std::span<Expectation>)> reference;
  // Replaces `reference` where the elements of a row have no fixed order: judges row `row` of all outputs, which must
  // have equally many rows, with errors up to `limit`.
  std::function<Verdict(const Problem& before, std::span<const Operand> after, std::uint64_t row, double limit)>
      compare;
  // The counts of rows or columns that the shapes of other operands do not determine: (operand, 'r' or 'c').
  std::vector<std::pair<std::size_t, char>> free_counts;
};

// One call of a subject's operation that the suite makes. Its name, as "float16:37x65/strided/special/1,0", is enough
// to make the call again. `types` points into the subject, which must outlive the case.
struct Case {
  const TypeSet* types = nullptr;
  Dimensions dimensions;
  Layout layout = Layout::tight;
  Data data = Data::uniform;
  std::vector<ParameterValue> parameters;
};
// Returns the name of a case: types, dimensions, layout, data and parameters. Requires that `types` is not null.
std::string name(const Case& one);
// Returns the case of the subject with that name, as name() writes it, or nothing if the subject has no such types, the
// count of dimensions or parameters differs from the subject's, or a layout, data or number cannot be parsed. The case
// points into `subject`, which must outlive it.
std::optional<Case> find_case(const Subject& subject, std::string_view text);
// Returns what find_case() returns. Throws InvalidInput if the subject has no such case.
Case parse_case(const Subject& subject, std::string_view text);
// Returns whether a dimension is 0, so that an operand is empty and the operation itself is not called on the device.
bool is_empty(const Case& one) noexcept;

// Returns the cases of a subject for one of its type sets, without duplicates: few for Coverage::slice, also huge
// ones for Coverage::full. The cases point to `types`, which must outlive them.
std::vector<Case> cases_of(const Subject& subject, const TypeSet& types, Coverage coverage);
// Draws random cases of a subject until the operands of one take at most 1 MiB together, and returns it; does not
// return if no case is that small. Requires type sets, data and parameters, and subject.random_max of at least 1 in
// each dimension, not checked. The case points into `subject`, which must outlive it.
Case random_case(const Subject& subject, Random& random);
// Returns the bytes of the views of all operands of a case together, without the bytes around the views. Requires a
// case of the subject.
std::uint64_t bytes_of(const Subject& subject, const Case& one);
// Makes the operands of a case: random bytes in outputs, data of the case's kind in the others, then changed by
// subject.prepare. Equal seeds, operations and cases give equal problems, whatever else runs. Requires a case of the
// subject; throws std::bad_alloc if the operands do not fit in memory.
Problem make_problem(const Subject& subject, const Case& one, std::uint64_t seed);
// Returns the seed of a case: a hash (FNV-1a) of the run's seed, the operation and the name of the case.
std::uint64_t case_seed(std::uint64_t seed, std::string_view operation, std::string_view case_name);

// Compares the operands after a call with the reference: outputs must be within the error limit of the case's types,
// and all other bytes unchanged. Checks at most `rows_checked` rows of an output (at least the first and the last;
// the others are drawn at random). Returns a Verdict whose `failure` describes the wrong byte or worst element.
// Requires `after` with the layouts of before.operands. Throws what the executor throws.
Verdict judge(Executor& executor, const Subject& subject, const Case& one, const Problem& before,
              std::span<const Operand> after, std::uint64_t rows_checked = std::numeric_limits<std::uint64_t>::max());

// The result of one behavior test: how many cases ran, and the failures as text. No failures: the test passed.
struct BehaviorReport {
  std::uint64_t cases = 0;
  std::uint64_t not_offered = 0;  // calls that the device does not offer; not among the cases
  double worst = 0;               // largest error, where there is one to measure
  std::vector<std::string> failures;
};
// A test of behavior that no single operation determines: streams, memory, errors or threads. `run` returns the
// failures in its report, or throws what the device throws.
struct Behavior {
  std::string name;     // "streams"
  std::string summary;  // one sentence
  double limit = 0;     // of the error
  std::function<BehaviorReport(Runtime&, const Device&, std::uint64_t seed, Coverage)> run;
};

// All tests of the conformance suite.
struct Suite {
  std::vector<Subject> subjects;
  std::vector<Behavior> behaviors;
};
// Returns all tests in src/kernel/conformance, sorted by name; several subjects may share an operation, with
// different types. The suite lives as long as the program. Thread-safe.
const Suite& whole_suite();

// The subjects and behavior tests that Options::operations matches; they point into whole_suite().
struct Selection {
  std::vector<const Subject*> subjects;
  std::vector<const Behavior*> behaviors;
};
// Returns the tests whose whole name matches the regular expression options.operations. Throws InvalidInput if it is
// not a regular expression or matches no test.
Selection select(const Options& options);

}  // namespace vectis::inline v0_1::conformance
