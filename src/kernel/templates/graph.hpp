// What the operations of graphs share: how distances are compared and measured by a group, and the limits of both.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::uint64_t graph_pool_max = 512;  // rows a walk keeps, and candidates of a choice
inline constexpr std::uint64_t graph_list_max = 256;  // links of a row, and entries

// Work-items of a group; TEAM of them share a distance.
std::uint32_t graph_group(const DeviceInfo& device);
// The size of a shared array for so many, one of few, so that few kernels serve all calls.
std::uint32_t graph_room(std::uint64_t count);

// After the buffers: the counts, offset and stride of each buffer, and `factor`, a float; the group, helper functions
// and what they are defined by.
void complete_graph_source(KernelSource& source, std::initializer_list<const char*> counts, std::uint32_t group);

// Statements that add to `sum` the work-item's part of the squared distance between the row of x that begins at
// `row_at` and another, whose element is what follows `other`, an index, and a closing bracket.
std::string graph_distance(const std::string& other);

// The launch of one group for each of `pieces`, with the scalars that complete_graph_source announced, of which the
// first is the chunk of a group. Unsupported when the device has not so much shared memory.
PlannedLaunch graph_launch(const OperationCall& call, const DeviceInfo& device, std::uint64_t pieces,
                           std::uint64_t shared_words, std::initializer_list<std::uint64_t> counts, float factor);

// InvalidInput unless the operand has from 1 to `most` columns.
void expect_columns(const OperationCall& call, std::size_t operand, std::uint64_t most);
// The same unless the rows of operand 0 are vectors that an int32 tells apart.
void expect_vectors(const OperationCall& call);

// What is said of an output when there are no vectors: no row, infinitely far.
void fill_with_none(Stream& stream, const View& rows, const View& distances);

}  // namespace vectis::inline v0_1::detail
