/* The backend contract: everything a device vendor implements and all that Vectis knows of it.
 *
 * C11, no dependency. A plug-in is a shared library `libvectis_backend_<name>.so` that exports one function,
 * `vectis_backend_entry`, and links nothing of Vectis. docs/writing-a-backend.md walks through a complete one.
 *
 * Rules that hold for every slot
 * 1. Structs are size-first. The side that fills a struct sets `size` to its own sizeof; the side that reads one looks
 *    only at fields that lie wholly inside `size`. Fields and slots are only ever appended within one major version.
 * 2. A slot returns VECTIS_OK or another VectisStatus. On failure it writes one sentence into `message`, leaves every
 *    output untouched, holds no resource, and the next call works unless the status was VECTIS_DEVICE_LOST.
 * 3. Handles are made by the plug-in, opaque to the host, and destroyed by it exactly once, children before parents.
 *    Destroy slots cannot fail and are never given NULL.
 * 4. Slots of a backend, a context or an event may be called by any thread at any time. Slots of a stream are called by
 *    one thread at a time.
 * 5. Sizes, offsets, alignment and shapes were validated by the host: a plug-in may trust them.
 * 6. Work on one stream happens in order. Host memory handed to a copy stays valid until the stream has passed the
 * copy. A failure of work already enqueued is reported by the next synchronise or query of its stream or of an event
 *    recorded after it; the host then refuses further work on that stream.
 * 7. No exception and no allocator crosses this boundary, strings are UTF-8, and nothing is printed.
 */
#ifndef VECTIS_DEVICE_BACKEND_H
#define VECTIS_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The host refuses another major version; a smaller minor version only lacks the slots appended since. */
#define VECTIS_ABI_MAJOR 1u
#define VECTIS_ABI_MINOR 2u

#define VECTIS_ENTRY_NAME "vectis_backend_entry"

#if defined(_WIN32)
#define VECTIS_PLUGIN_EXPORT __declspec(dllexport)
#else
#define VECTIS_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* --- Status and messages ------------------------------------------------------------------------------------------ */

typedef int32_t VectisStatus;
enum {
  VECTIS_OK = 0,
  VECTIS_NOT_READY = 1,        /* event_query, stream_query: not finished; not a failure */
  VECTIS_INVALID_INPUT = 2,    /* an argument the host could not know to be wrong */
  VECTIS_ALLOCATION = 3,       /* the device or its driver gave no memory */
  VECTIS_BACKEND_CREATION = 4, /* open: no usable driver; context_create: the device refuses */
  VECTIS_UNSUPPORTED = 5,      /* this device cannot do that */
  VECTIS_DEVICE_LOST = 6,      /* the device is gone; its context can only be destroyed */
  VECTIS_COMPILE_FAILED = 7,   /* program_create: the message is the compiler's output */
  VECTIS_DRIVER_FAILURE = 8    /* the driver failed in another way; the message carries its code */
};

/* Why a backend could not be opened. The doctor turns a reason into advice, so choose the nearest one. */
typedef int32_t VectisReason;
enum {
  VECTIS_REASON_NONE = 0,
  VECTIS_REASON_NO_LIBRARY = 1,     /* the driver's loader library is not installed */
  VECTIS_REASON_NO_DRIVER = 2,      /* the loader is there and knows no driver */
  VECTIS_REASON_NO_DEVICE = 3,      /* a driver is there and offers no device */
  VECTIS_REASON_DRIVER_TOO_OLD = 4, /* the message names the version found and the version needed */
  VECTIS_REASON_NO_PERMISSION = 5,  /* a device node exists and may not be opened */
  VECTIS_REASON_OTHER = 6
};

/* Filled by a failing slot. `text` points to `capacity` bytes of the host; write a NUL-terminated sentence, cut to fit.
 */
typedef struct VectisMessage {
  size_t size;
  char* text;
  size_t capacity;
  VectisReason reason; /* open only */
} VectisMessage;

/* --- What the host offers ------------------------------------------------------------------------------------------
 */

