/* The backend ABI: the C interface between Vectis (the host) and a backend plug-in.
 *
 * C11, no dependencies. A plug-in is a shared library `libvectis_backend_<name>.so` that exports one function,
 * `vectis_backend_entry`, and links nothing of Vectis. docs/writing-a-backend.md builds one step by step.
 *
 * Rules for every slot (function pointer of the table)
 * 1. The first field of a struct is `size`. The side that fills a struct sets it to its own sizeof; the side that reads
 *    it uses only fields that lie completely within `size`. Within one major version fields and slots are only
 * appended.
 * 2. A slot returns VECTIS_OK or another VectisStatus. On failure it writes one sentence into `message`, leaves every
 *    output unchanged and holds no resource; the next call works unless the status was VECTIS_DEVICE_LOST.
 * 3. The plug-in creates handles, which are opaque to the host. The host destroys each exactly once, children before
 *    parents. Destroy slots cannot fail and never get NULL.
 * 4. Slots of a backend, a context or an event may be called by any thread at any time. Slots of a stream are called by
 *    one thread at a time.
 * 5. The host has validated sizes, offsets, alignment and shapes: a plug-in may rely on them.
 * 6. Work on one stream runs in order. Host memory passed to a copy stays valid until the copy has finished. A failure
 * of enqueued work is reported by the next synchronize of its stream, or by the next query or synchronize of an event
 *    recorded after it; the host then rejects further work on that stream.
 * 7. No exception and no allocator crosses this boundary, strings are UTF-8, and nothing is printed.
 * 8. In a child process forked after `open` the host calls no slot, not even to destroy a handle.
 */
#ifndef VECTIS_DEVICE_BACKEND_H
#define VECTIS_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this ABI, which a plug-in writes into its table. The host rejects a plug-in of another major
   version as incompatible; a plug-in of a smaller minor version lacks the slots appended since then, which count
   as NULL. */
#define VECTIS_ABI_MAJOR 1u
#define VECTIS_ABI_MINOR 2u

/* The name of the function that every plug-in must export, of the type VectisBackendEntry. The host reports a
   plug-in without it as not loadable. */
#define VECTIS_ENTRY_NAME "vectis_backend_entry"

#if defined(_WIN32)
#define VECTIS_PLUGIN_EXPORT __declspec(dllexport)
#else
#define VECTIS_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* --- Status and messages ------------------------------------------------------------------------------------------ */

/* The result of a slot: VECTIS_OK, or a failure that the host turns into an Error of the same name (an unknown
   value into DriverFailure). */
typedef int32_t VectisStatus;
enum {
  VECTIS_OK = 0,
  VECTIS_NOT_READY = 1,        /* event_query: not completed yet; not a failure */
  VECTIS_INVALID_INPUT = 2,    /* an argument that only the plug-in can reject */
  VECTIS_ALLOCATION = 3,       /* the device or its driver is out of memory */
  VECTIS_BACKEND_CREATION = 4, /* open: no usable driver; context_create: failed */
  VECTIS_UNSUPPORTED = 5,      /* the device does not support the call */
  VECTIS_DEVICE_LOST = 6,      /* the device is gone; its context can only be destroyed */
  VECTIS_COMPILE_FAILED = 7,   /* program_create: the message is the compiler's output */
  VECTIS_DRIVER_FAILURE = 8    /* any other failure of the driver; the message has its code */
};

/* Why the slot `open` of a backend failed. The doctor turns the reason into advice: choose the closest one. */
typedef int32_t VectisReason;
enum {
  VECTIS_REASON_NONE = 0,
  VECTIS_REASON_NO_LIBRARY = 1,     /* the driver's loader library is not installed */
  VECTIS_REASON_NO_DRIVER = 2,      /* the loader library finds no driver */
  VECTIS_REASON_NO_DEVICE = 3,      /* a driver is installed and offers no device */
  VECTIS_REASON_DRIVER_TOO_OLD = 4, /* the message names the version found and the version needed */
  VECTIS_REASON_NO_PERMISSION = 5,  /* a device node exists and this user may not open it */
  VECTIS_REASON_OTHER = 6
};

/* The buffer of the host into which a slot that fails writes one sentence: `text` points to `capacity` bytes.
   Write a NUL-terminated UTF-8 text, truncated to fit. Only `open` sets `reason`. */
typedef struct VectisMessage {
  size_t size;
  char* text;
  size_t capacity;
  VectisReason reason; /* open only */
} VectisMessage;

