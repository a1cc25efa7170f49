// The driver behind both interfaces. Every function fails by throwing; codes are CUDA's, which HIP shares. One lock is
// held throughout: one piece of work runs at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "control.hpp"
#include "kernels.hpp"
#include "queue.hpp"
#include "timeline.hpp"

namespace vectis::test_driver {

struct Event {
  Context* context = nullptr;
  std::shared_ptr<Place> place;  // of the last record; null: never recorded
};

struct LoadedModule;

struct Function {
  LoadedModule* owner = nullptr;
  const VtdKernel* kernel = nullptr;
};

struct LoadedModule {
  Context* context = nullptr;
  std::shared_ptr<Module> module;
  std::map<std::string, Function> functions;
};

// Objects behind handles. A handle without a live object is a violation.
template <class Object>
class Handles {
 public:
  Handles(const char* name, int kind) : name_(name), kind_(kind) {}
  Object* add(std::unique_ptr<Object> object);
  Object& get(const void* handle) const;
  void remove(const void* handle);

 private:
  const char* name_;
  int kind_;
  std::map<const void*, std::unique_ptr<Object>> live_;
};

// Limits of every device.
struct Limits {
  static constexpr unsigned group_items = 1024;
  static constexpr unsigned group_z = 64;
  static constexpr unsigned grid_yz = 65535;
  static constexpr unsigned shared_bytes = 48U << 10U;
  static constexpr int compute_units = 4;
};

class Driver {
 public:
  static Driver& get();

  std::mutex mutex;
  Queue queue;
  Timeline timeline;
  std::atomic<std::int64_t> pinned_copies{0};
  std::atomic<std::int64_t> pageable_copies{0};

  void initialize();
  void need_initialized() const;
  static int device_count();
  static void need_device(int device);
  static std::size_t device_bytes();
  static int architecture();

  // Contexts, one for each device.
  Context& context_of(int device);
  Context& retain(int device);
  void release(int device);
  void push(Context& context);
  Context* pop();
  // The context current on this thread; a missing or failed one is an error.
  Context& current();
  // HIP has no stack of contexts: each thread has a device, the first one to begin with.
  void choose_device(int device);
  int chosen_device();

  std::uint64_t allocate(std::size_t bytes);
  void free(std::uint64_t address);
  std::size_t free_bytes();
  // Pinned memory of the host, for copies of every context.
  void* pin(std::size_t bytes);
  void unpin(const void* address);

  Stream* create_stream();
  void destroy_stream(const void* stream);
  void synchronize_stream(const void* stream);
  void synchronize();
  void copy_to_device(std::uint64_t target, const void* source, std::size_t bytes, const void* stream);
  void copy_to_host(void* target, std::uint64_t source, std::size_t bytes, const void* stream);
  void copy_on_device(std::uint64_t target, std::uint64_t source, std::size_t bytes, const void* stream);
  // Between devices. Without access the real ones take a way through the host by themselves; here it is a violation.
  static bool reaches(int device, int peer);
  void enable_peer(Context& peer);
  void copy_from_peer(std::uint64_t target, Context& to, std::uint64_t source, Context& from, std::size_t bytes,
                      const void* stream);
  void fill(std::uint64_t target, unsigned char value, std::size_t bytes, const void* stream);

  Event* create_event();
  void destroy_event(const void* event);
  void record(const void* event, const void* stream);
  void query(const void* event);
  void synchronize_event(const void* event);
  void wait(const void* stream, const void* event);
  float milliseconds(const void* begin, const void* end);

  // `driver_version` as CUDA numbers it; 0 takes no PTX.
  LoadedModule* load(const char* image, int driver_version);
  void unload(const void* module);
  Function* function(const void* module, const char* name);
  static const VtdKernel& kernel(const void* function);
  void launch(const void* function, VtdTriple grid, VtdTriple group, unsigned shared_bytes, const void* stream,
              void** parameters);

  // Work of a library above, for `run` with where the ranges are.
  void run_above(std::span<const VectisDriverRange> ranges, void (*run)(void*, char* const*),
                 const std::shared_ptr<void>& state, const void* stream);

  void heal();

 private:
  Stream& stream(const void* handle);
  Event& event(const void* handle);
  void enqueue(const void* stream, Work work);

  bool initialized_ = false;
  std::map<int, Context> contexts_;
  // The pinned memory in which a copy's range of the host lies, or null. One that was freed is a violation.
  std::shared_ptr<Allocation> pinned(const void* address, std::size_t bytes);

  AddressSpace memory_;
  PinnedMemory pinned_;
  Handles<Stream> streams_{"stream", VECTIS_DRIVER_STREAMS};
  Handles<Event> events_{"event", VECTIS_DRIVER_EVENTS};
  Handles<LoadedModule> modules_{"module", VECTIS_DRIVER_MODULES};
};

}  // namespace vectis::test_driver
