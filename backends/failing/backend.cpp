// A test backend that wraps another one and injects faults. Handles are those of the wrapped backend. Settings, also as
// variables VECTIS_BACKENDS_FAILING_<KEY>, are read when the backend opens:
//   target        the backend to wrap; default "cpu". All Runtimes of a process must wrap the same one.
//   memory_bytes  size of the device memory; default: that of the wrapped device
//   fail, lose    faults, see Injector::command

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/failing/faults.hpp"
#include "backends/plugin/slots.hpp"

namespace {

// A copy of the wrapped table, since the host's own copy lives only as long as its Runtime. Written by the first open.
class Target {
 public:
  // False when a backend of another name is wrapped already.
  bool set(const VectisBackend& table) {
    const std::lock_guard lock(mutex_);
    if (table_.name == nullptr) table_ = table;
    return std::strcmp(table_.name, table.name) == 0;
  }
  const VectisBackend* operator->() const { return &table_; }
  const VectisBackend& operator*() const { return table_; }

 private:
  std::mutex mutex_;
  VectisBackend table_{};
};

Target target;

VectisStatus not_opened(VectisMessage* message, const char* text, const char* name) {
  message->reason = VECTIS_REASON_OTHER;
  std::snprintf(message->text, message->capacity, "%s '%s'", text, name);
  return VECTIS_BACKEND_CREATION;
}

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) {
  const char* name = host->setting(host->state, "target");
  if (name == nullptr) name = "cpu";
  const VectisBackend* found = nullptr;
  if (host->find_backend(host->state, name, &found, state, message) != VECTIS_OK) {
    return not_opened(message, "there is no open backend to wrap named", name);
  }
  if (const char* bytes = host->setting(host->state, "memory_bytes")) {
    failing::account().set_total(std::strtoull(bytes, nullptr, 10));
  }
  for (const char* key : {"fail", "lose"}) {
    const char* value = host->setting(host->state, key);
    if (value != nullptr && !failing::injector().command(key, value)) {
      return not_opened(message, "the setting fail or lose has the invalid value", value);
    }
  }
  return target.set(*found) ? VECTIS_OK : not_opened(message, "another Runtime of this process wraps", target->name);
}

// The host closes the wrapped backend itself.
void close(VectisBackendState* /*state*/) {}

VectisStatus configure(VectisBackendState* /*state*/, const char* key, const char* value, VectisMessage* message) {
  if (failing::injector().command(key, value)) return VECTIS_OK;
  if (std::strcmp(key, "others") == 0) {
    failing::account().set_others(std::strtoull(value, nullptr, 10));
    return VECTIS_OK;
  }
  std::snprintf(message->text, message->capacity,
                "unknown command '%s %s'; valid commands are fail, lose, hold, resume, reset and others", key, value);
  return VECTIS_INVALID_INPUT;
}

template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&source)[N]) {  // NOLINT(google-explicit-constructor): a template argument
    for (std::size_t i = 0; i < N; ++i) text[i] = source[i];
  }
};

// Wrapper<slot, name, type>::call has the slot's own type: it injects a fault or calls the wrapped backend.
template <auto Slot, Name Text, class Function>
struct Wrapper;

template <auto Slot, Name Text, class... Arguments>
struct Wrapper<Slot, Text, VectisStatus (*)(Arguments...)> {
  static VectisStatus call(Arguments... arguments) {
    VectisMessage* message = last(arguments...);
    const VectisStatus injected = failing::injector().before(Text.text, message);
    if (injected != VECTIS_OK) return injected;
    const auto slot = (*target).*Slot;
    return slot == nullptr ? VECTIS_UNSUPPORTED : slot(arguments...);
  }

 private:
  static VectisMessage* last(VectisMessage* message) { return message; }
  template <class First, class... Rest>
  static VectisMessage* last(First, Rest... rest) {
    return last(rest...);
  }
};

