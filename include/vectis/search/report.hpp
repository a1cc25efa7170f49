// Tests and benchmarks one device: conformance, search, distances and matrix products, compared with the project's
// performance targets. `vectis report` writes the result to a file that the owner of a device can share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/kernel/conformance.hpp"

namespace vectis::inline v0_1 {

// Options of report(), which throws InvalidInput when dim is 0.
struct ReportOptions {
  conformance::Coverage coverage = conformance::Coverage::slice;  // which conformance cases run
  std::string operations = ".*";  // operations to test and benchmark: a regular expression for the whole name
  bool speeds = true;             // whether to benchmark each single operation
  std::size_t rows = 0;           // vectors of the index; 0: 1,000,000 on a GPU, 50,000 elsewhere
  std::size_t dim = 128;          // dimensions of a vector, 1 to 65,536
  std::uint64_t seed = 1;         // of all random data
  std::function<void(const std::string& part)>
      progress;  // called before each part, on the calling thread; may be empty
};

// The speeds with which the time of a job is predicted. A rate of 0 is not known, and takes no time. Plain data.
struct ModelRates {
  std::string source;            // of the rates of the device
  std::size_t architecture = 0;  // of docs/gpu-evidence.md, whose instructions are counted: sm_80, sm_89, sm_90, sm_100
  double memory_bytes_per_second = 0;
  double instructions_per_second = 0;  // of all lanes
  double fused_per_second = 0;         // multiply-adds
  double dots_per_second = 0;          // dot products of four int8 elements
  double matrix_per_second = 0;        // multiply-adds of matrix units
  double launch_seconds = 0;           // measured: from one launch to the next
  double copy_seconds = 0;             // measured: from one small copy to the next
  double wait_seconds = 0;             // measured
  double copy_bytes_per_second = 0;
};

// What a job asks of a device. Plain data.
struct JobCounts {
  std::uint64_t launches = 0;  // of kernels, and fills
  std::uint64_t copies = 0;
  double copied_bytes = 0;  // between host and device
  double bytes = 0;         // of device memory that kernels read and write
  double instructions = 0;  // of all lanes; as counted in machine code
  double fused = 0;         // of them multiply-adds
  double dots = 0;          // of them dot products of four int8 elements
  double matrix = 0;        // multiply-adds of matrix units
};

// The time that the model of docs/gpu-evidence.md predicts for a job: the longest of its times for memory,
// instructions and the unit that multiplies, and the time of the host's launches, copies and one wait. What the CPU
// computes and what stalls is not in the model. Plain data.
struct JobPrediction {
  double seconds = 0;
  double memory_seconds = 0;
  double issue_seconds = 0;
  double unit_seconds = 0;
  double host_seconds = 0;
  std::string wall;  // the longest: "memory", "issue", "FFMA", "dp4a", "mma" or "host"
  JobCounts counts;
  std::string missing = "not measured";  // why there is no prediction; empty: there is one
};

// The measured latency of exact search for 10 neighbors at one precision. Each time is the median of several
// synchronous searches. Plain data.
struct SearchSpeed {
  Precision precision = Precision::fp32;  // of the scanned codes; results are exact at every precision
  double single_seconds = 0;              // one query
  double batch_seconds = 0;               // a batch of 100 queries
  double single_of_roofline = 0;          // share of the device's measured peak (arithmetic or memory), 0 to 1
  double batch_of_roofline = 0;
  std::uint64_t wrong = 0;  // queries of the batch whose hits differ from those found on the CPU
  JobPrediction single_predicted = {};
  JobPrediction batch_predicted = {};
};

// The measured speed of indexes on one device: building, inserting and searching an exact index, and building a graph.
// Plain data.
struct IndexSpeed {
  std::string device;                     // "cpu", "cuda:0"
  double build_seconds = 0;               // adding all vectors to an exact index, up to the first search result
  double insert_seconds = 0;              // adding 10,000 more, up to the next search result
  std::optional<double> graph_seconds;    // adding all vectors to a graph, up to the first search result
  std::optional<double> memory_overhead;  // device memory beyond the fp32 vectors, as a share of them; empty: CPU
  std::vector<SearchSpeed> searches;
};

// The measured speed of one operation on data that is already in the device's memory. When the device could not run
// the operation, or it was estimated to take too long, `skipped` says why.
struct OperationSpeed {
  std::string name;    // "l2_distance int8", "matmul 4096"
  double seconds = 0;  // the fastest call; an estimate when the operation was skipped because it takes too long
  double of_roofline = 0;
  std::string skipped;  // why it was not measured; empty: it was
  JobPrediction predicted = {};
};

// Whether a measured value meets a performance target; not_applicable when the target is stated for other devices or
// sizes, or nothing was measured.
enum class Verdict : std::uint8_t { met, missed, not_applicable };

VECTIS_API std::string_view name(Verdict verdict) noexcept;  // "met", "MISSED", "does not apply"

// One performance target with the value that a report measured and the verdict. `measured` is empty when nothing was
// measured; then the verdict is not_applicable.
struct TargetResult {
  std::string name;
  std::optional<double> measured;
  double limit = 0;
  bool is_minimum = false;  // true: `limit` is a minimum; false: a maximum
  std::string unit;
  Verdict verdict = Verdict::not_applicable;
  std::string reason;  // why the target does not apply; else empty
};

// The result of report() for one device: conformance, speeds and targets. A part that threw an Error has an entry in
// `failures` and leaves its field empty.
struct VECTIS_API DeviceReport {
  std::string device;  // "cuda:0"
  DeviceInfo info;
  bool gpu = false;  // a GPU, not a software driver
  std::uint64_t seed = 0;
  std::size_t rows = 0;
  std::size_t dim = 0;
  conformance::Report conformance;
  conformance::SpeedReport speeds;
  std::optional<ModelRates> rates;  // of the predictions; empty: the CPU, for which there are none
  IndexSpeed index;                 // on the device
  IndexSpeed host;                  // on the CPU, for comparison
  std::vector<OperationSpeed> operations;
  std::vector<OperationSpeed> host_operations;  // the same on the CPU, for comparison
  std::vector<TargetResult> targets;
  std::vector<std::string> failures;  // "part: message" for each part that threw an Error

  // Returns true when no part and no operation's benchmark failed, conformance passed and is complete, no search
  // result was wrong, and no target that applies was missed. Does not throw.
  [[nodiscard]] bool passed() const noexcept;
};

// Runs conformance and all benchmarks on `device`, which takes minutes, and makes a device other than the CPU the
// calling thread's active device. Throws InvalidInput when options.dim is 0. An Error of a part does not end the
// report: it becomes an entry of DeviceReport::failures, for example when options.dim is above 65,536.
VECTIS_API DeviceReport report(Runtime& runtime, const Device& device, const ReportOptions& options = {});

}  // namespace vectis::inline v0_1
