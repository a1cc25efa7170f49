// Provokes every code of the error catalog once, by a call that a user would make.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

class EveryError : public test::DevicesTest {
 protected:
  ~EveryError() override { registry().configure("failing", "reset", ""); }
  void fail(const std::string& what) { registry().configure("failing", "fail", what); }

  // Makes a device call in a forked child and rethrows its error in this process.
  void use_in_forked_child() {
    const DeviceContext context(device("cpu"));
    const pid_t child = fork();
    if (child == 0) {
      int code = 0;
      try {
        const DeviceMemory memory(context, 1);
      } catch (const Error& error) {
        code = static_cast<int>(error.code());
      }
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    throw Error(static_cast<ErrorCode>(WEXITSTATUS(status)), "fork", "in the child");
  }
};

TEST_F(EveryError, IsProvoked) {
  const DeviceContext failing(device("failing"));
  const std::map<ErrorCode, std::function<void()>> provocations = {
      {ErrorCode::invalid_input, [&] { DeviceMemory(failing, 0); }},
      {ErrorCode::allocation, [&] { fail("memory_allocate 1 allocation"), DeviceMemory(failing, 1); }},
      {ErrorCode::backend_creation,
       [&] { fail("context_create 1 backend_creation"), open_device(runtime(), {.device = "failing"}); }},
      {ErrorCode::unsupported_backend, [&] { choose_device(runtime(), {.device = "abacus"}); }},
      {ErrorCode::unsupported, [&] { registry().configure("cpu", "color", "red"); }},
      {ErrorCode::device_lost, [&] { fail("memory_allocate 1 device_lost"), DeviceMemory(failing, 1); }},
      {ErrorCode::no_compiler, [&] { Program(DeviceContext(device("cpu")), "opencl-c", "x"); }},
      {ErrorCode::compile_failed,
       [&] {
         const DeviceContext context(device("failing"));
         fail("memory_allocate 1 compile_failed");
         DeviceMemory(context, 1);
       }},
      {ErrorCode::driver_failure,
       [&] {
         const DeviceContext context(device("failing"));
         fail("stream_create 1 driver_failure");
         Stream{context};
       }},
      {ErrorCode::forked, [&] { use_in_forked_child(); }},
      {ErrorCode::cancelled,
       [&] {
         CancelSource source;
         source.cancel();
         Context{}.with_cancel(source).check("search", runtime().executor());
       }},
      {ErrorCode::deadline_exceeded,
       [&] {
         Context{}.with_deadline(runtime().executor().now() - Duration{1}).check("search", runtime().executor());
       }},
      {ErrorCode::io, [&] { FileReader("/nonexistent/file"); }},
      {ErrorCode::corrupt_data, [&] { MemoryReader({}).get<int>(); }},
  };
  for (const ErrorEntry& entry : error_catalog()) {
    const auto provocation = provocations.find(entry.code);
    ASSERT_NE(provocation, provocations.end()) << "nothing provokes " << entry.name;
    EXPECT_ERROR(provocation->second(), entry.code, "[");
  }
  EXPECT_EQ(provocations.size(), error_catalog().size());
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(EveryError, CompileFailedByARealCompiler) {
  EXPECT_ERROR(Program(DeviceContext(device("opencl")), "opencl-c", "nonsense"), ErrorCode::compile_failed, "opencl:0");
}
#endif

}  // namespace
}  // namespace vectis
