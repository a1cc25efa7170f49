// Shared by graph_search and graph_prune: distances computed by a work-group, and the limits of both operations.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Maximum beam width of graph_search, and of candidates and chosen rows of graph_prune.
inline constexpr std::uint64_t graph_pool_max = 512;
// Maximum neighbors of a row, and entry points, of graph_search.
inline constexpr std::uint64_t graph_list_max = 256;

// Returns the work-group size of the graph kernels: 64, or the largest power of two below that the device allows.
std::uint32_t graph_group(const DeviceInfo& device);
// Returns the size of a shared array for `count` elements, rounded up to 64, 256 or 512, so that few kernels are
// compiled. `count` must be at most 512; larger counts return 512.
std::uint32_t graph_room(std::uint64_t count);

// Adds to a kernel whose buffers are set: the scalars (`counts`, of which the first must be "chunk", then offset and
// stride of each buffer, then the float `factor`), the work-group size, and the helper functions with their defines.
// graph_launch() passes the scalars in this order.
void complete_graph_source(KernelSource& source, std::initializer_list<const char*> counts, std::uint32_t group);

// Returns the kernel body that runs `statements` for each piece of the work-group, such as a query. `piece` is the name
// of its index in the statements, and `pieces` the scalar with their number. The statements may also use `team` and
// `lane`, which of the group's TEAMS teams the work-item is in and its place there. All work-items of the group run
// them, so they may contain barriers. The source must be completed by complete_graph_source().
std::string graph_body(std::string_view piece, std::string_view pieces, std::string_view statements);

// Returns statements that add to `sum` the work-item's part of the squared distance between the row of x that begins
// at `row_at` and another row. `other` is the text before the index of the other row's element, up to and including
// the opening bracket; a closing one follows the index. The body must define `sum`, `lane` and `row_at`.
std::string graph_distance(const std::string& other);

// Returns a launch that distributes `pieces` over work-groups, with all views as buffers and the scalars that
// complete_graph_source() declared; the caller sets key and source. Throws Unsupported if `shared_words` 32-bit
// words exceed the device's shared memory.
PlannedLaunch graph_launch(const OperationCall& call, const DeviceInfo& device, std::uint64_t pieces,
                           std::uint64_t shared_words, std::initializer_list<std::uint64_t> counts, float factor);

// Throws InvalidInput unless the view of the operand has 1 to `max` columns. `operand` must be less than the number
// of views.
void expect_columns(const OperationCall& call, std::size_t operand, std::uint64_t max);
// Throws InvalidInput unless view 0, the vectors `x`, has at least 1 column and at most 2^31 - 1 rows, the most that
// an int32 can index.
void expect_vectors(const OperationCall& call);

// Enqueues the result of a search over no vectors: fills `rows` with -1 and `distances` with infinity. Throws what
// run() throws for `fill`, such as InvalidInput for views of another context than the stream.
void fill_with_none(Stream& stream, const View& rows, const View& distances);

}  // namespace vectis::inline v0_1::detail
