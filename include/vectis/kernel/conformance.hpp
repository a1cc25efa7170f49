// Does a device compute what the operations promise? Every operation against a reference in double precision, with a
// stated limit of its error, and what streams, memory, threads and wrong calls do. For every backend, also one of your
// own: `vectis conformance --backend yours`. docs/conformance.md explains the numbers.
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

enum class Reach : std::uint8_t {
  slice,     // some cases of everything: what every commit is put through
  standard,  // all shapes in all layouts, all kinds of data
  full,      // and views over 2^31 bytes where the memory is there
};

struct Options {
  std::string operations = ".*";  // a regular expression that a name must match as a whole
  std::string case_name;          // only this case of them; empty: all
  std::uint64_t seed = 1;
  Reach reach = Reach::standard;
  double seconds = 60;  // of fuzz
  bool stop_at_failure = false;
  // Called before each group of cases (an operation with its types), from the calling thread; may be empty.
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress;
};

// What came of one operation with one set of types, or of one kind of behaviour.
struct Line {
  std::string operation;
  std::string types;  // "float16", "float32->int8"; empty for behaviour
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;
  std::uint64_t skipped = 0;  // too large for the memory that is free
  bool refused = false;       // the device does not do it: Unsupported or NoCompiler
  double worst = 0;           // largest error seen
  double limit = 0;           // largest error allowed; 0: exact
  std::string error_of;       // what errors are relative to
  std::string worst_case;

  [[nodiscard]] bool passed() const noexcept { return failures == 0 && !refused; }
  // Stated more generously than four times what was measured.
  [[nodiscard]] bool loose() const noexcept { return limit > 4 * worst; }
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
  std::vector<Failure> failures;  // some of each line

  // Something ran, and everything that ran is as it must be.
  [[nodiscard]] bool passed() const noexcept;
  [[nodiscard]] std::uint64_t cases() const noexcept;
  [[nodiscard]] std::uint64_t failed() const noexcept;
};

// Runs the suite. InvalidInput for an expression or a case that means nothing; whatever the device does wrong is in the
// report.
VECTIS_API Report test(Runtime& runtime, const Device& device, const Options& options = {});
// Random shapes, types, layouts and numbers until the time is over.
VECTIS_API Report fuzz(Runtime& runtime, const Device& device, const Options& options = {});

struct Speed {
  std::string operation;
  std::string types;
  std::string case_name;
  double seconds = 0;      // of one call, the best of several
  double gigaflops = 0;    // 10^9 operations a second
  double gigabytes = 0;    // 10^9 bytes a second
  double of_roofline = 0;  // share of what the device's own peaks allow for this mixture, 0 to 1
  double error = 0;        // measured on the very result that was timed
  double limit = 0;
  std::string failure;  // not empty: it was wrong, and its speed means nothing
};

struct SpeedReport {
  std::string device;
  double peak_gigaflops = 0;  // the best product of matrices
  double peak_gigabytes = 0;  // the best copy
  std::vector<Speed> speeds;
};
VECTIS_API SpeedReport measure(Runtime& runtime, const Device& device, const Options& options = {});

// The names `operations` selects among: operations, then behaviour.
VECTIS_API std::vector<std::string> names(const Options& options = {});

// With a heading in the first line; several reports make one file of several headings.
VECTIS_API void write_csv(std::ostream& out, const Report& report);
VECTIS_API void write_csv(std::ostream& out, const SpeedReport& report);

// The page docs/support.md: operations by type and backend, from reports made in this process. A backend without a
// report is `untested`.
struct SupportColumn {
  std::string backend;
  bool software = false;  // a software driver
  Report report;
  bool test_driver = false;  // tests/drivers stood for the vendor's driver
};
// A backend that has no driver here, for which kernels were at least translated: the hash64 of each text in
// glsl-webgpu. An operation counts as `translated` with the types for which all its kernels are among them.
struct TranslatedColumn {
  std::string backend;
  std::set<std::uint64_t> texts;
};
VECTIS_API void write_support(std::ostream& out, std::span<const SupportColumn> columns,
                              std::span<const TranslatedColumn> translated = {});

}  // namespace vectis::inline v0_1::conformance
