// Options of a Runtime on a fake operating system.
//
//   FakeOs os;
//   Runtime runtime(options_on(os));
#pragma once

#include "tests/support/fake_os.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::test {

// One thread. `os` must outlive the Runtime.
inline RuntimeOptions options_on(FakeOs& os) {
  RuntimeOptions options;
  options.os = &os;
  options.threads = 1;
  return options;
}

}  // namespace vectis::test
