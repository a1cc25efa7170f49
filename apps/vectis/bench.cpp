#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "replay/replay.hpp"
#include "vectis/base/error.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/memory/log.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

int bench_replay(Runtime& runtime, std::ostream& out, const ReplayArguments& arguments, bool json) {
  std::ifstream file(arguments.log, std::ios::binary);
  if (!file)
    throw Error(ErrorCode::io, "replay",
                fmt::format("{} cannot be opened; check the path and its permissions", arguments.log));
  const AllocationLog log = read_allocation_log(file);
  DeviceRequest request;
  if (!arguments.device.empty()) request.device = arguments.device;
  const ReplayReport report = replay(runtime, open_device(runtime, request).device(), log, arguments.rounds);
  if (json) {
    write_json(out, report);
  } else {
    std::ostringstream text;
    print(text, report);
    out << printable(text.str(), "\n");
  }
  return 0;
}

}  // namespace vectis::app
