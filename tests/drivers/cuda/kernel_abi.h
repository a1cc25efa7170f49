/* The interface between a kernel compiled as host code and the driver that runs it. */
#ifndef VECTIS_TEST_DRIVER_KERNEL_ABI_H
#define VECTIS_TEST_DRIVER_KERNEL_ABI_H

struct VtdTriple {
  unsigned x, y, z;
};

/* The indices of the running thread; the driver writes them before each thread runs and after each switch. */
struct VtdPlace {
  struct VtdTriple thread, block, group, grid;
  void (*barrier)(int line);
  /* An instruction that the threads of a warp run together, 32 on CUDA and 32 or 64 on HIP: when all have called it
   * with the same line, `compute` is called once with what each gave as `own`, by lane. */
  void (*collective)(int line, unsigned lanes, void (*compute)(void* const* of_lanes), void* own);
  char* dynamic_shared;
};

struct VtdKernel {
  const char* name;
  void (*call)(void** parameters);
  unsigned parameter_count;
  const unsigned* bytes;           /* of each parameter */
  const unsigned char* is_pointer; /* each parameter: a device address, or a value */
  unsigned group_items_max;
};

struct VtdModule {
  struct VtdPlace* place;
  char* shared_begin; /* static shared memory of all its kernels */
  char* shared_end;
  const struct VtdKernel* kernels;
  unsigned kernel_count;
};

#define VTD_MODULE_SYMBOL "vtd_module"

#endif
