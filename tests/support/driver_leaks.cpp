// LeakSanitizer suppressions for drivers and the compilers inside them, none for Vectis. Linked into the test programs
// and, under AddressSanitizer, into `vectis`, which tests start.

// The sanitizer's own name. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\nleak:libOpenCL\nleak:libtbb\nleak:libwgpu_native\n"
         "leak:libvulkan\nleak:libEGL\nleak:libgallium\nleak:swrast_dri\n";
}

// Never unloads a driver: stacks of unloaded code have no symbol names, so no suppression would match.
extern "C" [[gnu::visibility("default")]] int dlclose(void* /*library*/) noexcept { return 0; }
