// One device put to the test: does it compute what it must, how fast, and does it reach what Vectis set out for? For
// the owner of a GPU nobody here has: `vectis report` runs this and writes a file to send in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/precision.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/kernel/conformance.hpp"

namespace vectis::inline v0_1 {

struct ReportOptions {
  conformance::Reach reach = conformance::Reach::slice;
  std::string operations = ".*";  // of conformance and speeds, a regular expression that a name matches as a whole
  bool speeds = true;             // also of every operation by itself
  // Vectors of the index; 0: the million that targets are stated for on a GPU, fewer where a processor computes.
  std::size_t rows = 0;
  std::size_t dim = 128;
  std::uint64_t seed = 1;
  std::function<void(const std::string& what)> progress;  // before each part, from the calling thread; may be empty
};

// Searches of one index at one precision. Each time is the median of several, waited for.
struct SearchSpeed {
  Precision precision = Precision::fp32;  // what was scanned; answers are exact at any
  double single_seconds = 0;              // one query
  double batch_seconds = 0;               // a hundred together
  double single_of_roofline = 0;          // share of what the device's own measured peaks allow, 0 to 1
  double batch_of_roofline = 0;
  std::uint64_t wrong = 0;  // queries of the batch with other hits than this processor finds
};

struct IndexSpeed {
  std::string device;                     // as searches say it: "cpu", "cuda:0"
  double build_seconds = 0;               // all rows added, until the first search is answered
  double insert_seconds = 0;              // 10,000 more, until the next search is answered
  std::optional<double> memory_overhead;  // of the device beyond the fp32 rows as scanned, as a share; empty: no device
  std::vector<SearchSpeed> searches;
};

// One operation on data that is already there.
struct OperationSpeed {
  std::string name;    // "l2_distance int8", "matmul 4096"
  double seconds = 0;  // foreseen where it was skipped for taking too long
  double of_roofline = 0;
  std::string skipped;  // not empty: why it was not measured
};

enum class Judgement : std::uint8_t { met, missed, not_applicable };

VECTIS_API std::string_view name(Judgement judgement) noexcept;  // "met", "MISSED", "does not apply"

struct JudgedTarget {
  std::string name;
  std::optional<double> measured;
  double limit = 0;
  bool at_least = false;  // or at most
  std::string unit;
  Judgement judgement = Judgement::not_applicable;
  std::string reason;  // why it does not apply; else empty
};

struct VECTIS_API DeviceReport {
  std::string device;  // "cuda:0"
  DeviceInfo info;
  bool gpu = false;  // a real one
  std::uint64_t seed = 0;
  std::size_t rows = 0;
  std::size_t dim = 0;
  conformance::Report conformance;
  conformance::SpeedReport speeds;
  IndexSpeed index;  // on the device
  IndexSpeed host;   // on this processor, for comparison
  std::vector<OperationSpeed> operations;
  std::vector<JudgedTarget> targets;
  std::vector<std::string> failures;  // parts that ended with an error, and its words

  // Everything could be measured, conformance passed, no answer was wrong, and no target that applies was missed.
  [[nodiscard]] bool passed() const noexcept;
};

// Takes minutes on a GPU. Makes the device this thread's active one. Whatever the device does wrong is in the report.
VECTIS_API DeviceReport report(Runtime& runtime, const Device& device, const ReportOptions& options = {});

}  // namespace vectis::inline v0_1
