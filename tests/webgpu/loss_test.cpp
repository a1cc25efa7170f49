// Devices that are lost while wgpu polls them: wgpu calls back inside the poll, and reports all work as done.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <wgpu.h>

#include <array>
#include <functional>

#include "harness.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

template <class Function>
Function* wgpu_function(Function*, const char* name) {
  static void* const library = dlopen(default_settings().at("library").c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

enum class LossInPoll {
  none,
  before_the_end,  // the poll returns early, and the work is never reported
  after_the_end    // the work was reported as done by then
};

WGPUDeviceLostCallbackInfo lost_callback{};
LossInPoll loss = LossInPoll::none;

WGPUFuture request_device(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                          WGPURequestDeviceCallbackInfo callback) {
  lost_callback = descriptor->deviceLostCallbackInfo;
  return wgpu_function(&request_device, "wgpuAdapterRequestDevice")(adapter, descriptor, callback);
}

WGPUBool poll_device(WGPUDevice device, WGPUBool wait, const WGPUSubmissionIndex* submission) {
  const bool lost = wait != WGPU_FALSE && loss != LossInPoll::none;
  WGPUBool idle = WGPU_FALSE;
  if (!lost || loss == LossInPoll::after_the_end) {
    idle = wgpu_function(&poll_device, "wgpuDevicePoll")(device, wait, submission);
  }
  if (lost) {
    lost_callback.callback(&device, WGPUDeviceLostReason_Unknown, {"the GPU hung", WGPU_STRLEN},
                           lost_callback.userdata1, lost_callback.userdata2);
    loss = LossInPoll::none;
  }
  return idle;
}

void replace_functions(TestHost& host) {
  host.replaced["wgpuAdapterRequestDevice"] = reinterpret_cast<void*>(&request_device);
  host.replaced["wgpuDevicePoll"] = reinterpret_cast<void*>(&poll_device);
}

// Loses the device in the first wait of `call`, after a launch and the record of `event`.
void expect_lost(const std::string& api, LossInPoll when,
                 const std::function<SlotResult(Rig&, VectisMemory*, VectisEvent*)>& call) {
  Rig rig(api, replace_functions);
  const Kernel add = rig.kernel(add_text, "add");
  const Memory memory = rig.allocate(256);
  const auto event = rig.event();
  ASSERT_TRUE(succeeded(launch(rig.stream, add, {{memory.get(), memory.get()}, {1, 64}})));
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, event.get(), rig.stream)));
  loss = when;
  const SlotResult result = call(rig, memory.get(), event.get());
  EXPECT_EQ(result.status, VECTIS_DEVICE_LOST) << result;
  EXPECT_THAT(result.text, HasSubstr("the GPU hung"));
  EXPECT_EQ(loss, LossInPoll::none) << "the call did not wait";
  EXPECT_EQ(call_slot(plugin().event_query, event.get()).status, VECTIS_DEVICE_LOST);
  EXPECT_EQ(rig.synchronize().status, VECTIS_DEVICE_LOST);
}

class WebgpuLossInPoll : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuLossInPoll, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuLossInPoll, IsReportedByTheCallThatWaits) {
  for (const LossInPoll when : {LossInPoll::before_the_end, LossInPoll::after_the_end}) {
    SCOPED_TRACE(when == LossInPoll::before_the_end ? "before the end" : "after the end");
    expect_lost(GetParam(), when, [](Rig& rig, VectisMemory*, VectisEvent*) { return rig.synchronize(); });
    expect_lost(GetParam(), when,
                [](Rig&, VectisMemory*, VectisEvent* event) { return call_slot(plugin().event_synchronize, event); });
    expect_lost(GetParam(), when, [](Rig& rig, VectisMemory* memory, VectisEvent*) {
      std::array<std::byte, 16> bytes{};
      return call_slot(plugin().copy_to_host, rig.stream, static_cast<void*>(bytes.data()), memory, 0U, 16U);
    });
  }
}

}  // namespace
}  // namespace vectis::test