/* --- Services of the host ------------------------------------------------------------------------------------------
 */

typedef int32_t VectisLogLevel;
enum { VECTIS_LOG_DEBUG = 0, VECTIS_LOG_INFO = 1, VECTIS_LOG_WARNING = 2, VECTIS_LOG_ERROR = 3 };

struct VectisBackend;
typedef struct VectisBackendState VectisBackendState;

/* The services of the host for a plug-in, passed to `open` and valid until `close`. `state` is the first argument
   of each function. Every function may be called by any thread. parallel_for and thread_count exist only when
   `size` covers them. */
typedef struct VectisHost {
  size_t size;
  void* state; /* first argument of each function below */
  /* Logs `text`, NUL-terminated, at `level` under the backend's name. A NULL text is logged as empty, a level out
     of range is clamped. Cannot fail. */
  void (*log)(void* state, VectisLogLevel level, const char* text);
  /* Returns the user's setting `backends.<this backend>.<key>`, valid until `close`; NULL when it is not set, or when
     it cannot be read, which the host logs. `key` must not be empty. */
  const char* (*setting)(void* state, const char* key);
  /* Opens a shared library by path, or by a name that the system's loader or the plug-in folders resolve;
     libraries are never closed. Returns NULL, with the loader's error in `message`, when that fails. */
  void* (*library_open)(void* state, const char* name, VectisMessage* message);
  /* Returns the address of `symbol` in `library`, a result of library_open; NULL when the library has no such
     symbol. */
  void* (*library_symbol)(void* state, void* library, const char* symbol);
  /* Sets `table` and `opened` to the table and state of the open backend `name`, for backends that wrap one.
     Returns VECTIS_UNSUPPORTED, with a message, when it is not open; a plug-in whose `open` then fails is opened
     again after all others. */
  VectisStatus (*find_backend)(void* state, const char* name, const struct VectisBackend** table,
                               VectisBackendState** opened, VectisMessage* message);
  /* Since 1.1. Calls `body` on the host's threads for disjoint ranges of at least `grain` elements (the last may
     be smaller) that cover [0, count), and returns when all calls have returned. The ranges depend only on count,
     grain and the number of threads. `body` cannot report failure and must not throw. */
  void (*parallel_for)(void* state, uint64_t count, uint64_t grain,
                       void (*body)(void* argument, uint64_t begin, uint64_t end), void* argument);
  /* Since 1.1. Returns the largest number of threads that parallel_for uses, at least 1. Cannot fail. */
  uint32_t (*thread_count)(void* state);
} VectisHost;

/* --- Devices -------------------------------------------------------------------------------------------------------
 */

typedef int32_t VectisDeviceKind;
enum { VECTIS_DEVICE_CPU = 0, VECTIS_DEVICE_GPU = 1, VECTIS_DEVICE_ACCELERATOR = 2 };

/* Capability bits: features that kernels may use on the device. */
#define VECTIS_CAN_FP16 (UINT64_C(1) << 0)           /* half-precision arithmetic, not only storage */
#define VECTIS_CAN_BF16 (UINT64_C(1) << 1)           /* bfloat16 dot products */
#define VECTIS_CAN_FP64 (UINT64_C(1) << 2)           /* double-precision arithmetic */
#define VECTIS_CAN_INT8_DOT (UINT64_C(1) << 3)       /* dot product of four int8 pairs in one instruction */
#define VECTIS_CAN_MATRIX (UINT64_C(1) << 4)         /* matrix units: tensor cores, AMX, MFMA */
#define VECTIS_CAN_SUBGROUPS (UINT64_C(1) << 5)      /* sub-groups (warps, waves) in kernels */
#define VECTIS_CAN_UNIFIED_MEMORY (UINT64_C(1) << 6) /* device memory is host memory */
#define VECTIS_CAN_TIMESTAMPS (UINT64_C(1) << 7)     /* events carry the device's time */
#define VECTIS_CAN_INT8_MATRIX (UINT64_C(1) << 8)    /* matrix units that multiply int8; on CUDA by mma.sync */

/* The description of a device, which the slot device_info fills. Texts are NUL-terminated and truncated to fit;
   the host has zeroed all fields but `size` and `parent`, which is -1. */
