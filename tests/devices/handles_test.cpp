// The host is out of memory for a handle: each allocation of a small program fails in turn, throws a typed error, leaks
// nothing, and the next call works.
#include <dlfcn.h>

#include "tests/devices/fixture.hpp"
#include "tests/support/allocation_faults.hpp"
#include "vectis/device/backend.h"

extern "C" const VectisBackend* vectis_cpu_backend_entry(void);

namespace vectis {
namespace {

using test::NewForm;

// An address in the code that allocates the handles of a backend. Handles of `failing` are those of the CPU it wraps.
const void* code_of(const std::string& backend) {
  if (backend != "null") return reinterpret_cast<const void*>(&vectis_cpu_backend_entry);
  void* library = dlopen(VECTIS_NULL_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, "vectis_backend_entry");
}

class Handles : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  void use() {
    const DeviceContext context(device(GetParam()));
    Stream stream(context);
    const DeviceMemory memory(context, 128);
    const DeviceMemory part = memory.slice(0, 64);
    const Event event(context);
    stream.fill(part, 0, 64, 1);
    stream.record(event);
    stream.synchronize();
  }

  // The same with the nth allocation failing; 0: none. Returns the number of allocations.
  std::uint32_t use_with_fault(std::uint32_t nth) {
    test::arm_allocation_fault(code_of(GetParam()), NewForm::nothrow, nth);
    try {
      use();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::allocation) << error.what();
      EXPECT_NE(std::string(error.what()).find("the host is out of memory"), std::string::npos) << error.what();
      refused_ = true;
    }
    return test::disarm_allocation_fault();
  }

  bool refused_ = false;
};

TEST_P(Handles, AFailedCreationIsATypedError) {
  use();  // opens the backends
  ASSERT_NE(code_of(GetParam()), nullptr);
  const std::uint32_t made = use_with_fault(0);
  ASSERT_FALSE(refused_);
  ASSERT_GE(made, 5U) << "a context, a stream, a memory, its part and an event";
  for (std::uint32_t nth = 1; nth <= made; ++nth) {
    SCOPED_TRACE(nth);
    refused_ = false;
    use_with_fault(nth);
    EXPECT_TRUE(refused_);
    use();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Handles, testing::Values("cpu", "null", "failing"), test::case_name);

}  // namespace
}  // namespace vectis
