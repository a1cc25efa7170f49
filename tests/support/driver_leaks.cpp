// Tells LeakSanitizer of leaks of drivers and the compilers inside them, never of ours. Part of the test programs and,
// under AddressSanitizer, of `vectis`, which tests start.

// The sanitizer's own name. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\nleak:libOpenCL\nleak:libtbb\nleak:libwgpu_native\n"
         "leak:libvulkan\nleak:libEGL\nleak:libgallium\nleak:swrast_dri\n";
}

// Drivers stay where they are: of code no longer there a stack has no names, and no suppression would fit.
extern "C" [[gnu::visibility("default")]] int dlclose(void* /*library*/) noexcept { return 0; }