typedef int32_t VectisLogLevel;
enum { VECTIS_LOG_DEBUG = 0, VECTIS_LOG_INFO = 1, VECTIS_LOG_WARNING = 2, VECTIS_LOG_ERROR = 3 };

struct VectisBackend;
typedef struct VectisBackendState VectisBackendState;

/* Valid from `open` until `close`. Every function may be called by any thread. */
typedef struct VectisHost {
  size_t size;
  void* state; /* first argument of each function below */
  void (*log)(void* state, VectisLogLevel level, const char* text);
  /* The user's setting `backends.<this backend>.<key>`, or NULL. The string lives until `close`. */
  const char* (*setting)(void* state, const char* key);
  /* Opens a shared library by path, or by a name that the system's loader knows or that lies beside the plug-ins; NULL
     when it cannot, with the loader's words in `message`. Never closed. */
  void* (*library_open)(void* state, const char* name, VectisMessage* message);
  /* The address of a symbol, or NULL. */
  void* (*library_symbol)(void* state, void* library, const char* symbol);
  /* Another backend's table and opened state, for backends that wrap one. VECTIS_UNSUPPORTED when there is none. */
  VectisStatus (*find_backend)(void* state, const char* name, const struct VectisBackend** table,
                               VectisBackendState** opened, VectisMessage* message);
  /* Since 1.1. Calls `body` for disjoint ranges that cover [0, count), each of at least `grain` but the last, on the
     host's threads, and returns when all are done. `body` must not fail. The cut depends only on count, grain and the
     number of threads. */
  void (*parallel_for)(void* state, uint64_t count, uint64_t grain,
                       void (*body)(void* argument, uint64_t begin, uint64_t end), void* argument);
  /* Since 1.1. How many threads parallel_for may use. */
  uint32_t (*thread_count)(void* state);
} VectisHost;

/* --- Devices -------------------------------------------------------------------------------------------------------
 */

typedef int32_t VectisDeviceKind;
enum { VECTIS_DEVICE_CPU = 0, VECTIS_DEVICE_GPU = 1, VECTIS_DEVICE_ACCELERATOR = 2 };

/* Capability bits: what kernels may use on the device. */
#define VECTIS_CAN_FP16 (UINT64_C(1) << 0)           /* half-precision arithmetic, not only storage */
#define VECTIS_CAN_BF16 (UINT64_C(1) << 1)           /* bfloat16 dot products */
#define VECTIS_CAN_FP64 (UINT64_C(1) << 2)           /* double-precision arithmetic */
#define VECTIS_CAN_INT8_DOT (UINT64_C(1) << 3)       /* four int8 products into one int32 in one instruction */
#define VECTIS_CAN_MATRIX (UINT64_C(1) << 4)         /* matrix units: tensor cores, AMX, MFMA */
#define VECTIS_CAN_SUBGROUPS (UINT64_C(1) << 5)      /* sub-groups (warps, waves) in kernels */
#define VECTIS_CAN_UNIFIED_MEMORY (UINT64_C(1) << 6) /* device memory is the host's memory */
#define VECTIS_CAN_TIMESTAMPS (UINT64_C(1) << 7)     /* events carry the device's time */

typedef struct VectisDeviceInfo {
  size_t size;
  char name[128];       /* "NVIDIA H100 80GB HBM3" */
  char vendor[64];      /* "NVIDIA" */
  char driver[128];     /* the driver's name and version as it states them */
  char physical_id[64]; /* equal for devices that share one physical memory (sub-devices); empty: its own */
  char dialects[128];   /* kernel languages program_create takes, comma-separated: "opencl-c", "cuda-c++", "ptx",
                           "hip-c++",   "spirv", "wgsl", or a word of your own; empty: none */
  VectisDeviceKind kind;
  int32_t software; /* 1: computed by a CPU through a GPU interface (PoCL, llvmpipe) */
  int32_t parent;   /* index of the device this one is a part of, or -1 */
  uint32_t compute_units;
  uint64_t memory_bytes;
  uint64_t allocation_bytes_max;
  uint64_t memory_alignment;  /* of every allocation's start, at least */
  uint64_t shared_bytes_max;  /* shared (local) memory of one work-group */
  uint32_t group_items_max;   /* work-items in one group */
  uint32_t group_size_max[3]; /* by dimension */
  uint64_t capabilities;      /* VECTIS_CAN_* */
  uint64_t binding_bytes_max; /* since 1.2. What a kernel can be given of one memory, which must then be sliceable; the
                                 host cuts named operations to fit. 0: every memory whole */
} VectisDeviceInfo;

