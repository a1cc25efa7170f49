// One call of every slot, with the objects it needs: what fault injection repeats.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/slots/rig.hpp"

namespace vectis::test {

struct Exercise {
  std::string slot;
  std::string note;  // what is special about this use of the slot, or nothing
  std::function<void(Rig&)> prepare;
  std::function<SlotResult(Rig&)> call;    // leaves what it creates in the rig
  VectisStatus without_fault = VECTIS_OK;  // the status when nothing fails below the plug-in
  bool starts_command = false;             // it enqueues work on `rig.stream`
};

// At least one for every slot the plug-in fills: those all plug-ins have, and backend_exercises().
const std::vector<Exercise>& exercises();

// Defined by each test program: the exercises of its backend alone.
std::vector<Exercise> backend_exercises();
// Defined by each test program: an event recorded after some work, in the state that makes the most driver calls.
void need_recorded_event(Rig& rig);

// The names of all slots that the plug-in fills, in the order of the table.
std::vector<std::string> filled_slots();

// A fault below the plug-in: the `nth` call of `function` returns `code`.
struct FaultPoint {
  std::string function;
  std::uint32_t nth;
  int code;
};

// The exercise and its fault, for SCOPED_TRACE.
std::string describe(const Exercise& exercise, const FaultPoint& point);

// Whether the slot returns no status: it destroys or frees.
bool cannot_fail(const std::string& slot);

// Two memories, two streams, and a copy enqueued on the first.
void need_work(Rig& rig);
SlotResult open_again(Rig& rig);
SlotResult build(Rig& rig, const char* dialect, std::string_view text, const std::string& options = "");

// Calls a destroy slot, which takes the object out of the rig and cannot fail.
template <class Handle>
SlotResult destroy(void (*slot)(Handle*), Handle*& handle) {
  slot(std::exchange(handle, nullptr));
  return {};
}

// Creates `handle`, after destroying that of an earlier call.
template <class Handle, class Slot, class... Arguments>
SlotResult create_again(void (*destroy_slot)(Handle*), Handle*& handle, Slot slot, Arguments... arguments) {
  if (handle != nullptr) destroy_slot(std::exchange(handle, nullptr));
  SlotResult result = call_slot(slot, arguments..., &handle);
  EXPECT_EQ(handle != nullptr, result.status == VECTIS_OK) << "outputs are written on success alone";
  return result;
}

}  // namespace vectis::test
