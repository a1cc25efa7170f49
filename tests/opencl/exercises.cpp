#include "exercises.hpp"

#include <array>
#include <cstddef>

namespace vectis::test {

namespace {

// A destroy slot takes the object out of the rig and can say nothing.
template <class Handle>
Answer destroy(void (*slot)(Handle*), Handle*& handle) {
  slot(std::exchange(handle, nullptr));
  return {};
}

void need_work(Rig& rig) {
  rig.need_streams();
  rig.need_memory();
  EXPECT_TRUE(works(ask(plugin().copy_to_device, rig.stream, rig.memory, 0U, rig.data.data(), rig.data.size())));
}

// An event recorded after some work, and that work done, which another stream has seen and this one has not.
void need_recorded_event(Rig& rig) {
  need_work(rig);
  rig.need_event();
  EXPECT_TRUE(works(ask(plugin().event_record, rig.event, rig.stream)));
  EXPECT_TRUE(works(ask(plugin().stream_wait_event, rig.other_stream, rig.event)));
  EXPECT_TRUE(works(ask(plugin().stream_synchronize, rig.other_stream)));
}

void need_launch(Rig& rig) {
  rig.need_streams();
  rig.need_memory();
  rig.need_kernel();
}

// Makes `handle`; one of an earlier call goes first.
template <class Handle, class Slot, class... Arguments>
Answer make_anew(void (*destroy_slot)(Handle*), Handle*& handle, Slot slot, Arguments... arguments) {
  if (handle != nullptr) destroy_slot(std::exchange(handle, nullptr));
  Answer answer = ask(slot, arguments..., &handle);
  EXPECT_EQ(handle != nullptr, answer.status == VECTIS_OK) << "outputs are written on success alone";
  return answer;
}

Answer open(Rig& rig) { return make_anew(plugin().close, rig.state, plugin().open, rig.host.get()); }

Answer device_info(Rig& rig) {
  VectisDeviceInfo info{};
  info.size = sizeof info;
  Answer answer = ask(plugin().device_info, rig.state, 0U, &info);
  EXPECT_EQ(info.compute_units != 0, answer.status == VECTIS_OK);
  return answer;
}

Answer build(Rig& rig, const char* dialect, std::string_view text) {
  return make_anew(plugin().program_destroy, rig.program, plugin().program_create, rig.context, dialect, text.data(),
                   text.size(), "");
}

std::string kept_binary(VectisProgram* program) {
  std::size_t bytes = 0;
  EXPECT_TRUE(works(ask(plugin().program_binary, program, nullptr, &bytes)));
  std::string binary(bytes, '\0');
  EXPECT_TRUE(works(ask(plugin().program_binary, program, binary.data(), &bytes)));
  return binary;
}

// The rig's program as a binary, in `data`.
void need_binary(Rig& rig) {
  rig.need_program();
  const std::string binary = kept_binary(rig.program);
  rig.data.assign(binary.begin(), binary.end());
  plugin().program_destroy(std::exchange(rig.program, nullptr));
}

Answer read_binary(Rig& rig) {
  std::size_t bytes = 0;
  Answer sized = ask(plugin().program_binary, rig.program, nullptr, &bytes);
  if (sized.status != VECTIS_OK) return sized;
  std::string binary(bytes, '\0');
  return ask(plugin().program_binary, rig.program, binary.data(), &bytes);
}

// A product the portable kernel has to do: CLBlast is for GPUs.
Answer run_matmul(Rig& rig) {
  const VectisView view{rig.memory, 0, 1, 1, 1, VECTIS_FLOAT32};
  const std::array<VectisView, 3> views = {view, view, view};
  const std::array<VectisNumber, 4> numbers = {{{0, 0}, {0, 0}, {1, 1}, {0, 0}}};
  const VectisOpCall call{sizeof call, "matmul", views.data(), views.size(), numbers.data(), numbers.size()};
  return ask(plugin().run_op, rig.stream, &call);
}

Answer memory_free(Rig& rig) {
  plugin().memory_free(rig.context, std::exchange(rig.memory, nullptr));
  return {};
}

Answer memory_allocate(Rig& rig) {
  if (rig.memory != nullptr) memory_free(rig);
  Answer answer = ask(plugin().memory_allocate, rig.context, Rig::bytes, &rig.memory);
  EXPECT_EQ(rig.memory != nullptr, answer.status == VECTIS_OK);
  return answer;
}

Answer memory_slice(Rig& rig) {
  if (rig.slice != nullptr) plugin().memory_free(rig.context, std::exchange(rig.slice, nullptr));
  Answer answer = ask(plugin().memory_slice, rig.memory, 128U, 100U, &rig.slice);
  EXPECT_EQ(rig.slice != nullptr, answer.status == VECTIS_OK);
  return answer;
}

Answer timestamp(Rig& rig) {
  std::uint64_t time = 0;
  Answer answer = ask(plugin().event_timestamp, rig.event, &time);
  EXPECT_EQ(time != 0, answer.status == VECTIS_OK);
  return answer;
}

std::vector<Exercise> lifetime_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"open", "", [](Rig&) {}, open},
      {"open", "with sub-devices", [](Rig& rig) { rig.host.settings["sub_devices"] = "2"; }, open},
      {"close", "with sub-devices",
       [](Rig& rig) {
         rig.host.settings["sub_devices"] = "2";
         rig.need_state();
       },
       [&](Rig& rig) { return destroy(table.close, rig.state); }},
      {"device_count", "", [](Rig& rig) { rig.need_state(); },
       [&](Rig& rig) {
         std::uint32_t count = 0;
         return ask(table.device_count, rig.state, &count);
       }},
      {"device_info", "", [](Rig& rig) { rig.need_state(); }, device_info},
      {"context_create", "", [](Rig& rig) { rig.need_state(); },
       [&](Rig& rig) { return make_anew(table.context_destroy, rig.context, table.context_create, rig.state, 0U); }},
      {"context_destroy", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return destroy(table.context_destroy, rig.context); }},
      {"memory_allocate", "", [](Rig& rig) { rig.need_context(); }, memory_allocate},
      {"memory_slice", "", [](Rig& rig) { rig.need_memory(); }, memory_slice},
      {"memory_free", "", [](Rig& rig) { rig.need_memory(); }, memory_free},
      {"stream_create", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return make_anew(table.stream_destroy, rig.stream, table.stream_create, rig.context); }},
      {"stream_destroy", "with work under way", need_work,
       [&](Rig& rig) { return destroy(table.stream_destroy, rig.stream); }},
      {"event_create", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return make_anew(table.event_destroy, rig.event, table.event_create, rig.context); }},
      {"event_destroy", "of a recorded one", need_recorded_event,
       [&](Rig& rig) { return destroy(table.event_destroy, rig.event); }},
  };
}