// Slots without a status (destroy, free) cannot fail.
template <auto Slot, Name Text, class... Arguments>
struct Wrapper<Slot, Text, void (*)(Arguments...)> {
  static void call(Arguments... arguments) { ((*target).*Slot)(arguments...); }
};

VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* message) {
  const VectisStatus injected = failing::injector().before("device_info", message);
  if (injected != VECTIS_OK) return injected;
  const VectisStatus status = target->device_info(state, index, info, message);
  if (status == VECTIS_OK) {
    info->kind = VECTIS_DEVICE_GPU;
    info->software = 1;  // so that it is never chosen automatically
    std::uint64_t free = 0;
    if (failing::account().state(&info->memory_bytes, &free)) info->allocation_bytes_max = info->memory_bytes;
  }
  return status;
}

VectisStatus memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) {
  const VectisStatus injected = failing::injector().before("memory_allocate", message);
  if (injected != VECTIS_OK) return injected;
  if (!failing::account().reserve(bytes)) {
    std::snprintf(message->text, message->capacity, "the device has fewer than %llu bytes free",
                  static_cast<unsigned long long>(bytes));
    return VECTIS_ALLOCATION;
  }
  const VectisStatus status = target->memory_allocate(context, bytes, memory, message);
  if (status == VECTIS_OK) {
    failing::account().bind(*memory, bytes);
  } else {
    failing::account().release(bytes);
  }
  return status;
}

void memory_free(VectisContext* context, VectisMemory* memory) {
  failing::account().free(memory);
  target->memory_free(context, memory);
}

VectisStatus device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info,
                           VectisMessage* message) {
  const VectisStatus injected = failing::injector().before("device_memory", message);
  if (injected != VECTIS_OK) return injected;
  if (failing::account().state(&info->total_bytes, &info->free_bytes)) return VECTIS_OK;
  return target->device_memory == nullptr ? VECTIS_UNSUPPORTED : target->device_memory(state, index, info, message);
}

constexpr VectisBackend make_table() {
  VectisBackend table = vectis::plugin::make_empty_table(
      {.name = "failing", .requirement = "a backend to wrap", .install = nullptr, .version = "1"});
  table.open = open;
  table.close = close;
  table.configure = configure;
  table.device_info = device_info;
  table.device_memory = device_memory;
  table.memory_allocate = memory_allocate;
  table.memory_free = memory_free;
#define VECTIS_WRAP(slot) table.slot = Wrapper<&VectisBackend::slot, #slot, decltype(VectisBackend::slot)>::call
  VECTIS_WRAP(device_count);
  VECTIS_WRAP(device_utilization);
  VECTIS_WRAP(context_create);
  VECTIS_WRAP(context_destroy);
  VECTIS_WRAP(memory_slice);
  VECTIS_WRAP(memory_address);
  VECTIS_WRAP(stream_create);
  VECTIS_WRAP(stream_destroy);
  VECTIS_WRAP(stream_synchronize);
  VECTIS_WRAP(copy_to_device);
  VECTIS_WRAP(copy_to_host);
  VECTIS_WRAP(copy_on_device);
  VECTIS_WRAP(fill);
  VECTIS_WRAP(event_create);
  VECTIS_WRAP(event_destroy);
  VECTIS_WRAP(event_record);
  VECTIS_WRAP(event_query);
  VECTIS_WRAP(event_synchronize);
  VECTIS_WRAP(stream_wait_event);
  VECTIS_WRAP(event_timestamp);
  VECTIS_WRAP(program_create);
  VECTIS_WRAP(program_destroy);
  VECTIS_WRAP(kernel_create);
  VECTIS_WRAP(kernel_destroy);
  VECTIS_WRAP(launch);
  VECTIS_WRAP(program_binary);
  VECTIS_WRAP(run_op);
  VECTIS_WRAP(copy_from_peer);
  VECTIS_WRAP(host_allocate);
  VECTIS_WRAP(host_free);
#undef VECTIS_WRAP
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry(void) { return &table; }
