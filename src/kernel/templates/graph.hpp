// Shared by graph_search and graph_prune: distances computed by a work-group, and the limits of both operations.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::uint64_t graph_pool_max = 512;  // beam width of a search, and candidates of a prune
inline constexpr std::uint64_t graph_list_max = 256;  // neighbors of a row, and entry points

// The work-group size. TEAM work-items compute one distance together.
std::uint32_t graph_group(const DeviceInfo& device);
// The size of a shared array for `count` elements, rounded up to one of a few sizes, so that few kernels are compiled.
std::uint32_t graph_room(std::uint64_t count);

// Adds to a source that has its buffers: the scalars (chunk, `counts`, offset and stride of each buffer, the float
// `factor`), the work-group size, and the helper functions with their defines.
void complete_graph_source(KernelSource& source, std::initializer_list<const char*> counts, std::uint32_t group);

// Statements that add to `sum` the work-item's part of the squared distance between the row of x that begins at
// `row_at` and another row. `other` is the text before the index of the other row's element; a closing bracket follows
// the index.
std::string graph_distance(const std::string& other);

// The launch with one group for each of `pieces`, with the scalars that complete_graph_source declared. Throws
// Unsupported if the device has too little shared memory.
PlannedLaunch graph_launch(const OperationCall& call, const DeviceInfo& device, std::uint64_t pieces,
                           std::uint64_t shared_words, std::initializer_list<std::uint64_t> counts, float factor);

// Throws InvalidInput unless the operand has 1 to `max` columns.
void expect_columns(const OperationCall& call, std::size_t operand, std::uint64_t max);
// Throws InvalidInput unless operand 0 has a column and at most as many rows as an int32 can index.
void expect_vectors(const OperationCall& call);

// Fills the outputs of a search over no vectors: row -1, distance infinity.
void fill_with_none(Stream& stream, const View& rows, const View& distances);

}  // namespace vectis::inline v0_1::detail
