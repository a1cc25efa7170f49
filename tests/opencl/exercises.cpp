// The exercises of OpenCL alone.
#include "tests/slots/exercises.hpp"

#include <array>

namespace vectis::test {

namespace {

// A product the portable kernel has to do: CLBlast is for GPUs.
SlotResult run_matmul(Rig& rig) {
  const VectisView view{rig.memory, 0, 1, 1, 1, VECTIS_FLOAT32};
  const std::array<VectisView, 3> views = {view, view, view};
  const std::array<VectisNumber, 4> numbers = {{{0, 0}, {0, 0}, {1, 1}, {0, 0}}};
  const VectisOpCall call{sizeof call, "matmul", views.data(), views.size(), numbers.data(), numbers.size()};
  return call_slot(plugin().run_op, rig.stream, &call);
}

SlotResult memory_slice(Rig& rig) {
  if (rig.slice != nullptr) plugin().memory_free(rig.context, std::exchange(rig.slice, nullptr));
  SlotResult result = call_slot(plugin().memory_slice, rig.memory, 128U, 100U, &rig.slice);
  EXPECT_EQ(rig.slice != nullptr, result.status == VECTIS_OK);
  return result;
}

void use_sub_devices(Rig& rig) { rig.host.settings["sub_devices"] = "2"; }

}  // namespace

// Another stream has seen the end of the work, and the event's own stream has not.
void need_recorded_event(Rig& rig) {
  need_work(rig);
  rig.need_event();
  EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.other_stream, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, rig.other_stream)));
}

std::vector<Exercise> backend_exercises() {
  return {
      {"open", "with sub-devices", use_sub_devices, open_again},
      {"close", "with sub-devices",
       [](Rig& rig) {
         use_sub_devices(rig);
         rig.need_state();
       },
       [](Rig& rig) { return destroy(plugin().close, rig.state); }},
      {"memory_slice", "", [](Rig& rig) { rig.need_memory(); }, memory_slice},
      {"stream_wait_event", "", need_recorded_event,
       [](Rig& rig) { return call_slot(plugin().stream_wait_event, rig.stream, rig.event); }, VECTIS_OK, true},
      {"run_op", "",
       [](Rig& rig) {
         rig.need_memory();
         rig.need_streams();
       },
       run_matmul, VECTIS_UNSUPPORTED},
  };
}

}  // namespace vectis::test
