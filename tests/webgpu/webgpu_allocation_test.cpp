// Allocations of the plug-in that fail while wgpu reports an error: the failure is a status, and the process goes on.
#include <gmock/gmock.h>

#include <functional>

#include "harness.hpp"
#include "tests/support/allocation_faults.hpp"

namespace vectis::test {
namespace {

// Repeats `call`, which fails with `without_fault`, and makes another one of its allocations fail each time.
void expect_typed_failures(VectisStatus without_fault, const std::function<SlotResult()>& call) {
  call();  // grows buffers that later calls reuse
  arm_allocation_fault(&plugin(), NewForm::throwing, 0);
  const SlotResult undisturbed = call();
  const std::uint32_t allocations = disarm_allocation_fault();
  EXPECT_EQ(undisturbed.status, without_fault) << undisturbed;
  EXPECT_GT(allocations, 0U);
  for (std::uint32_t nth = 1; nth <= allocations; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    arm_allocation_fault(&plugin(), NewForm::throwing, nth);
    const SlotResult result = call();
    disarm_allocation_fault();
    EXPECT_EQ(result.status, VECTIS_ALLOCATION) << result;
    EXPECT_FALSE(result.text.empty());
  }
}

TEST(WebgpuAllocation, AFailureInsideAnErrorCallbackIsAStatus) {
  Rig rig("vulkan");
  const std::string_view wrong = "@compute @workgroup_size(1) fn main() { unknown(3u); }";
  VectisProgram* program = nullptr;
  expect_typed_failures(VECTIS_COMPILE_FAILED, [&] {
    return call_slot(plugin().program_create, rig.context, "wgsl", wrong.data(), wrong.size(), "", &program);
  });
  EXPECT_EQ(program, nullptr);

  const Kernel add = rig.kernel(add_text, "add");
  const Memory memory = rig.allocate(256);
  const VectisArgument argument{VECTIS_ARGUMENT_MEMORY, memory.get(), nullptr, 0};
  const VectisLaunch too_few{sizeof too_few, {1, 1, 1}, {64, 1, 1}, &argument, 1};
  expect_typed_failures(VECTIS_INVALID_INPUT,
                        [&] { return call_slot(plugin().launch, rig.stream, add.get(), &too_few); });

  const Memory sums = rig.allocate(256);
  EXPECT_TRUE(succeeded(launch(rig.stream, add, {{memory.get(), sums.get()}, {1, 64}})));
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

}  // namespace
}  // namespace vectis::test
