#include "tests/slots/exercises.hpp"

#include <cstddef>
#include <utility>

namespace vectis::test {

void need_work(Rig& rig) {
  rig.need_streams();
  rig.need_memory();
  EXPECT_TRUE(
      succeeded(call_slot(plugin().copy_to_device, rig.stream, rig.memory, 0U, rig.data.data(), rig.data.size())));
}

SlotResult build(Rig& rig, const char* dialect, std::string_view text, const std::string& options) {
  return create_again(plugin().program_destroy, rig.program, plugin().program_create, rig.context, dialect, text.data(),
                      text.size(), options.c_str());
}

namespace {

void need_launch(Rig& rig) {
  need_work(rig);
  rig.need_kernel();
}

SlotResult device_info(Rig& rig) {
  VectisDeviceInfo info{};
  info.size = sizeof info;
  SlotResult result = call_slot(plugin().device_info, rig.state, 0U, &info);
  EXPECT_EQ(info.compute_units != 0, result.status == VECTIS_OK);
  return result;
}

// The rig's program as a binary, in `data`.
void need_binary(Rig& rig) {
  rig.need_program();
  std::size_t bytes = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, nullptr, &bytes)));
  rig.data.resize(bytes);
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, rig.data.data(), &bytes)));
  plugin().program_destroy(std::exchange(rig.program, nullptr));
}

SlotResult read_binary(Rig& rig) {
  std::size_t bytes = 0;
  SlotResult sized = call_slot(plugin().program_binary, rig.program, nullptr, &bytes);
  if (sized.status != VECTIS_OK) return sized;
  std::string binary(bytes, '\0');
  return call_slot(plugin().program_binary, rig.program, binary.data(), &bytes);
}

SlotResult memory_free(Rig& rig) {
  plugin().memory_free(rig.context, std::exchange(rig.memory, nullptr));
  return {};
}

SlotResult memory_allocate(Rig& rig) {
  if (rig.memory != nullptr) memory_free(rig);
  SlotResult result = call_slot(plugin().memory_allocate, rig.context, Rig::bytes, &rig.memory);
  EXPECT_EQ(rig.memory != nullptr, result.status == VECTIS_OK);
  return result;
}

SlotResult timestamp(Rig& rig) {
  std::uint64_t time = 0;
  SlotResult result = call_slot(plugin().event_timestamp, rig.event, &time);
  EXPECT_EQ(time != 0, result.status == VECTIS_OK);
  return result;
}

std::vector<Exercise> lifetime_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"open", "", [](Rig&) {}, open_again},
      {"device_count", "", [](Rig& rig) { rig.need_state(); },
       [&](Rig& rig) {
         std::uint32_t count = 0;
         return call_slot(table.device_count, rig.state, &count);
       }},
      {"device_info", "", [](Rig& rig) { rig.need_state(); }, device_info},
      {"context_create", "", [](Rig& rig) { rig.need_state(); },
       [&](Rig& rig) { return create_again(table.context_destroy, rig.context, table.context_create, rig.state, 0U); }},
      {"context_destroy", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return destroy(table.context_destroy, rig.context); }},
      {"memory_allocate", "", [](Rig& rig) { rig.need_context(); }, memory_allocate},
      {"memory_free", "used by work", need_work, memory_free},
      {"stream_create", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return create_again(table.stream_destroy, rig.stream, table.stream_create, rig.context); }},
      {"stream_destroy", "with work in flight", need_work,
       [&](Rig& rig) { return destroy(table.stream_destroy, rig.stream); }},
      {"event_create", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return create_again(table.event_destroy, rig.event, table.event_create, rig.context); }},
      {"event_destroy", "of a recorded one", need_recorded_event,
       [&](Rig& rig) { return destroy(table.event_destroy, rig.event); }},
  };
}

std::vector<Exercise> work_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"stream_synchronize", "", need_work, [](Rig& rig) { return rig.synchronize(); }},
      {"copy_to_device", "", need_work,
       [&](Rig& rig) { return call_slot(table.copy_to_device, rig.stream, rig.memory, 1U, rig.data.data(), 99U); },
       VECTIS_OK, true},
      {"copy_to_host", "", need_work,
       [&](Rig& rig) { return call_slot(table.copy_to_host, rig.stream, rig.data.data(), rig.memory, 1U, 99U); },
       VECTIS_OK, true},
      {"copy_on_device", "", need_work,
       [&](Rig& rig) { return call_slot(table.copy_on_device, rig.stream, rig.other_memory, 3U, rig.memory, 1U, 99U); },
       VECTIS_OK, true},
      {"fill", "", need_work,
       [&](Rig& rig) { return call_slot(table.fill, rig.stream, rig.memory, 1U, 99U, std::uint8_t{9}); }, VECTIS_OK,
       true},
      {"event_record", "", need_recorded_event,
       [&](Rig& rig) { return call_slot(table.event_record, rig.event, rig.stream); }},
      {"event_query", "", need_recorded_event, [&](Rig& rig) { return call_slot(table.event_query, rig.event); }},
      {"event_synchronize", "", need_recorded_event,
       [&](Rig& rig) { return call_slot(table.event_synchronize, rig.event); }},
      {"event_timestamp", "", need_recorded_event, timestamp},
  };
}

