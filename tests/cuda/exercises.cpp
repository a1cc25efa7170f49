// The exercises of CUDA and HIP alone.
#include "tests/slots/exercises.hpp"

#include <array>

#include "tests/cuda/embedded_texts.hpp"

namespace vectis::test {

namespace {

SlotResult device_memory(Rig& rig) {
  VectisMemoryInfo info{sizeof info, 0, 0};
  SlotResult result = call_slot(plugin().device_memory, rig.state, 0U, &info);
  EXPECT_EQ(info.total_bytes != 0, result.status == VECTIS_OK);
  return result;
}

bool is_cuda() { return program_dialect == std::string_view("cuda-c++"); }

SlotResult device_utilization(Rig& rig) {
  double share = -1;
  SlotResult result = call_slot(plugin().device_utilization, rig.state, 0U, &share);
  EXPECT_EQ(share >= 0, result.status == VECTIS_OK);
  return result;
}

SlotResult host_free(Rig& rig) {
  plugin().host_free(rig.context, std::exchange(rig.pinned, nullptr));
  return {};
}

SlotResult host_allocate(Rig& rig) {
  if (rig.pinned != nullptr) host_free(rig);
  SlotResult result = call_slot(plugin().host_allocate, rig.context, Rig::bytes, &rig.pinned);
  EXPECT_EQ(rig.pinned != nullptr, result.status == VECTIS_OK);
  return result;
}

void need_pinned_work(Rig& rig) {
  need_work(rig);
  rig.need_pinned();
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, rig.stream, rig.pinned, rig.memory, 0U, Rig::bytes)));
}

// Three rows times four columns, from parts of one memory.
SlotResult multiply(Rig& rig) {
  const std::array views = {VectisView{rig.memory, 0, 3, 5, 6, VECTIS_FLOAT32},
                            VectisView{rig.memory, 40, 5, 4, 4, VECTIS_FLOAT32},
                            VectisView{rig.other_memory, 1, 3, 4, 7, VECTIS_FLOAT32}};
  const std::array numbers = {VectisNumber{0, 0}, VectisNumber{0, 0}, VectisNumber{1, 1}, VectisNumber{0, 0}};
  const VectisOpCall call{sizeof call, "matmul", views.data(), views.size(), numbers.data(), numbers.size()};
  return call_slot(plugin().run_op, rig.stream, &call);
}

void need_peer_work(Rig& rig) {
  need_work(rig);
  rig.need_peer();
}

SlotResult copy_from_peer(Rig& rig) {
  return call_slot(plugin().copy_from_peer, rig.stream, rig.memory, 3U, rig.peer_stream, rig.peer_memory, 1U, 99U);
}

// A program from the source text of an embedded kernel, if there are any.
std::vector<Exercise> embedded_exercises() {
  static const std::vector<EmbeddedText> texts = embedded_texts();
  if (texts.empty()) return {};
  const auto load = [](Rig& rig) { return build(rig, program_dialect, texts.front().text, embedded_options()); };
  return {{"program_create", "from the text of an embedded kernel", [](Rig& rig) { rig.need_context(); }, load},
          {"program_binary", "of an embedded kernel",
           [load](Rig& rig) {
             rig.need_context();
             EXPECT_TRUE(succeeded(load(rig)));
           },
           [](Rig& rig) {
             std::size_t bytes = 0;
             return call_slot(plugin().program_binary, rig.program, nullptr, &bytes);
           }}};
}

}  // namespace

void need_recorded_event(Rig& rig) {
  need_work(rig);
  rig.need_event();
  EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
}

std::vector<Exercise> backend_exercises() {
  std::vector<Exercise> all = embedded_exercises();
  const std::vector<Exercise> others = {
      {"device_memory", "", [](Rig& rig) { rig.need_context(); }, device_memory},
      {"device_memory", "without a context", [](Rig& rig) { rig.need_state(); }, device_memory},
      {"device_utilization", "", [](Rig& rig) { rig.need_state(); }, device_utilization,
       is_cuda() ? VECTIS_OK : VECTIS_UNSUPPORTED},
      {"host_allocate", "", [](Rig& rig) { rig.need_context(); }, host_allocate},
      {"host_free", "used by work", need_pinned_work, host_free},
      {"copy_from_peer", "", need_peer_work, copy_from_peer, VECTIS_OK, true},
      {"stream_wait_event", "", need_recorded_event,
       [](Rig& rig) { return call_slot(plugin().stream_wait_event, rig.stream, rig.event); }},
      {"run_op", "a matrix product", need_work, multiply, is_cuda() ? VECTIS_OK : VECTIS_UNSUPPORTED, is_cuda()},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace vectis::test
