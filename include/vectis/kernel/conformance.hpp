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

// How many cases are run.
enum class Coverage : std::uint8_t {
  slice,     // some cases of every operation and type, about a minute
  standard,  // all shapes in all layouts with all kinds of data
  full,      // also views of more than 2^31 bytes, if there is memory for them
};

struct Options {
  std::string operations = ".*";  // a regular expression that must match the whole name
  std::string case_name;          // run this case alone, named as in a report; empty: all
  std::uint64_t seed = 1;         // of the test data; equal seeds give equal data
  Coverage coverage = Coverage::standard;
  double seconds = 60;  // duration of fuzz()
  bool stop_at_failure = false;
  // Called before each group of cases (an operation with its types), from the calling thread; may be empty.
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress;
};

// The result for one operation with one combination of types, or for one behavior test (streams, memory, ...).
struct Line {
  std::string operation;
  std::string types;           // "float16", "float32->int8"; empty for a behavior test
  std::uint64_t cases = 0;     // that ran on the device
  std::uint64_t failures = 0;  // of `cases`: a wrong result or an error
  std::uint64_t skipped = 0;   // not run: not enough free memory
  // Calls the device does not offer: it answered Unsupported or NoCompiler. The first one ends the line. Not a failure.
  std::uint64_t not_offered = 0;
  double worst = 0;      // largest error measured
  double limit = 0;      // largest error allowed; 0: results must be exact
  std::string error_of;  // the quantity errors are divided by: "the sum of magnitudes"
  std::string worst_case;

  [[nodiscard]] bool passed() const noexcept { return failures == 0; }
  // The limit is more than four times the error measured, so a tighter limit would hold on this device.
  [[nodiscard]] bool has_headroom() const noexcept { return limit > 4 * worst; }
};

struct Failure {
  std::string operation;
  std::string case_name;
  std::string what;
};

struct VECTIS_API Report {
  std::string device;  // "opencl:0"
  std::uint64_t seed = 0;
  std::vector<Line> lines;
  std::vector<Failure> failures;  // at most five per line

  // At least one case ran, and none failed. Operations the device does not offer do not count.
  [[nodiscard]] bool passed() const noexcept;
  // The device offers everything that was selected.
  [[nodiscard]] bool complete() const noexcept;
  [[nodiscard]] std::uint64_t cases() const noexcept;
  [[nodiscard]] std::uint64_t failed() const noexcept;
};

// Runs the suite. Throws InvalidInput if `operations` is not a regular expression or matches nothing, or if `case_name`
// is not a case of the selected operations. Errors of the device are failures in the report, not exceptions.
VECTIS_API Report test(Runtime& runtime, const Device& device, const Options& options = {});
// Runs random shapes, types, layouts and parameters for `options.seconds`. Throws as test().
VECTIS_API Report fuzz(Runtime& runtime, const Device& device, const Options& options = {});

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

struct SpeedReport {
  std::string device;
  double peak_gigaflops = 0;  // of the fastest `matmul`
  double peak_gigabytes = 0;  // of the fastest `copy`
  std::vector<Speed> speeds;
};
// Times every selected operation and checks the timed results. Throws as test().
VECTIS_API SpeedReport measure(Runtime& runtime, const Device& device, const Options& options = {});

// The names that `options.operations` selects: operations, then behavior tests. Throws as test().
VECTIS_API std::vector<std::string> names(const Options& options = {});

// Writes one header line and one line per Line or Speed.
VECTIS_API void write_csv(std::ostream& out, const Report& report);
VECTIS_API void write_csv(std::ostream& out, const SpeedReport& report);

// A column of docs/support.md, from a report made in this process. Backends without a report are `untested`.
struct SupportColumn {
  std::string backend;
  bool software = false;  // a software driver
  Report report;
  bool test_driver = false;  // a driver of tests/drivers replaced the vendor's
};
// A backend without a driver on this machine whose kernels were at least translated: hash64 of their glsl-webgpu
// texts. An operation is `translated` for the types whose kernels are all in `texts`.
struct TranslatedColumn {
  std::string backend;
  std::set<std::uint64_t> texts;
};
// Writes docs/support.md: a table of operations and types by backend.
VECTIS_API void write_support(std::ostream& out, std::span<const SupportColumn> columns,
                              std::span<const TranslatedColumn> translated = {});

}  // namespace vectis::inline v0_1::conformance
