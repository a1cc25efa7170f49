// The functions behind the table, by the file that holds them. Their contract is vectis/device/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

// open.cpp
VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept;
void close(VectisBackendState* state) noexcept;

// devices.cpp
VectisStatus device_count(VectisBackendState* state, std::uint32_t* count, VectisMessage* message) noexcept;
VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* message) noexcept;
VectisStatus device_memory(VectisBackendState* state, std::uint32_t index, VectisMemoryInfo* info,
                           VectisMessage* message) noexcept;

VectisStatus device_utilization(VectisBackendState* state, std::uint32_t index, double* share,
                                VectisMessage* message) noexcept;

// context.cpp
VectisStatus context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context,
                            VectisMessage* message) noexcept;
void context_destroy(VectisContext* context) noexcept;

// memory.cpp
VectisStatus memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) noexcept;
VectisStatus memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice,
                          VectisMessage* message) noexcept;
void memory_free(VectisContext* context, VectisMemory* memory) noexcept;

VectisStatus host_allocate(VectisContext* context, std::uint64_t bytes, void** address,
                           VectisMessage* message) noexcept;
void host_free(VectisContext* context, void* address) noexcept;

// stream.cpp
VectisStatus stream_create(VectisContext* context, VectisStream** stream, VectisMessage* message) noexcept;
void stream_destroy(VectisStream* stream) noexcept;
VectisStatus stream_synchronize(VectisStream* stream, VectisMessage* message) noexcept;
VectisStatus stream_wait_event(VectisStream* stream, VectisEvent* event, VectisMessage* message) noexcept;
VectisStatus copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                            std::uint64_t bytes, VectisMessage* message) noexcept;
VectisStatus copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset,
                          std::uint64_t bytes, VectisMessage* message) noexcept;
VectisStatus copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                            VectisMemory* source, std::uint64_t source_offset, std::uint64_t bytes,
                            VectisMessage* message) noexcept;
VectisStatus fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes,
                  std::uint8_t value, VectisMessage* message) noexcept;

// peer.cpp
VectisStatus copy_from_peer(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                            VectisStream* source_stream, VectisMemory* source, std::uint64_t source_offset,
                            std::uint64_t bytes, VectisMessage* message) noexcept;

// launch.cpp
VectisStatus launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch,
                    VectisMessage* message) noexcept;

// operations.cpp
VectisStatus run_op(VectisStream* stream, const VectisOpCall* call, VectisMessage* message) noexcept;

// event.cpp
VectisStatus event_create(VectisContext* context, VectisEvent** event, VectisMessage* message) noexcept;
void event_destroy(VectisEvent* event) noexcept;
VectisStatus event_record(VectisEvent* event, VectisStream* stream, VectisMessage* message) noexcept;
VectisStatus event_query(VectisEvent* event, VectisMessage* message) noexcept;
VectisStatus event_synchronize(VectisEvent* event, VectisMessage* message) noexcept;
VectisStatus event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds, VectisMessage* message) noexcept;

// program.cpp
VectisStatus program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                            const char* options, VectisProgram** program, VectisMessage* message) noexcept;
void program_destroy(VectisProgram* program) noexcept;
VectisStatus program_binary(VectisProgram* program, void* target, std::size_t* bytes, VectisMessage* message) noexcept;
VectisStatus kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel,
                           VectisMessage* message) noexcept;
void kernel_destroy(VectisKernel* kernel) noexcept;

}  // namespace vectis::cuda_hip
