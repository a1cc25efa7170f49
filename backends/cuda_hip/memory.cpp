#include <memory>
#include <string>

#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

// Kernels reach packed elements through the 32-bit words they lie in: the last word is there as a whole.
std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// The driver does not promise to wait for work that uses what is freed.
void wait_for_users(const Api& api) {
  if (static_cast<int>(api.Synchronize()) != 0) static_cast<void>(api.Synchronize());
}

}  // namespace

VectisStatus memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    const Current current(api, context->context.get());
    Address address{};
    const Code code = api.MemAlloc(&address, whole_words(bytes));
    if (static_cast<int>(code) != 0) {
      throw failed_call(api, std::string(symbol_of_MemAlloc) + " of " + std::to_string(bytes) + " bytes", code);
    }
    Guard made(address, api.MemFree);
    *memory = std::make_unique<VectisMemory>(*context, address, false).release();
    made.give();
    return VECTIS_OK;
  });
}

VectisStatus memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t, VectisMemory** slice,
                          VectisMessage* message) noexcept {
  return guarded(message, [&] {
    *slice = std::make_unique<VectisMemory>(memory->owner, advanced(memory->address, offset), true).release();
    return VECTIS_OK;
  });
}

void memory_free(VectisContext* context, VectisMemory* memory) noexcept {
  if (!memory->is_slice) {
    in_context(*context, [&] {
      wait_for_users(context->api);
      static_cast<void>(context->api.MemFree(memory->address));
    });
  }
  delete memory;
}

VectisStatus host_allocate(VectisContext* context, std::uint64_t bytes, void** address,
                           VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    const Current current(api, context->context.get());
    void* made = nullptr;
    VECTIS_CALL(api, MemHostAlloc, &made, bytes, pinned_for_all_contexts);
    *address = made;
    return VECTIS_OK;
  });
}

void host_free(VectisContext* context, void* address) noexcept {
  in_context(*context, [&] {
    wait_for_users(context->api);
    static_cast<void>(context->api.MemFreeHost(address));
  });
}

}  // namespace vectis::cuda_hip
