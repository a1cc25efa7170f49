// The subcommands of `vectis`. Each prints to `out` and returns the program's exit status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/runtime.hpp"

namespace vectis::app {

int devices(Runtime& runtime, std::ostream& out, bool json);
int doctor(Runtime& runtime, std::ostream& out, bool json);
// How fast each device is; `fresh` measures again instead of using what was kept.
int plan(Runtime& runtime, std::ostream& out, bool fresh, bool json);

struct ReplayArguments {
  std::string log;     // the file
  std::string device;  // empty: the settings' choice
  std::size_t rounds = 9;
};
int bench_replay(Runtime& runtime, std::ostream& out, const ReplayArguments& arguments, bool json);

struct ExactArguments {
  std::string device = "cpu";  // "cpu", "gpu", "auto", or as VECTIS_DEVICE takes it
  std::string precision = "int8";
  std::size_t rows = 100'000;
  std::size_t dim = 128;
  std::size_t queries = 1000;
  std::size_t k = 10;
  std::size_t threads = 0;  // of the Runtime; 0: one per core
  std::uint64_t seed = 1;
};
// Fails when an answer differs from brute force in double precision.
int bench_exact(Runtime& runtime, std::ostream& out, const ExactArguments& arguments, bool json);

struct MemoryArguments {
  std::string path;  // a snapshot, or a folder of live ones; empty: the devices as they are now
  std::string page;  // write the snapshot as a page there instead of printing it
  bool follow = false;
  std::size_t count = 0;  // of refreshes; 0: for ever
};
int memory(Runtime& runtime, std::ostream& out, const MemoryArguments& arguments);

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
// Progress goes to `progress`, what was found to `out`.
int conformance(Runtime& runtime, std::ostream& out, std::ostream& progress, const ConformanceArguments& arguments);

struct ReportArguments {
  std::string device = "auto";  // as VECTIS_DEVICE takes it; software drivers too when named
  std::string out;              // a file; empty: named after the device, in the working directory
  std::string operations = ".*";
  std::size_t rows = 0;  // 0: a million on a GPU
  std::size_t dim = 128;
  std::uint64_t seed = 1;
  bool full = false;
  bool no_speeds = false;
};
// Conformance, speeds and targets of one device, as a file to send in. Fails when a target that applies is missed.
int report(Runtime& runtime, std::ostream& out, std::ostream& progress, const ReportArguments& arguments);

}  // namespace vectis::app