typedef struct VectisDeviceInfo {
  size_t size;
  char name[128];       /* "NVIDIA H100 80GB HBM3" */
  char vendor[64];      /* "NVIDIA" */
  char driver[128];     /* name and version of the driver, as it reports them */
  char physical_id[64]; /* equal for devices that share physical memory: sub-devices, and one card that several
                           backends see. A PCI device is "pci-0000:65:00.0" (domain, bus, device, function, in
                           hexadecimal; the host ignores case); empty: not shared */
  char dialects[128];   /* kernel languages of program_create, comma-separated: "opencl-c", "cuda-c++", "ptx",
                           "hip-c++", "spirv", "wgsl", or a name of your own; empty: none */
  VectisDeviceKind kind;
  int32_t software; /* 1: a software driver: a GPU interface that computes on the CPU (PoCL, llvmpipe) */
  int32_t parent;   /* index of the device that this one is a sub-device of, or -1 */
  uint32_t compute_units;
  uint64_t memory_bytes; /* 0: unknown */
  uint64_t allocation_bytes_max;
  uint64_t memory_alignment;  /* in bytes, of allocations and slices */
  uint64_t shared_bytes_max;  /* shared (local) memory of one work-group */
  uint32_t group_items_max;   /* work-items in one group */
  uint32_t group_size_max[3]; /* by dimension */
  uint64_t capabilities;      /* VECTIS_CAN_* */
  uint64_t binding_bytes_max; /* since 1.2. Bytes of one memory that a kernel can access; 0: no limit. With a limit
                                 memory_slice is needed: the host splits operations over slices */
} VectisDeviceInfo;

/* Total and free memory of a device at the time of the call, in bytes, which the slot device_memory fills.
   `free_bytes` takes the allocations of all processes into account. */
typedef struct VectisMemoryInfo {
  size_t size;
  uint64_t total_bytes;
  uint64_t free_bytes;
} VectisMemoryInfo;

/* --- Handles -------------------------------------------------------------------------------------------------------
 */

typedef struct VectisContext VectisContext; /* one device, its memory and its compiled programs */
typedef struct VectisStream VectisStream;   /* an in-order queue of work */
typedef struct VectisEvent VectisEvent;     /* a marker in that queue */
typedef struct VectisMemory VectisMemory;   /* bytes on the device */
typedef struct VectisProgram VectisProgram; /* compiled kernels */
typedef struct VectisKernel VectisKernel;   /* one kernel of a program; each launch passes its arguments */

/* --- Launching -----------------------------------------------------------------------------------------------------
 */

typedef int32_t VectisArgumentKind;
enum {
  VECTIS_ARGUMENT_MEMORY = 0, /* `memory` */
  VECTIS_ARGUMENT_VALUE = 1,  /* `bytes` bytes at `value` */
  VECTIS_ARGUMENT_SHARED = 2  /* `bytes` bytes of shared memory of each work-group */
};

/* One argument of a launch. `kind` says which fields count: `memory`; `value` and `bytes`; or `bytes` of shared
   memory. Pointers are valid during the call of the slot `launch` only. */
typedef struct VectisArgument {
  VectisArgumentKind kind;
  VectisMemory* memory;
  const void* value;
  size_t bytes;
} VectisArgument;

/* One launch of a kernel: grid times block work-items and the arguments in the order of the kernel's parameters. The
   host has checked the shape and the shared memory against the device's limits, not number and types of the
   arguments. */
typedef struct VectisLaunch {
  size_t size;
  uint32_t grid[3];  /* work-groups per dimension, each at least 1 */
  uint32_t block[3]; /* work-items of one work-group per dimension, each at least 1 and within the device's limits */
  const VectisArgument* arguments;
  size_t argument_count;
} VectisLaunch;

/* --- Named operations ----------------------------------------------------------------------------------------------
 */

/* The element type of a VectisView: a value of vectis::DType. The slot run_op returns VECTIS_UNSUPPORTED for a
   type that the plug-in does not compute. */
typedef int32_t VectisType;
enum { VECTIS_FLOAT32 = 1, VECTIS_FLOAT16 = 2, VECTIS_BFLOAT16 = 3, VECTIS_INT8 = 4, VECTIS_INT32 = 5 };

/* One operand of a named operation: a row-major matrix of elements of `type` in `memory`. `offset` and `stride`
   count elements. The host has checked that the matrix lies inside the memory and is not empty. */
typedef struct VectisView {
  VectisMemory* memory;
  uint64_t offset;
  uint64_t rows;
  uint64_t columns;
  uint64_t stride;
  VectisType type;
} VectisView;

