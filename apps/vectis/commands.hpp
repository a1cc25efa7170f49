// The subcommands of `vectis`. Each prints to `out` and returns the program's exit status.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "vectis/base/runtime.hpp"

namespace vectis::app {

int devices(Runtime& runtime, std::ostream& out, bool json);
int doctor(Runtime& runtime, std::ostream& out, bool json);

struct ReplayArguments {
  std::string log;     // the file
  std::string device;  // empty: the settings' choice
  std::size_t rounds = 9;
};
int bench_replay(Runtime& runtime, std::ostream& out, const ReplayArguments& arguments, bool json);

struct MemoryArguments {
  std::string path;  // a snapshot, or a folder of live ones; empty: the devices as they are now
  std::string page;  // write the snapshot as a page there instead of printing it
  bool follow = false;
  std::size_t count = 0;  // of refreshes; 0: for ever
};
int memory(Runtime& runtime, std::ostream& out, const MemoryArguments& arguments);

}  // namespace vectis::app