typedef struct VectisMemoryInfo {
  size_t size;
  uint64_t total_bytes;
  uint64_t free_bytes;
} VectisMemoryInfo;

/* --- Handles -------------------------------------------------------------------------------------------------------
 */

typedef struct VectisContext VectisContext; /* one device, its memory and its compiled programs */
typedef struct VectisStream VectisStream;   /* an order of work */
typedef struct VectisEvent VectisEvent;     /* a place in that order */
typedef struct VectisMemory VectisMemory;   /* bytes on the device */
typedef struct VectisProgram VectisProgram; /* compiled text */
typedef struct VectisKernel VectisKernel;   /* one entry point of it; arguments travel with the launch */

/* --- Launching -----------------------------------------------------------------------------------------------------
 */

typedef int32_t VectisArgumentKind;
enum {
  VECTIS_ARGUMENT_MEMORY = 0, /* `memory` */
  VECTIS_ARGUMENT_VALUE = 1,  /* `bytes` bytes at `value` */
  VECTIS_ARGUMENT_SHARED = 2  /* `bytes` bytes of shared memory, given by the device */
};

typedef struct VectisArgument {
  VectisArgumentKind kind;
  VectisMemory* memory;
  const void* value;
  size_t bytes;
} VectisArgument;

typedef struct VectisLaunch {
  size_t size;
  uint32_t grid[3];  /* work-groups per dimension, each at least 1 */
  uint32_t block[3]; /* work-items of one work-group per dimension, each at least 1 and within the device's limits */
  const VectisArgument* arguments;
  size_t argument_count;
} VectisLaunch;

/* --- Named operations ----------------------------------------------------------------------------------------------
 */

/* Element types: the numbers of vectis::DType. */
typedef int32_t VectisType;
enum { VECTIS_FLOAT32 = 1, VECTIS_FLOAT16 = 2, VECTIS_BFLOAT16 = 3, VECTIS_INT8 = 4, VECTIS_INT32 = 5 };

/* A rectangle of elements, row after row; offset and stride count elements. */
typedef struct VectisView {
  VectisMemory* memory;
  uint64_t offset;
  uint64_t rows;
  uint64_t columns;
  uint64_t stride;
  VectisType type;
} VectisView;

/* A parameter; which of the two counts is the operation's to say, an integer is given in both. */
typedef struct VectisNumber {
  int64_t integer;
  double real;
} VectisNumber;

/* One call of a named operation (docs/operations.md lists them). Views and numbers were checked by the host, none of
   the views is empty. */
typedef struct VectisOpCall {
  size_t size;
  const char* name; /* "sum_rows" */
  const VectisView* views;
  size_t view_count;
  const VectisNumber* numbers;
  size_t number_count;
} VectisOpCall;

/* --- The table -----------------------------------------------------------------------------------------------------
 */

/* Each slot is REQUIRED, or OPTIONAL with what the host does when it is NULL. An optional slot that returns
   VECTIS_UNSUPPORTED means the same for that device alone. */