/* One parameter of a named operation. The operation defines whether `integer` or `real` counts; the host sets both
   for an integer. */
typedef struct VectisNumber {
  int64_t integer;
  double real;
} VectisNumber;

/* One call of the named operation `name` (docs/operations.md lists them) for the slot run_op. The host has checked
   views and parameters; no view is empty. Pointers are valid during the call only. */
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

/* The table of a plug-in. Each slot is REQUIRED (a table without it is rejected), or OPTIONAL: then its comment
   says what the host does when it is NULL, and VECTIS_UNSUPPORTED has the same effect for that device only. A slot
   that fails writes `message`, leaves its outputs unchanged and holds no resource. */
typedef struct VectisBackend {
  size_t size;
  uint32_t abi_major; /* VECTIS_ABI_MAJOR the plug-in was compiled with */
  uint32_t abi_minor;
  const char* name;        /* "opencl": lower case, [a-z0-9_]; part of every device's label, "opencl:0" */
  const char* version;     /* the plug-in's own version */
  const char* requirement; /* minimum versions in one phrase: "an OpenCL 1.2 driver" */
  const char* install;     /* what to install when the driver is missing, one sentence, or NULL */

  /* REQUIRED. Finds driver and devices and creates `state`; `host` is valid until `close`. When there is no usable
     driver, returns VECTIS_BACKEND_CREATION and sets message->reason. With VECTIS_OK the message may contain a
     note, which the doctor prints. */
  VectisStatus (*open)(const VectisHost* host, VectisBackendState** state, VectisMessage* message);
  /* REQUIRED. Destroys `state`, a result of `open`. Called once, after every context has been destroyed. Cannot
     fail. */
  void (*close)(VectisBackendState* state);
  /* OPTIONAL: without it, settings cannot change while the backend is open. Changes the setting `key` to `value`.
     Returns VECTIS_INVALID_INPUT for an unknown key or an invalid value. */
  VectisStatus (*configure)(VectisBackendState* state, const char* key, const char* value, VectisMessage* message);

  /* REQUIRED. Sets `count` to the number of devices, which never changes while the backend is open. On failure, or
     with 0 devices, the host does not use the backend. */
  VectisStatus (*device_count)(VectisBackendState* state, uint32_t* count, VectisMessage* message);
  /* REQUIRED. Fills the fields within info->size for device `index`, which is below the count of device_count; the
     host has zeroed them. On failure the host does not use the backend. */
  VectisStatus (*device_info)(VectisBackendState* state, uint32_t index, VectisDeviceInfo* info,
                              VectisMessage* message);
  /* OPTIONAL: without it, free memory is unknown. Queries the driver at each call for total and free memory of
     device `index`. Returns VECTIS_DRIVER_FAILURE when the query fails. */
  VectisStatus (*device_memory)(VectisBackendState* state, uint32_t index, VectisMemoryInfo* info,
                                VectisMessage* message);
  /* OPTIONAL: without it, utilization is unknown. Sets `share` to the fraction of recent time that device `index`
     was busy, 0 to 1. Returns VECTIS_DRIVER_FAILURE when the query fails. */
  VectisStatus (*device_utilization)(VectisBackendState* state, uint32_t index, double* share, VectisMessage* message);

  /* REQUIRED. Creates a context on device `index`, which is below the count of device_count. Returns
     VECTIS_BACKEND_CREATION when the driver cannot create one. */
  VectisStatus (*context_create)(VectisBackendState* state, uint32_t index, VectisContext** context,
                                 VectisMessage* message);
  /* REQUIRED. Destroys `context`, never NULL, after everything created in it has been destroyed. Cannot fail. */
  void (*context_destroy)(VectisContext* context);

  /* REQUIRED. Allocates `bytes` uninitialized bytes, from 1 to allocation_bytes_max. Kernels access whole 32-bit
     words: round the allocation up to a multiple of 4 bytes. Returns VECTIS_ALLOCATION when the device is out of
     memory. */
  VectisStatus (*memory_allocate)(VectisContext* context, uint64_t bytes, VectisMemory** memory,
                                  VectisMessage* message);
  /* REQUIRED. Frees `memory`, an allocation or a slice of `context`. Work already enqueued may still use the
     memory: wait for that work, or defer the free. Cannot fail. */
  void (*memory_free)(VectisContext* context, VectisMemory* memory);
  /* OPTIONAL: without it, pools use one allocation per buffer. Creates a handle for `bytes` bytes from `offset`, a
     multiple of memory_alignment, of a memory that is not a slice itself. The host frees it by memory_free before
     that memory. Returns VECTIS_UNSUPPORTED when the device has no slices. */
  VectisStatus (*memory_slice)(VectisMemory* memory, uint64_t offset, uint64_t bytes, VectisMemory** slice,
                               VectisMessage* message);
  /* OPTIONAL: without it, the host cannot address device memory. Sets `address` to the host address of `memory`,
     valid until memory_free. Returns VECTIS_UNSUPPORTED for a device without unified memory. */
  VectisStatus (*memory_address)(VectisMemory* memory, void** address, VectisMessage* message);

  /* REQUIRED. Creates an empty in-order queue of work in `context`. Returns VECTIS_DEVICE_LOST when the device is
     gone, VECTIS_DRIVER_FAILURE when the driver fails. */
  VectisStatus (*stream_create)(VectisContext* context, VectisStream** stream, VectisMessage* message);
  /* REQUIRED. Destroys `stream`, never NULL: waits for enqueued work, or lets it finish in the background. Cannot
     fail. */
  void (*stream_destroy)(VectisStream* stream);
  /* REQUIRED. Returns when all work enqueued before on `stream` has finished, with the status of the first work
     that failed. */
  VectisStatus (*stream_synchronize)(VectisStream* stream, VectisMessage* message);

  /* REQUIRED. Enqueues a copy of `bytes` bytes, at least 1, from host memory to `target` at `offset`; the range
     lies inside `target`. May return before the copy has finished: `source` stays valid until then. A failure of
     the copy itself is reported by the next synchronize. */
  VectisStatus (*copy_to_device)(VectisStream* stream, VectisMemory* target, uint64_t offset, const void* source,
                                 uint64_t bytes, VectisMessage* message);
  /* REQUIRED. Enqueues a copy of `bytes` bytes, at least 1, from `source` at `offset` to host memory; the range
     lies inside `source`. May return before the copy has finished: `target` stays valid until then. A failure of
     the copy itself is reported by the next synchronize. */
  VectisStatus (*copy_to_host)(VectisStream* stream, void* target, VectisMemory* source, uint64_t offset,
                               uint64_t bytes, VectisMessage* message);
  /* REQUIRED. Enqueues a copy of `bytes` bytes, at least 1, from `source` to `target`. Both memories belong to the
     stream's context; the ranges do not overlap. A failure of the copy itself is reported by the next synchronize. */
  VectisStatus (*copy_on_device)(VectisStream* stream, VectisMemory* target, uint64_t target_offset,
                                 VectisMemory* source, uint64_t source_offset, uint64_t bytes, VectisMessage* message);
  /* OPTIONAL: without it, the host copies a filled block. Enqueues setting `bytes` bytes, at least 1, of `target`
     from `offset` on to `value`; the range lies inside `target`. A failure of the fill itself is reported by the
     next synchronize. */
  VectisStatus (*fill)(VectisStream* stream, VectisMemory* target, uint64_t offset, uint64_t bytes, uint8_t value,
                       VectisMessage* message);

  /* REQUIRED. Creates an event in `context`; until it is recorded it counts as completed. Returns
     VECTIS_DEVICE_LOST when the device is gone, VECTIS_DRIVER_FAILURE when the driver fails. */
  VectisStatus (*event_create)(VectisContext* context, VectisEvent** event, VectisMessage* message);
  /* REQUIRED. Destroys `event`, never NULL, also one that has not completed. Cannot fail. */
  void (*event_destroy)(VectisEvent* event);
  /* REQUIRED. Records `event` behind all work enqueued on `stream`, which is of the same context; a later record
     replaces this one. Returns VECTIS_DRIVER_FAILURE when the driver fails. */
  VectisStatus (*event_record)(VectisEvent* event, VectisStream* stream, VectisMessage* message);
  /* REQUIRED. Returns at once: VECTIS_OK when the work before the event has finished, VECTIS_NOT_READY when it has
     not, or the status of that work when it failed. */
  VectisStatus (*event_query)(VectisEvent* event, VectisMessage* message);
  /* REQUIRED. Waits until the work before the event has finished. Returns the status of that work when it failed. */
  VectisStatus (*event_synchronize)(VectisEvent* event, VectisMessage* message);
  /* REQUIRED. Makes work enqueued later on `stream` start after `event`, which belongs to the same context; does
     not block the host. Returns VECTIS_DRIVER_FAILURE when the driver fails. */
  VectisStatus (*stream_wait_event)(VectisStream* stream, VectisEvent* event, VectisMessage* message);
  /* OPTIONAL: without it, there are no timestamps. Sets `nanoseconds` to the time at which `event`, which has
     completed, did so, on the device's own clock. Returns VECTIS_UNSUPPORTED for a device without timestamps. */
  VectisStatus (*event_timestamp)(VectisEvent* event, uint64_t* nanoseconds, VectisMessage* message);

  /* OPTIONAL as a group of five: without them, the device has no run-time compiler. Compiles `text`, source in
     `dialect`, or loads a result of program_binary when `dialect` is "binary"; `options`, never NULL, go to the
     compiler. Returns VECTIS_COMPILE_FAILED with the compiler's output as message; with VECTIS_OK the message may
     have its warnings. */
  VectisStatus (*program_create)(VectisContext* context, const char* dialect, const void* text, size_t bytes,
                                 const char* options, VectisProgram** program, VectisMessage* message);
  /* OPTIONAL in the group of program_create. Destroys `program`, never NULL, after its kernels. Cannot fail. */
  void (*program_destroy)(VectisProgram* program);
  /* OPTIONAL in the group of program_create. Creates a handle of the kernel `name` of `program`. Returns
     VECTIS_INVALID_INPUT when the program has no kernel of that name. */
  VectisStatus (*kernel_create)(VectisProgram* program, const char* name, VectisKernel** kernel,
                                VectisMessage* message);
  /* OPTIONAL in the group of program_create. Destroys `kernel`, never NULL, before its program. Cannot fail. */
  void (*kernel_destroy)(VectisKernel* kernel);
  /* OPTIONAL in the group of program_create. Enqueues `kernel`, of the stream's context, with the shape and
     arguments of `launch`, which the host has checked against the device's limits. Fails when the driver rejects
     number or types of the arguments, which the host has not checked. */
  VectisStatus (*launch)(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch,
                         VectisMessage* message);
  /* OPTIONAL: without it, binaries are not cached. Writes the compiled binary of `program` to `target`; *bytes is
     the capacity on entry and the number of bytes written on return. With `target` NULL only sets *bytes. Returns
     VECTIS_UNSUPPORTED when the device offers no binaries. */
  VectisStatus (*program_binary)(VectisProgram* program, void* target, size_t* bytes, VectisMessage* message);

  /* OPTIONAL, since 1.1: without it, the portable kernels run. Enqueues a whole named operation. Returns
     VECTIS_UNSUPPORTED for an operation, type or shape that the portable kernel should compute; the stream
     remembers that answer for calls of the same operation, types, shapes and parameters. Several threads may call
     it with different streams. */
  VectisStatus (*run_op)(VectisStream* stream, const VectisOpCall* call, VectisMessage* message);

  /* OPTIONAL, since 1.2: without it, the host copies through its own memory. Copies from another context of this
     backend, to which `source_stream` and `source` belong, into the stream's context, ordered after earlier and
     before later work on both streams. Returns VECTIS_UNSUPPORTED for two devices without a direct connection. */
  VectisStatus (*copy_from_peer)(VectisStream* stream, VectisMemory* target, uint64_t target_offset,
                                 VectisStream* source_stream, VectisMemory* source, uint64_t source_offset,
                                 uint64_t bytes, VectisMessage* message);

  /* OPTIONAL as a pair with host_free, since 1.2: without them, pageable memory is used. Allocates `bytes` bytes
     of pinned (page-locked) host memory, aligned to at least 16 bytes, for copies of this backend's contexts.
     Returns VECTIS_ALLOCATION when there is no more. */
  VectisStatus (*host_allocate)(VectisContext* context, uint64_t bytes, void** address, VectisMessage* message);
  /* OPTIONAL as a pair with host_allocate, since 1.2. Frees pinned host memory of host_allocate, never NULL. Work
     already enqueued in this context may still use it: wait for that work; the host has waited for other contexts.
     Cannot fail. */
  void (*host_free)(VectisContext* context, void* address);
} VectisBackend;

/* The function that a plug-in exports under VECTIS_ENTRY_NAME. Returns the plug-in's table, which must live as
   long as the process; the host reports a plug-in that returns NULL as incompatible. */
typedef const VectisBackend* (*VectisBackendEntry)(void);

#ifdef __cplusplus
}
#endif

#endif
