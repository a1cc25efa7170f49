// The subcommands of `vectis`. Each prints to `out` and returns the exit code of the program: 0 for success, 1 when a
// check that the command runs has failed. Each throws vectis::Error for anything that keeps it from running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/runtime.hpp"

namespace vectis::app {

// Throws InvalidInput, naming the operation `op`, when `vectors` vectors of `dim` floats and a copy of them exceed
// the memory of the host. Does nothing when the memory of the host is unknown.
void check_host_memory(Runtime& runtime, std::string_view op, std::uint64_t vectors, std::uint64_t dim);

// Prints the devices as a table or JSON. Returns 0, or 1 when the settings name a device that cannot be used.
int devices(Runtime& runtime, std::ostream& out, bool json);
// Prints the state of every backend, as text or JSON. Returns 0, or 1 when the settings name a device that cannot be
// used.
int doctor(Runtime& runtime, std::ostream& out, bool json);

// Arguments of `vectis plan`. Amounts must be finite and at least 0, and `matmul` has 0 or 3 elements.
struct PlanArguments {
  bool fresh = false;  // calibrate again instead of using cached profiles
  // A workload to predict; without any, the profiles are printed.
  double operations = 0;
  std::string precision = "fp32";  // of the operations
  double bytes = 0;
  double copy_in_bytes = 0;
  double copy_out_bytes = 0;
  double launches = 1;
  std::vector<double> matmul;  // M, N, K; empty: none
};
// Prints the profile of each device, or, when `arguments` describe a workload, its predicted run time on each.
// Returns 1 when no device has a profile to print. Throws InvalidInput for an unknown precision or a negative amount,
// and a device's own error when a workload cannot be predicted on any device.
int plan(Runtime& runtime, std::ostream& out, const PlanArguments& arguments, bool json);

// Arguments of `vectis bench replay`.
struct ReplayArguments {
  std::string log;     // path of the allocation log
  std::string device;  // empty: the device that the settings select
  std::size_t rounds = 9;
};
// Replays an allocation log against three allocators, prints the comparison and returns 0. Throws Io when the log
// cannot be opened, CorruptData when it is invalid, InvalidInput for 0 rounds, Allocation when device memory is
// short, and the error of choosing the device.
int bench_replay(Runtime& runtime, std::ostream& out, const ReplayArguments& arguments, bool json);

// Arguments of `vectis bench exact`.
struct ExactArguments {
  std::string device = "cpu";  // "cpu", "gpu", "auto", or any value of VECTIS_DEVICE
  std::string precision = "int8";
  std::size_t rows = 100'000;
  std::size_t dim = 128;
  std::size_t queries = 1000;
  std::size_t k = 10;
  std::size_t threads = 0;  // 0: one per core
  std::uint64_t seed = 1;
};
// Measures exact search on random vectors. Returns 0, or 1 when a result differs from brute force in double
// precision. Throws InvalidInput for an unknown precision or more vectors than the host has memory for, and the error
// of choosing the device.
int bench_exact(Runtime& runtime, std::ostream& out, const ExactArguments& arguments, bool json);

// Arguments of `vectis memory`.
struct MemoryArguments {
  std::string path;  // a snapshot, or a folder of live snapshots; empty: list the devices
  std::string page;  // write the snapshot as HTML to this file instead of printing it
  bool follow = false;
  std::size_t count = 0;  // of refreshes; 0: until interrupted
};
// Prints the memory of the devices, or a snapshot, or live snapshots again and again, or writes a snapshot as HTML;
// returns 0. Throws Io when a file cannot be opened or written or a folder has no live snapshot, and CorruptData when
// a file is no snapshot.
int memory(Runtime& runtime, std::ostream& out, const MemoryArguments& arguments);

// Arguments of `vectis conformance`.
struct ConformanceArguments {
  std::vector<std::string> backends;  // names, labels or ids; empty: every device there is (support alone)
  std::string mode = "test";          // test, perf, support, fuzz
  std::string operations = ".*";
  std::string case_name;
  std::string csv;                       // a file; empty: none
  std::vector<std::string> test_driven;  // backends that run on tests/drivers, for support
  std::string translated;  // BACKEND=FILE with the hash64 of one kernel text per line, for support; empty: none
  std::uint64_t seed = 1;
  double seconds = 60;
  bool slice = false;
  bool full = false;
  bool fail_fast = false;
  bool list = false;
};
// Runs conformance tests, speed measurements, fuzzing or the support table on the named backends; prints results to
// `out` and progress to `progress`. Returns 1 when a case fails, except in mode support. Throws InvalidInput when no
// backend is named (support excepted) or `translated` is invalid, Io when the CSV file cannot be written, and the
// error of choosing a device.
int conformance(Runtime& runtime, std::ostream& out, std::ostream& progress, const ConformanceArguments& arguments);

// Arguments of `vectis report`.
struct ReportArguments {
  std::string device = "auto";  // a value of VECTIS_DEVICE; software drivers are allowed
  std::string out;              // path of the report; empty: named after the device, in the working directory
  std::string operations = ".*";
  std::size_t rows = 0;  // 0: 1,000,000 on a GPU, 50,000 elsewhere
  std::size_t dim = 128;
  std::uint64_t seed = 1;
  bool full = false;
  bool no_speeds = false;
};
// Runs conformance and benchmarks on one device, compares them with the targets and writes the report file. Returns 1
// when a case fails, a search result is wrong, or a target that applies is missed. Throws InvalidInput when the
// vectors exceed the memory of the host, Io when the file cannot be written, and the error of choosing the device.
int report(Runtime& runtime, std::ostream& out, std::ostream& progress, const ReportArguments& arguments);

}  // namespace vectis::app
