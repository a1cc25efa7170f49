// Faults of a device: errors are typed, sticky where documented, and the next call works.
#include <gmock/gmock.h>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

class Faults : public test::DevicesTest {
 protected:
  ~Faults() override { command("reset", ""); }
  void command(const std::string& key, const std::string& value) { registry().configure("failing", key, value); }

  std::vector<std::byte> host = std::vector<std::byte>(16);
};

TEST_F(Faults, EveryStatusBecomesItsCode) {
  const std::vector<std::pair<std::string, ErrorCode>> statuses = {
      {"invalid_input", ErrorCode::invalid_input},       {"allocation", ErrorCode::allocation},
      {"backend_creation", ErrorCode::backend_creation}, {"unsupported", ErrorCode::unsupported},
      {"compile_failed", ErrorCode::compile_failed},     {"driver_failure", ErrorCode::driver_failure}};
  const DeviceContext context(device("failing"));
  for (const auto& [status, code] : statuses) {
    command("fail", "memory_allocate 1 " + status);
    EXPECT_ERROR(DeviceMemory(context, 8), code, "an injected failure in memory_allocate");
    EXPECT_EQ(DeviceMemory(context, 8).bytes(), 8U) << "the next call works";
  }
}

TEST_F(Faults, TheNthCallFails) {
  const DeviceContext context(device("failing"));
  command("fail", "memory_allocate 3 allocation");
  DeviceMemory(context, 1);
  DeviceMemory(context, 1);
  EXPECT_ERROR(DeviceMemory(context, 1), ErrorCode::allocation, "failing:0");
  DeviceMemory(context, 1);
}

TEST_F(Faults, AnEnqueueThatFailsLeavesTheStreamUsable) {
  const DeviceContext context(device("failing"));
  Stream stream(context);
  const DeviceMemory memory(context, host.size());
  command("fail", "copy_to_device 1 driver_failure");
  EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::driver_failure, "[copy_to_device]");
  stream.copy_to_device(memory, 0, host);
  stream.synchronize();
}

TEST_F(Faults, AnAsynchronousFailureSticksToItsStream) {
  const DeviceContext context(device("failing"));
  Stream stream(context);
  Stream other(context);
  const DeviceMemory memory(context, host.size());
  command("fail", "stream_synchronize 1 driver_failure");
  EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, "[synchronize]");
  EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::driver_failure, "[synchronize]");
  EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, "[synchronize]");
  other.copy_to_device(memory, 0, host);
  other.synchronize();
  Stream(context).synchronize();
}

TEST_F(Faults, AnEventsFailureSticksToItsStream) {
  const DeviceContext context(device("failing"));
  for (const std::string slot : {"event_query", "event_synchronize"}) {
    Stream stream(context);
    const Event event(context);
    stream.record(event);
    command("fail", slot + " 1 driver_failure");
    if (slot == "event_query") {
      EXPECT_ERROR(static_cast<void>(event.completed()), ErrorCode::driver_failure, slot);
    } else {
      EXPECT_ERROR(event.synchronize(), ErrorCode::driver_failure, slot);
    }
    EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, slot);
  }
}

TEST_F(Faults, ALostDeviceStaysLostUntilANewContext) {
  const DeviceContext context(device("failing"));
  Stream stream(context);
  const DeviceMemory memory(context, host.size());
  command("lose", "2");
  stream.copy_to_device(memory, 0, host);
  EXPECT_FALSE(context.lost());
  EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::device_lost, "the device was lost");
  EXPECT_TRUE(context.lost());
  EXPECT_ERROR(DeviceContext(device("failing")), ErrorCode::device_lost, "[create_context]");
  command("reset", "");
  EXPECT_ERROR(DeviceMemory(context, 1), ErrorCode::device_lost, "was lost earlier", "create a new context");
  EXPECT_ERROR(stream.synchronize(), ErrorCode::device_lost, "was lost earlier");
  const DeviceContext again(device("failing"));
  EXPECT_EQ(DeviceMemory(again, 1).bytes(), 1U);
  const DeviceContext cpu(device("cpu"));
  EXPECT_EQ(DeviceMemory(cpu, 1).bytes(), 1U) << "other devices go on";
}

