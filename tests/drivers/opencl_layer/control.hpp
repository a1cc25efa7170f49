// What the layer remembers: planned fault, call counts, live objects. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fault_layer.h"

namespace vectis::test {

// What to do with one call.
struct Verdict {
  std::optional<cl_int> call_fails;
  std::optional<cl_int> command_fails;
};

class Control {
 public:
  static Control& get();

  // Called while the layer is made, before anything else.
  std::uint32_t add_function(const char* name);

  void reset();
  void plan(const char* function, std::uint32_t nth, std::int32_t code, bool of_command);
  bool struck();
  [[nodiscard]] std::uint32_t function_count();
  [[nodiscard]] const char* function_name(std::uint32_t function);
  [[nodiscard]] std::uint32_t calls(std::uint32_t function);
  [[nodiscard]] std::int64_t live(std::int32_t kind);
  [[nodiscard]] std::int64_t wrong_releases();

  // Counts a call and says what is to happen with it.
  Verdict enter(std::uint32_t function);
  void made(std::int32_t kind, const void* object);
  void released(std::int32_t kind, const void* object);
  void fail_event(cl_event event, cl_int status);
  // The status that a failed event reports, or nothing.
  std::optional<cl_int> failed_status(cl_event event);

 private:
  struct Function {
    const char* name;
    std::uint32_t calls = 0;
  };
  struct Plan {
    std::string function;
    std::uint32_t calls_left;
    std::int32_t code;
    bool of_command;
  };

  std::mutex mutex_;
  std::vector<Function> functions_;
  std::optional<Plan> plan_;
  bool struck_ = false;
  std::array<std::map<const void*, std::int64_t>, VECTIS_LAYER_KINDS> references_;
  std::int64_t wrong_releases_ = 0;
  std::map<cl_event, cl_int> failed_status_;
};

}  // namespace vectis::test
