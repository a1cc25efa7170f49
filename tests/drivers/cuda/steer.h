/* What a test asks of a test driver's library, under the name VECTIS_TEST_DRIVER_ENTRY. Every function may be called by
 * any thread. */
#ifndef VECTIS_TEST_DRIVER_STEER_H
#define VECTIS_TEST_DRIVER_STEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of objects that are counted. */
/* NOLINTBEGIN(readability-identifier-naming): names of C */
enum {
  VECTIS_DRIVER_CONTEXTS = 0, /* references held to them */
  VECTIS_DRIVER_MEMORIES = 1,
  VECTIS_DRIVER_STREAMS = 2,
  VECTIS_DRIVER_EVENTS = 3,
  VECTIS_DRIVER_MODULES = 4,
  VECTIS_DRIVER_PROGRAMS = 5, /* of the compiler */
  VECTIS_DRIVER_PINNED = 6,   /* memories of the host */
  VECTIS_DRIVER_SESSIONS = 7, /* with NVML */
  VECTIS_DRIVER_BLAS = 8,     /* objects of cuBLASLt */
  VECTIS_DRIVER_KINDS = 9
};
/* NOLINTEND(readability-identifier-naming) */

/* Device memory that a piece of work uses. */
typedef struct VectisDriverRange {
  uint64_t address;
  uint64_t bytes;
} VectisDriverRange;

typedef struct VectisTestDriver {
  /* Forgets planned faults and sets the call counts to zero. Live objects and violations stay. */
  void (*reset)(void);
  /* The `nth` call (1: the next) of `function` ("cuMemAlloc_v2") from now on returns `code` and does nothing, except
   * release functions, which release and return the code. Replaces the fault planned before. */
  void (*fail_call)(const char* function, uint32_t nth, int32_t code);
  /* The `nth` piece of queued work that runs from now on ends with `code`, which sticks to its context. */
  void (*fail_work)(uint32_t nth, int32_t code);
  /* 1 when the planned fault was injected. */
  int32_t (*struck)(void);

  /* Functions called since the last reset: how many, the name of each, and how often. */
  uint32_t (*function_count)(void);
  const char* (*function_name)(uint32_t function);
  uint32_t (*calls)(uint32_t function);

  /* Live objects of a kind. */
  int64_t (*live)(int32_t kind);
  /* Copies between host and device so far, by kind of host memory. */
  int64_t (*pinned_copies)(void);
  int64_t (*pageable_copies)(void);
  /* Violations of the interface's rules since the process began, and the text of the last one. A process that ends
   * with one, or with live objects, ends with the status 86 unless they were forgiven. */
  int64_t (*violations)(void);
  const char* (*last_violation)(void);
  void (*forgive)(void);

  /* The order in which queued work runs within what streams allow; 0: at once, as it is queued. */
  void (*set_order)(uint64_t seed);
  /* Moves the device's clock forward. */
  void (*advance_clock)(uint64_t nanoseconds);
  /* Begins a timeline of the host's work and the device's, on which every kernel takes `nanoseconds` and the host waits
   * for copies of pageable memory; 0 ends it. Then its totals in nanoseconds: work of the host, the part of it during
   * which the device worked, and work of the device. */
  void (*begin_timeline)(uint64_t nanoseconds);
  void (*timeline)(uint64_t* host, uint64_t* overlapped, uint64_t* device);
  /* What the driver states and has: "devices", "memory" (bytes of each device), "version", "architecture",
   * "peer" (1: devices have peer access), "pinned" (0: on the timeline all memory of the host is pageable); of NVML
   * "busy" (percent, of the first device) and "others" (bytes); of cuBLASLt "algorithms" (0: it has none). */
  void (*set)(const char* key, uint64_t value);
  /* Makes lost devices usable again. */
  void (*heal)(void);
  /* For a library above the driver: queues `run` on a stream of the current context, with where its ranges are in the
   * host's memory. `state` is released in any case. A refusal's code, or 0. */
  int32_t (*enqueue)(const void* stream, const VectisDriverRange* ranges, uint32_t count,
                     void (*run)(void* state, char* const* places), void (*release)(void* state), void* state);
} VectisTestDriver;

#define VECTIS_TEST_DRIVER_ENTRY "vectis_test_driver"
typedef const VectisTestDriver* (*VectisTestDriverEntry)(void);

#ifdef __cplusplus
}
#endif

#endif
