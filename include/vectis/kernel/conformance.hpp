// The conformance suite: runs every named operation on a device and compares the results with a reference in double
// precision, with a stated error limit for each operation and type; and tests streams, memory, threads and invalid
// calls. It is linked by the command `vectis conformance --backend NAME` and by tests, and is not part of libvectis.
// docs/conformance.md explains errors and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::conformance {

// How many cases test() runs.
enum class Coverage : std::uint8_t {
  slice,     // some cases of every operation and type, about a minute
  standard,  // all shapes in all layouts with all kinds of data
  full,      // also views of more than 2^31 bytes, if there is memory for them
};

// Options of test(), fuzz(), measure() and names(), which throw InvalidInput if `operations` is not a regular
// expression or matches no name.
struct Options {
  std::string operations = ".*";  // a regular expression that must match the whole name
  std::string case_name;          // run this case alone, named as in a report; empty: all
  std::uint64_t seed = 1;         // of the test data; equal seeds give equal data
  Coverage coverage = Coverage::standard;
  double seconds = 60;  // duration of fuzz()
  bool stop_at_failure = false;
  // Called before each group of cases (an operation with its types) and when all are done; may be empty.
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress;
};

// The result for one operation with one combination of types, or for one behavior test (streams, memory, ...).
struct Line {
  std::string operation;
  std::string types;           // "float16", "float32->int8"; empty for a behavior test
  std::uint64_t cases = 0;     // that ran on the device
  std::uint64_t empty = 0;     // of `cases`: with an empty operand, for which a backend's run_op is not called
  std::uint64_t failures = 0;  // of `cases`: a wrong result or an error
  std::uint64_t skipped = 0;   // not run: not enough free memory
  // Number of calls that the device does not offer: it answered Unsupported or NoCompiler. They are not failures. The
  // first one ends the line of an operation.
  std::uint64_t not_offered = 0;
  double worst = 0;      // largest error measured
  double limit = 0;      // largest error allowed; 0: results must be exact
  std::string error_of;  // the quantity errors are divided by: "the sum of magnitudes"
  std::string worst_case;

  // Returns whether no case failed; true also if no case ran.
  [[nodiscard]] bool passed() const noexcept { return failures == 0; }
  // Returns whether the device offers some of the line's cases, those with empty operands aside, but not all.
  [[nodiscard]] bool partly_offered() const noexcept { return not_offered != 0 && cases > empty; }
  // Returns whether the limit is more than four times the largest error measured, so that a tighter limit would hold
  // on this device.
  [[nodiscard]] bool has_headroom() const noexcept { return limit > 4 * worst; }
};

// One failed case of a Report: the operation, the case (empty for a behavior test) and what was wrong.
struct Failure {
  std::string operation;
  std::string case_name;
  std::string what;
};

// The result of test() or fuzz() on one device.
struct VECTIS_API Report {
  std::string device;  // "opencl:0"
  std::uint64_t seed = 0;
  std::vector<Line> lines;
  std::vector<Failure> failures;  // at most five per line

  // Returns whether at least one case ran and none failed. Operations that the device does not offer do not count as
  // failures.
  [[nodiscard]] bool passed() const noexcept;
  // Returns whether the device offers everything that was selected: no call was answered Unsupported or NoCompiler.
  [[nodiscard]] bool complete() const noexcept;
  // Returns the number of cases that ran, over all lines.
  [[nodiscard]] std::uint64_t cases() const noexcept;
  // Returns the number of cases that failed, over all lines; `failures` describes at most five per line.
  [[nodiscard]] std::uint64_t failed() const noexcept;
};

// Runs the suite on the device and reports each operation and behavior test. Throws InvalidInput if
// `options.operations` is not a regular expression or matches nothing, or if `options.case_name` is not a case of
// the selected operations. Errors of the device during a case are failures in the report, not exceptions; a device
// on which no context can be opened throws its error.
VECTIS_API Report test(Runtime& runtime, const Device& device, const Options& options = {});
// Runs random shapes, types, layouts and parameters of the selected operations for `options.seconds`, and reports
// them; `options.case_name` is ignored. Throws InvalidInput if `options.operations` is not a regular expression or
// matches nothing. Errors of the device during a case are failures in the report, not exceptions.
VECTIS_API Report fuzz(Runtime& runtime, const Device& device, const Options& options = {});

// Measured speed of one operation with one combination of types.
struct Speed {
  std::string operation;
  std::string types;
  std::string case_name;
  double seconds = 0;      // of one call, the shortest of several
  double gigaflops = 0;    // 10^9 arithmetic operations per second
  double gigabytes = 0;    // 10^9 bytes read or written per second
  double of_roofline = 0;  // fraction of the roofline: the larger of the shares of peak arithmetic and peak bandwidth
  double error = 0;        // of the timed call's result
  double limit = 0;
  std::string failure;  // not empty: the result was wrong or an error was thrown, and the speed is meaningless
};

// The result of measure() on one device.
struct SpeedReport {
  std::string device;
  double peak_gigaflops = 0;  // of the fastest `matmul`
  double peak_gigabytes = 0;  // of the fastest `copy`
  std::vector<Speed> speeds;
};
// Times every selected operation on the device and checks the results of the timed calls; `options.case_name` is
// ignored. Throws InvalidInput if `options.operations` is not a regular expression or matches nothing. A wrong
// result or an error of the device is Speed::failure, not an exception.
VECTIS_API SpeedReport measure(Runtime& runtime, const Device& device, const Options& options = {});

// Returns the names that `options.operations` selects: operations, then behavior tests. Throws InvalidInput if
// `options.operations` is not a regular expression or matches nothing.
VECTIS_API std::vector<std::string> names(const Options& options = {});

// Writes the report as CSV: a header and one line per Line. A failed write is left in the state of `out`.
VECTIS_API void write_csv(std::ostream& out, const Report& report);
// Writes the speeds as CSV: a header and one line per Speed. A failed write is left in the state of `out`.
VECTIS_API void write_csv(std::ostream& out, const SpeedReport& report);

// A column of docs/support.md: the report of a backend that was tested.
struct SupportColumn {
  std::string backend;
  bool software = false;  // a software driver
  Report report;
  bool test_driver = false;  // a driver of tests/drivers replaced the vendor's
};
// A column of docs/support.md for a backend without a driver on this machine whose kernels were translated: hash64
// of their glsl-webgpu texts. An operation is `translated` for the types whose kernels are all in `texts`, else
// `untested`.
struct TranslatedColumn {
  std::string backend;
  std::set<std::uint64_t> texts;
};
// Writes docs/support.md: a table of operations and types by backend. Backends without a column are `untested`.
// Needs the CPU backend, on which it plans kernels. A failed write is left in the state of `out`.
VECTIS_API void write_support(std::ostream& out, std::span<const SupportColumn> columns,
                              std::span<const TranslatedColumn> translated = {});

}  // namespace vectis::inline v0_1::conformance
