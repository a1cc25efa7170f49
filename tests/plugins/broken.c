/* A plug-in with one defect, selected by a macro. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectis/device/backend.h"

#if defined(CRASH_AT_LOAD)
__attribute__((constructor)) static void die(void) { abort(); }
#elif defined(EXIT_AT_LOAD)
__attribute__((constructor)) static void leave(void) {
  fputs("license expired\n", stderr);
  exit(3);
}
#endif

#if defined(NO_ENTRY)

VECTIS_PLUGIN_EXPORT int vectis_not_the_entry(void) { return 0; }

#elif defined(NULL_TABLE)

VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry(void) { return NULL; }

#else

static VectisStatus open_backend(const VectisHost* host, VectisBackendState** state, VectisMessage* message) {
  (void)host;
  (void)state;
  (void)message;
#if defined(CRASH_AT_OPEN)
  abort();
#endif
  return VECTIS_BACKEND_CREATION;
}

static VectisBackend table = {
    .size = sizeof(VectisBackend),
#if defined(WRONG_VERSION)
    .abi_major = VECTIS_ABI_MAJOR + 1,
#else
    .abi_major = VECTIS_ABI_MAJOR,
#endif
    .abi_minor = VECTIS_ABI_MINOR,
    .name = NAME,
    .version = "1",
    .requirement = "nothing",
    .open = open_backend,
};

#if defined(CRASH_AT_OPEN)
static void never_called(void) {}
#endif

VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry(void) {
#if defined(CRASH_AT_OPEN)
  /* All other slots are set, so that the host calls open. */
  void (*somewhere)(void) = never_called;
  for (size_t at = offsetof(VectisBackend, close); at < sizeof(table); at += sizeof(somewhere)) {
    memcpy((char*)&table + at, &somewhere, sizeof(somewhere));
  }
#endif
  return &table;
}

#endif
