// A scripted backend whose work runs as late as the contract allows: when its stream, or an event behind it, is waited
// for. A caller that frees or changes host memory too early is found without luck.
//
//   FakeOs os;
//   DeferredBackend::install(os);   // devices "cuda:0" and "cuda:1", without run_op and fill
//   Runtime runtime({.os = &os});
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scripted_backend.hpp"

namespace vectis::test {

// One instance per process, since a C table has no state. One thread at a time.
class DeferredBackend {
 public:
  // A fresh backend "cuda" with two GPUs and nothing pending.
  static Script& install(FakeOs& os) {
    Script& script = Scripted::install(os, "cuda");
    script.devices = {gpu("slow"), gpu("slow too")};
    for (VectisDeviceInfo& info : script.devices) info.memory_bytes = info.allocation_bytes_max = 64 << 20;
    for (auto& [path, library] : os.libraries) {
      for (auto& [name, symbol] : library.symbols) symbol = reinterpret_cast<void*>(&entry);
    }
    pending = 0;
    destroyed = 0;
    changed = 0;
    copies_until_failure = 0;
    copy_failure = VECTIS_DRIVER_FAILURE;
    work_failure = VECTIS_OK;
    destroys_at_once = false;
    fails_events = false;
    operation = nullptr;
    return script;
  }

  static inline int pending = 0;               // copies and operations that have not run yet
  static inline int changed = 0;               // copies to a device whose source was not the same when they ran
  static inline int destroyed = 0;             // calls of slots that destroy or free, and of close
  static inline int copies_until_failure = 0;  // the n-th copy from now on fails when it is enqueued; 0: none
  static inline VectisStatus copy_failure = VECTIS_DRIVER_FAILURE;  // the status of that copy
  static inline VectisStatus work_failure = VECTIS_OK;  // of enqueued work: the next wait or query reports it, once
  static inline bool destroys_at_once = false;          // a destroyed stream leaves its copies to the background
  static inline bool fails_events = false;              // no event can be created

  // Returns what an operation does when it runs, or nothing: then it fails at once. Set before the Runtime is made, it
  // gives the devices the slots run_op and fill.
  using Operation = std::function<std::function<void()>(const VectisOpCall& call)>;
  static inline Operation operation;
  // Returns the bytes of a device memory, such as that of a view of an operation.
  static std::span<std::byte> bytes(VectisMemory* memory) { return *bytes_of(memory); }

 private:
  using Scripted = ScriptedBackend<101>;
  using Bytes = std::shared_ptr<std::vector<std::byte>>;

  // The copies of a stream, in order. Shared with the events recorded on it, which may outlive it.
  struct Queue {
    std::deque<std::function<void()>> copies;
    std::uint64_t finished = 0;

    [[nodiscard]] std::uint64_t enqueued() const { return finished + copies.size(); }
    void run_until(std::uint64_t count) {
      for (; finished < count; ++finished, --pending) {
        copies.front()();
        copies.pop_front();
      }
    }
  };
  struct Recorded {
    std::shared_ptr<Queue> queue;  // null: never recorded
    std::uint64_t count = 0;
  };

  template <class Handle>
  static Bytes& bytes_of(Handle* memory) {
    return *reinterpret_cast<Bytes*>(memory);
  }
  static std::shared_ptr<Queue>& queue_of(VectisStream* stream) {
    return *reinterpret_cast<std::shared_ptr<Queue>*>(stream);
  }
  static Recorded& recorded(VectisEvent* event) { return *reinterpret_cast<Recorded*>(event); }

  static VectisStatus enqueue(VectisStream* stream, VectisMessage* message, std::function<void()> copy) {
    if (copies_until_failure > 0 && --copies_until_failure == 0) {
      std::snprintf(message->text, message->capacity, "no more copies");
      return copy_failure;
    }
    queue_of(stream)->copies.push_back(std::move(copy));
    ++pending;
    return VECTIS_OK;
  }