std::vector<Exercise> work_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"stream_synchronize", "", need_work, [](Rig& rig) { return rig.synchronize(); }},
      {"copy_to_device", "", need_work,
       [&](Rig& rig) { return ask(table.copy_to_device, rig.stream, rig.memory, 1U, rig.data.data(), 99U); }, VECTIS_OK,
       true},
      {"copy_to_host", "", need_work,
       [&](Rig& rig) { return ask(table.copy_to_host, rig.stream, rig.data.data(), rig.memory, 1U, 99U); }, VECTIS_OK,
       true},
      {"copy_on_device", "", need_work,
       [&](Rig& rig) { return ask(table.copy_on_device, rig.stream, rig.other_memory, 3U, rig.memory, 1U, 99U); },
       VECTIS_OK, true},
      {"fill", "", need_work,
       [&](Rig& rig) { return ask(table.fill, rig.stream, rig.memory, 1U, 99U, std::uint8_t{9}); }, VECTIS_OK, true},
      {"event_record", "", need_recorded_event,
       [&](Rig& rig) { return ask(table.event_record, rig.event, rig.stream); }},
      {"event_query", "", need_recorded_event, [&](Rig& rig) { return ask(table.event_query, rig.event); }},
      {"event_synchronize", "", need_recorded_event, [&](Rig& rig) { return ask(table.event_synchronize, rig.event); }},
      {"stream_wait_event", "", need_recorded_event,
       [&](Rig& rig) { return ask(table.stream_wait_event, rig.stream, rig.event); }, VECTIS_OK, true},
      {"event_timestamp", "", need_recorded_event, timestamp},
  };
}

std::vector<Exercise> program_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"program_create", "from source", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, "opencl-c", program_text); }},
      {"program_create", "from source that is wrong", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, "opencl-c", "__kernel void k() { undeclared = 1; }"); }, VECTIS_COMPILE_FAILED},
      {"program_create", "from a binary", need_binary,
       [](Rig& rig) {
         return build(rig, "binary", {reinterpret_cast<const char*>(rig.data.data()), rig.data.size()});
       }},
      {"program_destroy", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) { return destroy(table.program_destroy, rig.program); }},
      {"program_binary", "", [](Rig& rig) { rig.need_program(); }, read_binary},
      {"kernel_create", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) {
         return make_anew(table.kernel_destroy, rig.kernel, table.kernel_create, rig.program, "mirror");
       }},
      {"kernel_destroy", "", [](Rig& rig) { rig.need_kernel(); },
       [&](Rig& rig) { return destroy(table.kernel_destroy, rig.kernel); }},
      {"launch", "", need_launch,
       [](Rig& rig) { return launch_mirror(rig.stream, rig.kernel, rig.memory, rig.other_memory, 2.0F, 100, 10); },
       VECTIS_OK, true},
      {"run_op", "",
       [](Rig& rig) {
         rig.need_memory();
         rig.need_streams();
       },
       run_matmul, VECTIS_UNSUPPORTED},
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

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = [] {
    std::vector<Exercise> joined = lifetime_exercises();
    for (const auto& more : {work_exercises(), program_exercises()}) {
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
