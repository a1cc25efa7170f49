#include "tests/opencl/exercises.hpp"

#include <array>

#include "tests/cuda/carried.hpp"

namespace vectis::test {

namespace {

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

void need_recorded_event(Rig& rig) {
  need_work(rig);
  rig.need_event();
  EXPECT_TRUE(works(ask(plugin().event_record, rig.event, rig.stream)));
  EXPECT_TRUE(works(ask(plugin().event_synchronize, rig.event)));
}

void need_launch(Rig& rig) {
  need_work(rig);
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

Answer device_info(Rig& rig) {
  VectisDeviceInfo info{};
  info.size = sizeof info;
  Answer answer = ask(plugin().device_info, rig.state, 0U, &info);
  EXPECT_EQ(info.compute_units != 0, answer.status == VECTIS_OK);
  return answer;
}

Answer device_memory(Rig& rig) {
  VectisMemoryInfo info{sizeof info, 0, 0};
  Answer answer = ask(plugin().device_memory, rig.state, 0U, &info);
  EXPECT_EQ(info.total_bytes != 0, answer.status == VECTIS_OK);
  return answer;
}

bool is_cuda() { return program_dialect == std::string_view("cuda-c++"); }

Answer device_utilization(Rig& rig) {
  double share = -1;
  Answer answer = ask(plugin().device_utilization, rig.state, 0U, &share);
  EXPECT_EQ(share >= 0, answer.status == VECTIS_OK);
  return answer;
}

Answer build(Rig& rig, const char* dialect, std::string_view text, const std::string& options = "") {
  return make_anew(plugin().program_destroy, rig.program, plugin().program_create, rig.context, dialect, text.data(),
                   text.size(), options.c_str());
}

// The making of a program that travels in the plug-in, where any does.
std::vector<Exercise> carried_exercises() {
  static const std::vector<CarriedText> texts = carried_texts();
  if (texts.empty()) return {};
  return {{"program_create", "from a text that travels compiled", [](Rig& rig) { rig.need_context(); },
           [](Rig& rig) { return build(rig, program_dialect, texts.front().text, carried_options()); }}};
}

// The rig's program as a binary, in `data`.
void need_binary(Rig& rig) {
  rig.need_program();
  std::size_t bytes = 0;
  EXPECT_TRUE(works(ask(plugin().program_binary, rig.program, nullptr, &bytes)));
  rig.data.resize(bytes);
  EXPECT_TRUE(works(ask(plugin().program_binary, rig.program, rig.data.data(), &bytes)));
  plugin().program_destroy(std::exchange(rig.program, nullptr));
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

Answer host_free(Rig& rig) {
  plugin().host_free(rig.context, std::exchange(rig.pinned, nullptr));
  return {};
}

Answer host_allocate(Rig& rig) {
  if (rig.pinned != nullptr) host_free(rig);
  Answer answer = ask(plugin().host_allocate, rig.context, Rig::bytes, &rig.pinned);
  EXPECT_EQ(rig.pinned != nullptr, answer.status == VECTIS_OK);
  return answer;
}

void need_pinned_work(Rig& rig) {
  need_work(rig);
  rig.need_pinned();
  EXPECT_TRUE(works(ask(plugin().copy_to_host, rig.stream, rig.pinned, rig.memory, 0U, Rig::bytes)));
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
      {"open", "", [](Rig&) {},
       [&](Rig& rig) { return make_anew(table.close, rig.state, table.open, rig.host.get()); }},
      {"device_info", "", [](Rig& rig) { rig.need_state(); }, device_info},
      {"device_memory", "", [](Rig& rig) { rig.need_context(); }, device_memory},
      {"device_memory", "without a context", [](Rig& rig) { rig.need_state(); }, device_memory},
      {"device_utilization", "", [](Rig& rig) { rig.need_state(); }, device_utilization,
       is_cuda() ? VECTIS_OK : VECTIS_UNSUPPORTED},
      {"context_create", "", [](Rig& rig) { rig.need_state(); },
       [&](Rig& rig) { return make_anew(table.context_destroy, rig.context, table.context_create, rig.state, 0U); }},
      {"context_destroy", "", [](Rig& rig) { rig.need_context(); },
       [&](Rig& rig) { return destroy(table.context_destroy, rig.context); }},
      {"memory_allocate", "", [](Rig& rig) { rig.need_context(); }, memory_allocate},
      {"memory_free", "used by work", need_work, memory_free},
      {"host_allocate", "", [](Rig& rig) { rig.need_context(); }, host_allocate},
      {"host_free", "used by work", need_pinned_work, host_free},
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
      {"copy_from_peer", "",
       [](Rig& rig) {
         need_work(rig);
         rig.need_peer();
       },
       [&](Rig& rig) {
         return ask(table.copy_from_peer, rig.stream, rig.memory, 3U, rig.peer_stream, rig.peer_memory, 1U, 99U);
       },
       VECTIS_OK, true},
      {"fill", "", need_work,
       [&](Rig& rig) { return ask(table.fill, rig.stream, rig.memory, 1U, 99U, std::uint8_t{9}); }, VECTIS_OK, true},
      {"event_record", "", need_recorded_event,
       [&](Rig& rig) { return ask(table.event_record, rig.event, rig.stream); }},
      {"event_query", "", need_recorded_event, [&](Rig& rig) { return ask(table.event_query, rig.event); }},
      {"event_synchronize", "", need_recorded_event, [&](Rig& rig) { return ask(table.event_synchronize, rig.event); }},
      {"stream_wait_event", "", need_recorded_event,
       [&](Rig& rig) { return ask(table.stream_wait_event, rig.stream, rig.event); }},
      {"event_timestamp", "", need_recorded_event, timestamp},
  };
}

// Three rows times four columns, from parts of one memory.
Answer multiply(Rig& rig) {
  const std::array views = {VectisView{rig.memory, 0, 3, 5, 6, VECTIS_FLOAT32},
                            VectisView{rig.memory, 40, 5, 4, 4, VECTIS_FLOAT32},
                            VectisView{rig.other_memory, 1, 3, 4, 7, VECTIS_FLOAT32}};
  const std::array numbers = {VectisNumber{0, 0}, VectisNumber{0, 0}, VectisNumber{1, 1}, VectisNumber{0, 0}};
  const VectisOpCall call{sizeof call, "matmul", views.data(), views.size(), numbers.data(), numbers.size()};
  return ask(plugin().run_op, rig.stream, &call);
}

std::vector<Exercise> program_exercises() {
  const VectisBackend& table = plugin();
  return {
      {"run_op", "a product", need_work, multiply, is_cuda() ? VECTIS_OK : VECTIS_UNSUPPORTED, is_cuda()},
      {"program_create", "from source", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, program_dialect, program_text); }},
      {"program_create", "from source that is wrong", [](Rig& rig) { rig.need_context(); },
       [](Rig& rig) { return build(rig, program_dialect, "extern \"C\" __global__ void k() { undeclared = 1; }"); },
       VECTIS_COMPILE_FAILED},
      {"program_create", "from a binary", need_binary,
       [](Rig& rig) {
         return build(rig, "binary", {reinterpret_cast<const char*>(rig.data.data()), rig.data.size()});
       }},
      {"program_destroy", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) { return destroy(table.program_destroy, rig.program); }},
      {"kernel_create", "", [](Rig& rig) { rig.need_program(); },
       [&](Rig& rig) {
         return make_anew(table.kernel_destroy, rig.kernel, table.kernel_create, rig.program, "mirror");
       }},
      {"launch", "", need_launch,
       [](Rig& rig) { return launch_mirror(rig.stream, rig.kernel, rig.memory, rig.other_memory, 2.0F, 100, 10); },
       VECTIS_OK, true},
  };
}

}  // namespace

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = [] {
    std::vector<Exercise> joined = lifetime_exercises();
    for (const auto& more : {work_exercises(), program_exercises(), carried_exercises()}) {
      joined.insert(joined.end(), more.begin(), more.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace vectis::test