std::vector<Exercise> program_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"program_create", "from source", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, program_dialect, program_text); }},
      {"program_create", "from source that does not compile", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, program_dialect, wrong_program_text); }, VECTIS_COMPILE_FAILED},
      {"program_create", "from a binary", need_binary,
       [](Rig& rig) {
         return build(rig, "binary", {reinterpret_cast<const char*>(rig.data.data()), rig.data.size()});
       }},
      {"program_destroy", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) { return destroy(table.program_destroy, rig.program); }},
      {"program_binary", "", [](Rig& rig) { rig.need_program(); }, read_binary},
      {"kernel_create", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) {
         return create_again(table.kernel_destroy, rig.kernel, table.kernel_create, rig.program, "mirror");
       }},
      {"kernel_destroy", "", [](Rig& rig) { rig.need_kernel(); },
       [&](Rig& rig) { return destroy(table.kernel_destroy, rig.kernel); }},
      {"launch", "", need_launch,
       [](Rig& rig) { return launch_mirror(rig.stream, rig.kernel, rig.memory, rig.other_memory, 2.0F, 100, 10); },
       VECTIS_OK, true},
  };
}

struct Slot {
  const char* name;
  bool filled;
};

#define VECTIS_TEST_SLOT(name) \
  Slot { #name, plugin().name != nullptr }
std::vector<Slot> all_slots() {
  // clang-format off
  return {VECTIS_TEST_SLOT(open), VECTIS_TEST_SLOT(close), VECTIS_TEST_SLOT(configure),
          VECTIS_TEST_SLOT(device_count), VECTIS_TEST_SLOT(device_info), VECTIS_TEST_SLOT(device_memory),
          VECTIS_TEST_SLOT(device_utilization), VECTIS_TEST_SLOT(context_create), VECTIS_TEST_SLOT(context_destroy),
          VECTIS_TEST_SLOT(memory_allocate), VECTIS_TEST_SLOT(memory_free), VECTIS_TEST_SLOT(memory_slice),
          VECTIS_TEST_SLOT(memory_address),
          VECTIS_TEST_SLOT(stream_create), VECTIS_TEST_SLOT(stream_destroy), VECTIS_TEST_SLOT(stream_synchronize),
          VECTIS_TEST_SLOT(copy_to_device), VECTIS_TEST_SLOT(copy_to_host), VECTIS_TEST_SLOT(copy_on_device),
          VECTIS_TEST_SLOT(fill), VECTIS_TEST_SLOT(event_create), VECTIS_TEST_SLOT(event_destroy),
          VECTIS_TEST_SLOT(event_record), VECTIS_TEST_SLOT(event_query), VECTIS_TEST_SLOT(event_synchronize),
          VECTIS_TEST_SLOT(stream_wait_event), VECTIS_TEST_SLOT(event_timestamp), VECTIS_TEST_SLOT(program_create),
          VECTIS_TEST_SLOT(program_destroy), VECTIS_TEST_SLOT(kernel_create), VECTIS_TEST_SLOT(kernel_destroy),
          VECTIS_TEST_SLOT(launch), VECTIS_TEST_SLOT(program_binary), VECTIS_TEST_SLOT(run_op),
          VECTIS_TEST_SLOT(copy_from_peer), VECTIS_TEST_SLOT(host_allocate), VECTIS_TEST_SLOT(host_free)};
  // clang-format on
}
#undef VECTIS_TEST_SLOT

}  // namespace

SlotResult open_again(Rig& rig) { return create_again(plugin().close, rig.state, plugin().open, rig.host.get()); }

std::string describe(const Exercise& exercise, const FaultPoint& point) {
  return exercise.slot + " " + exercise.note + ": call " + std::to_string(point.nth) + " of " + point.function +
         " returns " + std::to_string(point.code);
}

bool cannot_fail(const std::string& slot) {
  return slot == "close" || slot == "memory_free" || slot == "host_free" || slot.ends_with("_destroy");
}

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = [] {
    std::vector<Exercise> joined = lifetime_exercises();
    for (const auto& more : {work_exercises(), program_exercises(), backend_exercises()}) {
      joined.insert(joined.end(), more.begin(), more.end());
    }
    return joined;
  }();
  return all;
}

std::vector<std::string> filled_slots() {
  const std::vector<Slot> slots = all_slots();
  constexpr std::size_t in_contract = (sizeof(VectisBackend) - offsetof(VectisBackend, open)) / sizeof(void (*)());
  EXPECT_EQ(slots.size(), in_contract) << "the contract has grown: name its new slots here";
  std::vector<std::string> names;
  for (const Slot& slot : slots) {
    if (slot.filled) names.emplace_back(slot.name);
  }
  return names;
}

}  // namespace vectis::test