typedef struct VectisBackend {
  size_t size;
  uint32_t abi_major; /* VECTIS_ABI_MAJOR the plug-in was compiled with */
  uint32_t abi_minor;
  const char* name;        /* "opencl": lower case, [a-z0-9_]; part of every device's label, "opencl:0" */
  const char* version;     /* the plug-in's own version */
  const char* requirement; /* minimum versions in one phrase: "an OpenCL 1.2 driver" */
  const char* install;     /* what to install when it is missing, one sentence, or NULL */

  /* REQUIRED. Finds driver and devices. Failure sets message->reason. With VECTIS_OK the message may hold a sentence
     that the doctor shall tell. */
  VectisStatus (*open)(const VectisHost* host, VectisBackendState** state, VectisMessage* message);
  /* REQUIRED. Every context of it has been destroyed. */
  void (*close)(VectisBackendState* state);
  /* OPTIONAL: no settings can be changed while open. Unknown keys are VECTIS_INVALID_INPUT. */
  VectisStatus (*configure)(VectisBackendState* state, const char* key, const char* value, VectisMessage* message);

  /* REQUIRED. The count never changes while open. */
  VectisStatus (*device_count)(VectisBackendState* state, uint32_t* count, VectisMessage* message);
  /* REQUIRED. Fill only fields inside info->size; the host has zeroed them. */
  VectisStatus (*device_info)(VectisBackendState* state, uint32_t index, VectisDeviceInfo* info,
                              VectisMessage* message);
  /* OPTIONAL: free memory is unknown. Asked of the driver afresh at each call. */
  VectisStatus (*device_memory)(VectisBackendState* state, uint32_t index, VectisMemoryInfo* info,
                                VectisMessage* message);
  /* OPTIONAL: unknown. The share of the last moments the device was busy, 0 to 1. */
  VectisStatus (*device_utilization)(VectisBackendState* state, uint32_t index, double* share, VectisMessage* message);

  /* REQUIRED. */
  VectisStatus (*context_create)(VectisBackendState* state, uint32_t index, VectisContext** context,
                                 VectisMessage* message);
  /* REQUIRED. */
  void (*context_destroy)(VectisContext* context);

  /* REQUIRED. 1 to allocation_bytes_max bytes, undefined. Kernels reach whole 32-bit words: add what the last lacks. */
  VectisStatus (*memory_allocate)(VectisContext* context, uint64_t bytes, VectisMemory** memory,
                                  VectisMessage* message);
  /* REQUIRED. Work already enqueued still finds the memory: wait for it or defer. */
  void (*memory_free)(VectisContext* context, VectisMemory* memory);
  /* OPTIONAL: memory cannot be cut, and pools keep one allocation a buffer. A handle for `bytes` bytes of a memory that
     is no slice itself, freed by memory_free before it; `offset` is a multiple of memory_alignment. */
  VectisStatus (*memory_slice)(VectisMemory* memory, uint64_t offset, uint64_t bytes, VectisMemory** slice,
                               VectisMessage* message);
  /* OPTIONAL: the host cannot address device memory. The address stays the same until memory_free. */
  VectisStatus (*memory_address)(VectisMemory* memory, void** address, VectisMessage* message);

  /* REQUIRED. */
  VectisStatus (*stream_create)(VectisContext* context, VectisStream** stream, VectisMessage* message);
  /* REQUIRED. Waits for the work enqueued or lets it finish by itself. */
  void (*stream_destroy)(VectisStream* stream);
  /* REQUIRED. Returns when all work enqueued before is done. */
  VectisStatus (*stream_synchronize)(VectisStream* stream, VectisMessage* message);

  /* REQUIRED. May return before the copy is done. `bytes` is at least 1. */
  VectisStatus (*copy_to_device)(VectisStream* stream, VectisMemory* target, uint64_t offset, const void* source,
                                 uint64_t bytes, VectisMessage* message);
  /* REQUIRED. */
  VectisStatus (*copy_to_host)(VectisStream* stream, void* target, VectisMemory* source, uint64_t offset,
                               uint64_t bytes, VectisMessage* message);
  /* REQUIRED. Both memories belong to the stream's context; the ranges do not overlap. */
  VectisStatus (*copy_on_device)(VectisStream* stream, VectisMemory* target, uint64_t target_offset,
                                 VectisMemory* source, uint64_t source_offset, uint64_t bytes, VectisMessage* message);
  /* OPTIONAL: the host copies a filled block. */
  VectisStatus (*fill)(VectisStream* stream, VectisMemory* target, uint64_t offset, uint64_t bytes, uint8_t value,
                       VectisMessage* message);

  /* REQUIRED. An event not yet recorded counts as passed. */
  VectisStatus (*event_create)(VectisContext* context, VectisEvent** event, VectisMessage* message);
  /* REQUIRED. */
  void (*event_destroy)(VectisEvent* event);
  /* REQUIRED. Moves the event to the end of the stream's present work. */
  VectisStatus (*event_record)(VectisEvent* event, VectisStream* stream, VectisMessage* message);
  /* REQUIRED. VECTIS_OK: passed; VECTIS_NOT_READY: not yet. */
  VectisStatus (*event_query)(VectisEvent* event, VectisMessage* message);
  /* REQUIRED. */
  VectisStatus (*event_synchronize)(VectisEvent* event, VectisMessage* message);
  /* REQUIRED. Later work of the stream starts after the event, which is of the same context. */
  VectisStatus (*stream_wait_event)(VectisStream* stream, VectisEvent* event, VectisMessage* message);
  /* OPTIONAL: no timestamps. Nanoseconds of the device's own clock at which a passed event was passed. */
  VectisStatus (*event_timestamp)(VectisEvent* event, uint64_t* nanoseconds, VectisMessage* message);

  /* OPTIONAL as a group of five: the device has no run-time compiler. `text` is source or a kept binary of `dialect`;
     `options` are the compiler's own, never NULL. With VECTIS_OK the message may hold the compiler's warnings. */
  VectisStatus (*program_create)(VectisContext* context, const char* dialect, const void* text, size_t bytes,
                                 const char* options, VectisProgram** program, VectisMessage* message);
  void (*program_destroy)(VectisProgram* program);
  VectisStatus (*kernel_create)(VectisProgram* program, const char* name, VectisKernel** kernel,
                                VectisMessage* message);
  void (*kernel_destroy)(VectisKernel* kernel);
  VectisStatus (*launch)(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch,
                         VectisMessage* message);
  /* OPTIONAL: binaries cannot be kept. With `target` NULL only *bytes is set; otherwise `*bytes` is the room at
     `target` on entry and the bytes written on return. A kept binary goes back in under the dialect "binary". */
  VectisStatus (*program_binary)(VectisProgram* program, void* target, size_t* bytes, VectisMessage* message);

  /* OPTIONAL, since 1.1: the portable kernels run. Enqueues a whole named operation; VECTIS_UNSUPPORTED for one, or for
     types or shapes of one, that the portable kernel shall serve. May be asked by any thread through different streams.
   */
  VectisStatus (*run_op)(VectisStream* stream, const VectisOpCall* call, VectisMessage* message);

  /* OPTIONAL, since 1.2: the host copies through its own memory. Copies from another context of this backend, to which
     `source_stream` and `source` belong, into the stream's own. It is work of both streams: it starts after all either
     was given before, and what either is given later starts after it. VECTIS_UNSUPPORTED for two devices that do not
     reach each other. */
  VectisStatus (*copy_from_peer)(VectisStream* stream, VectisMemory* target, uint64_t target_offset,
                                 VectisStream* source_stream, VectisMemory* source, uint64_t source_offset,
                                 uint64_t bytes, VectisMessage* message);

  /* OPTIONAL as a pair, since 1.2: ordinary memory serves. Memory of the host that copies of this backend's contexts
     reach without a detour (pinned), at least 16-aligned. VECTIS_ALLOCATION when there is no more of it. */
  VectisStatus (*host_allocate)(VectisContext* context, uint64_t bytes, void** address, VectisMessage* message);
  /* Work of this context that was enqueued already still finds the memory; the host waited for that of others. */
  void (*host_free)(VectisContext* context, void* address);
} VectisBackend;

/* What a plug-in exports under VECTIS_ENTRY_NAME. The table lives as long as the process. */
typedef const VectisBackend* (*VectisBackendEntry)(void);

#ifdef __cplusplus
}
#endif

#endif