// Fails every call of a small program in turn: each run throws a typed error and leaks nothing.
TEST_F(Faults, FailAtEveryCallOfAProgram) {
  const auto program = [&] {
    const DeviceContext context(device("failing"));
    Stream stream(context);
    const DeviceMemory a(context, host.size());
    const DeviceMemory b(context, host.size());
    stream.copy_to_device(a, 0, host);
    stream.copy_on_device(b, 0, a, 0, host.size());
    stream.fill(b, 0, 4, 1);
    const Event event(context);
    stream.record(event);
    stream.wait(event);
    event.synchronize();
    static_cast<void>(event.completed());
    static_cast<void>(event.timestamp());
    stream.copy_to_host(host, b, 0);
    stream.synchronize();
  };
  int points = 0;
  for (bool failed = true; failed; ++points) {
    command("fail", "any " + std::to_string(points + 1) + " driver_failure");
    failed = false;
    try {
      program();
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.code(), ErrorCode::driver_failure) << error.what();
    }
    command("reset", "");
    program();
  }
  std::cout << points - 1 << " points failed in turn\n";
  EXPECT_GT(points, 14);
}

TEST_F(Faults, AnOptionalSlotThatIsUnsupportedFallsBack) {
  const DeviceContext context(device("failing"));
  Stream stream(context);
  const std::size_t bytes = (1 << 20) + 17;  // more than one block of the fallback
  const DeviceMemory memory(context, bytes);
  stream.fill(memory, 0, bytes, 1);
  command("fail", "fill 1 unsupported");
  stream.fill(memory, 1, bytes - 2, 7);
  std::vector<std::byte> received(bytes);
  stream.copy_to_host(received, memory, 0);
  std::vector<std::byte> expected(bytes, std::byte{7});
  expected.front() = expected.back() = std::byte{1};
  EXPECT_EQ(received, expected);
  command("fail", "memory_address 1 unsupported");
  EXPECT_EQ(memory.address(), nullptr);
  command("fail", "device_memory 1 unsupported");
  EXPECT_EQ(device("failing").memory(), std::nullopt);
  command("fail", "device_memory 1 driver_failure");
  EXPECT_ERROR(static_cast<void>(device("failing").memory()), ErrorCode::driver_failure, "[memory]");
  command("fail", "event_timestamp 1 unsupported");
  const Event event(context);
  stream.record(event);
  EXPECT_EQ(event.timestamp(), std::nullopt);
}

// The reason why a backend with this setting did not open.
std::string reason_of(const std::string& backend, const std::string& key, const std::string& value) {
  RuntimeOptions options;
  options.settings["backends." + backend + "." + key] = value;
  Runtime runtime(std::move(options));
  for (const BackendStatus& status : runtime.service<DeviceRegistry>().backends()) {
    if (status.name == backend) return status.reason;
  }
  return "there is no backend " + backend;
}

TEST(TestBackends, SettingsAreChecked) {
  EXPECT_THAT(reason_of("failing", "target", "abacus"),
              testing::HasSubstr("there is no open backend to wrap named 'abacus'"));
  EXPECT_THAT(reason_of("failing", "fail", "fill 1"), testing::HasSubstr("invalid value 'fill 1'"));
  for (const char* number : {"0", "-1", "two", "3 of them", "1025", "4294967296"}) {
    EXPECT_THAT(reason_of("null", "devices", number), testing::HasSubstr("must be an integer from 1 to 1024"));
  }
  EXPECT_THAT(reason_of("null", "memory_bytes", "-1"), testing::HasSubstr("must be an integer of bytes from 1 to"));
}

// The settings of the backend, as a user sets them in the environment: the third copy fails, the others work.
TEST_F(Faults, AreSettableByConfiguration) {
  RuntimeOptions options;
  options.settings["backends.failing.fail"] = "copy_to_device 3 driver_failure; fill 1 allocation";
  Runtime other(std::move(options));
  const DeviceContext context(*other.service<DeviceRegistry>().find("failing"));
  const DeviceMemory memory(context, 64);
  Stream stream(context);
  const std::vector<std::byte> bytes(64);
  stream.copy_to_device(memory, 0, bytes);
  stream.copy_to_device(memory, 0, bytes);
  EXPECT_ERROR(stream.copy_to_device(memory, 0, bytes), ErrorCode::driver_failure, "an injected failure");
  EXPECT_ERROR(stream.fill(memory, 0, 64, 1), ErrorCode::allocation, "an injected failure");
  stream.synchronize();
}

TEST_F(Faults, HeldWorkDoesNotFinish) {
  const DeviceContext context(device("failing"));
  Stream stream(context);
  const Event event(context);
  for (const char* end : {"resume", "reset"}) {
    command("hold", "");
    stream.record(event);
    EXPECT_FALSE(event.completed());
    EXPECT_FALSE(event.completed());
    command(end, "");
    EXPECT_TRUE(event.completed());
  }
}

TEST_F(Faults, CommandsAreChecked) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"fial", ""}, {"fail", ""}, {"fail", "fill 0 allocation"}, {"fail", "fill 1 nonsense"}, {"lose", "x"}}) {
    EXPECT_ERROR(command(key, value), ErrorCode::invalid_input, "unknown command");
  }
}

}  // namespace
}  // namespace vectis
