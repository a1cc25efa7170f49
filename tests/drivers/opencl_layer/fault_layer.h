/* How a test controls the layer that the loader opened through OPENCL_LAYERS: find the entry by dlsym in that library.
 * Every function is thread-safe. */
#ifndef VECTIS_TESTS_OPENCL_FAULT_LAYER_H
#define VECTIS_TESTS_OPENCL_FAULT_LAYER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of objects whose references are counted. A root device is never counted, a sub-device is. */
/* NOLINTBEGIN(readability-identifier-naming): names of C */
enum {
  VECTIS_LAYER_DEVICES = 0,
  VECTIS_LAYER_CONTEXTS = 1,
  VECTIS_LAYER_QUEUES = 2,
  VECTIS_LAYER_MEMORIES = 3,
  VECTIS_LAYER_EVENTS = 4,
  VECTIS_LAYER_PROGRAMS = 5,
  VECTIS_LAYER_KERNELS = 6,
  VECTIS_LAYER_KINDS = 7
};
/* NOLINTEND(readability-identifier-naming) */

typedef struct VectisFaultLayer {
  /* Forgets planned faults and sets the call counts to zero. Live objects stay counted. */
  void (*reset)(void);

  /* The `nth` call (1: the next) of `function` ("clFinish") from now on returns `code`. The driver is not called and no
   * output is written; release functions do release, and return the code. Replaces the fault planned before. */
  void (*fail_call)(const char* function, uint32_t nth, int32_t code);
  /* The command started by the `nth` call of the enqueueing `function` from now on runs, and its event then reports
   * `status`, a negative value. Replaces the fault planned before. */
  void (*fail_command)(const char* function, uint32_t nth, int32_t status);
  /* 1 when the planned fault was injected. */
  int32_t (*struck)(void);

  /* How many functions the layer wraps, the name of each, and how often it was called since the last reset. */
  uint32_t (*function_count)(void);
  const char* (*function_name)(uint32_t function);
  uint32_t (*calls)(uint32_t function);

  /* References held to objects of a kind. */
  int64_t (*live)(int32_t kind);
  /* Releases of objects that were not live: released twice, or never created. */
  int64_t (*wrong_releases)(void);
} VectisFaultLayer;

/* Exported under this name. */
#define VECTIS_FAULT_LAYER_ENTRY "vectis_fault_layer"
typedef const VectisFaultLayer* (*VectisFaultLayerEntry)(void);

#ifdef __cplusplus
}
#endif

#endif