  static VectisStatus copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset,
                                     const void* source, std::uint64_t size, VectisMessage* message) {
    const auto* const begin = static_cast<const std::byte*>(source);
    return enqueue(stream, message, [to = bytes_of(target), offset, begin, seen = std::vector(begin, begin + size)] {
      if (std::memcmp(begin, seen.data(), seen.size()) != 0) ++changed;
      std::memcpy(to->data() + offset, begin, seen.size());
    });
  }
  static VectisStatus copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset,
                                   std::uint64_t size, VectisMessage* message) {
    return enqueue(stream, message, [from = bytes_of(source), offset, target, size] {
      std::memcpy(target, from->data() + offset, size);
    });
  }

  static VectisStatus run_op(VectisStream* stream, const VectisOpCall* call, VectisMessage* message) {
    std::function<void()> work = operation(*call);
    if (work) return enqueue(stream, message, std::move(work));
    std::snprintf(message->text, message->capacity, "no more operations");
    return VECTIS_DRIVER_FAILURE;
  }
  static VectisStatus fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t size,
                           std::uint8_t value, VectisMessage* message) {
    return enqueue(stream, message,
                   [to = bytes_of(target), offset, size, value] { std::memset(to->data() + offset, value, size); });
  }

  static const VectisBackend* entry() {
    VectisBackend& table = Scripted::table;
    Scripted::entry();
    table.close = [](VectisBackendState*) { ++destroyed; };
    table.context_create = [](VectisBackendState* state, std::uint32_t, VectisContext** context, VectisMessage*) {
      *context = reinterpret_cast<VectisContext*>(state);
      return VectisStatus{VECTIS_OK};
    };
    table.context_destroy = [](VectisContext*) { ++destroyed; };
    table.memory_allocate = [](VectisContext*, std::uint64_t size, VectisMemory** memory, VectisMessage*) {
      *memory = reinterpret_cast<VectisMemory*>(new Bytes(std::make_shared<std::vector<std::byte>>(size)));
      return VectisStatus{VECTIS_OK};
    };
    table.memory_free = [](VectisContext*, VectisMemory* memory) {
      ++destroyed;
      delete &bytes_of(memory);
    };
    table.stream_create = [](VectisContext*, VectisStream** stream, VectisMessage*) {
      *stream = reinterpret_cast<VectisStream*>(new std::shared_ptr<Queue>(std::make_shared<Queue>()));
      return VectisStatus{VECTIS_OK};
    };
    table.stream_destroy = [](VectisStream* stream) {
      ++destroyed;
      if (!destroys_at_once) queue_of(stream)->run_until(queue_of(stream)->enqueued());
      delete &queue_of(stream);
    };
    table.stream_synchronize = [](VectisStream* stream, VectisMessage*) {
      queue_of(stream)->run_until(queue_of(stream)->enqueued());
      return std::exchange(work_failure, VECTIS_OK);
    };
    table.copy_to_device = copy_to_device;
    table.copy_to_host = copy_to_host;
    if (operation) table.run_op = run_op;
    if (operation) table.fill = fill;
    add_events(table);
    return &table;
  }

  static void add_events(VectisBackend& table) {
    table.event_create = [](VectisContext*, VectisEvent** event, VectisMessage*) {
      if (fails_events) return VectisStatus{VECTIS_DRIVER_FAILURE};
      *event = reinterpret_cast<VectisEvent*>(new Recorded());
      return VectisStatus{VECTIS_OK};
    };
    table.event_destroy = [](VectisEvent* event) {
      ++destroyed;
      delete &recorded(event);
    };
    table.event_record = [](VectisEvent* event, VectisStream* stream, VectisMessage*) {
      recorded(event) = {queue_of(stream), queue_of(stream)->enqueued()};
      return VectisStatus{VECTIS_OK};
    };
    table.event_query = [](VectisEvent* event, VectisMessage*) {
      const Recorded& last = recorded(event);
      const bool done = last.queue == nullptr || last.queue->finished >= last.count;
      return done ? std::exchange(work_failure, VECTIS_OK) : VectisStatus{VECTIS_NOT_READY};
    };
    table.event_synchronize = [](VectisEvent* event, VectisMessage*) {
      const Recorded& last = recorded(event);
      if (last.queue != nullptr) last.queue->run_until(last.count);
      return std::exchange(work_failure, VECTIS_OK);
    };
  }
};

}  // namespace vectis::test
