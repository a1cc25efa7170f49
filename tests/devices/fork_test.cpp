// A child process forked while devices work: its destructors end, since they call no driver. The threads of a driver,
// and the work, stay in the parent.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/devices/fixture.hpp"
#include "tests/support/deferred_backend.hpp"
#include "tests/support/fake_runtime.hpp"

namespace vectis {
namespace {

// Objects of a device with work that takes a while.
struct BusyDevice {
  explicit BusyDevice(const Device& device) : context(device) {
    for (std::uint8_t value = 0; value < 20; ++value) stream.fill(memory, 0, memory.bytes(), value);
    stream.copy_to_host(host.bytes(), memory, 0);
    stream.record(event);
  }
  DeviceContext context;
  DeviceMemory memory{context, 8 << 20};
  DeviceMemory part = memory.slice(0, 4096);
  HostMemory host{context, 4096};
  Event event{context};
  Stream stream{context};
};

// The exit code of the child, or -1 when it does not end within ten seconds.
int wait_for(pid_t child) {
  for (int i = 0; i < 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

class ForkedChild : public testing::TestWithParam<std::string> {};

TEST_P(ForkedChild, DestroysBusyDevicesAtOnce) {
  std::optional<Runtime> runtime(std::in_place);
  std::optional<BusyDevice> busy(std::in_place, runtime->service<DeviceRegistry>().find(GetParam()).value());
  const pid_t child = fork();
  if (child == 0) {
    busy.reset();
    runtime.reset();
    _exit(0);
  }
  busy->stream.synchronize();
  EXPECT_EQ(wait_for(child), 0) << "-1: it hangs";
}

INSTANTIATE_TEST_SUITE_P(Devices, ForkedChild, testing::ValuesIn(test::computing_devices()), test::case_name);

using test::DeferredBackend;

// One object of each kind, with a copy that has not run.
struct Objects {
  explicit Objects(Runtime& runtime) : context(runtime.service<DeviceRegistry>().find("cuda:0").value()) {
    stream.copy_to_host(pageable.bytes(), memory, 0);
    stream.record(event);
  }
  DeviceContext context;
  DeviceMemory memory{context, 100};
  HostMemory pageable{context, 100};
  Event event{context};
  Stream stream{context};
};

TEST(ForkedChildOfADeferredDevice, CallsNoDestroyingSlot) {
  test::FakeOs os;
  DeferredBackend::install(os);
  std::optional<Runtime> runtime(std::in_place, test::options_on(os));
  std::optional<Objects> objects(std::in_place, *runtime);
  const int before = DeferredBackend::destroyed;
  const pid_t child = fork();
  if (child == 0) {
    objects.reset();
    runtime.reset();
    _exit(DeferredBackend::pending == 1 ? DeferredBackend::destroyed - before : 99);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls of destroying slots";
  objects.reset();
  EXPECT_GE(DeferredBackend::destroyed, before + 4) << "an event, a memory, a stream and a context";
  EXPECT_EQ(DeferredBackend::pending, 0);
}

}  // namespace
}  // namespace vectis
