// The kernel template for packed outputs.
//
// Elements of 8 and 16 bits are packed into 32-bit words. A view may begin and end inside a word, and two rows may
// share one, so work-items process words, not elements, and each word has one owner: the last row that begins in or
// before it. The owner writes every lane of the view, of whichever row, and keeps the other lanes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Statements of a kernel body that word_body() inserts where a packed output is written.
struct WordText {
  // Statements that put the element of `row` and `col` into lane `lane` of `word`. Setting `keep` to true instead
  // keeps the previous element; whether it is set must depend on the row alone.
  std::string element;
  // Statements that set `word` to the elements of `row` from `col` on, as many as a word holds; empty: `element` is
  // repeated for each lane.
  std::string whole = {};
};

// Returns the kernel body that writes the buffer `y`, whose words hold `lanes` elements (1, 2 or 4), with the
// statements of `text`. The kernel's first scalars must be word_scalars().
std::string word_body(std::uint32_t lanes, const WordText& text);
// Returns the scalars that a kernel with word_body() takes before all others; word_launch() provides their values.
std::vector<ScalarParameter> word_scalars();

// Grid and first scalars of a launch of a kernel with word_body().
struct WordLaunch {
  LaunchShape shape;
  std::vector<LaunchArgument> scalars;
};
// Returns the grid that covers every word of `out` with work-groups of `group` work-items, and the values of
// word_scalars(). `out` must not be empty and must pass check_portable().
WordLaunch word_launch(const View& out, std::uint32_t group);

// Returns how many elements of the type a 32-bit word holds: 1, 2 or 4. Equal to lanes(), for code in which a
// variable hides that name.
std::uint32_t lanes_of(DType type);

// --- Elements moved bit by bit: one kernel serves all types of one width ---

// Returns a type of which a 32-bit word holds `lanes` elements, 1, 2 or 4: uint32, float16 or int8. Kernels that
// move bits use it for all types of that width.
DType raw_element(std::uint32_t lanes);
// Returns the defines BITS and MASK of an element of which a 32-bit word holds `lanes`, which must be 1, 2 or 4.
std::vector<std::pair<std::string, std::string>> raw_defines(std::uint32_t lanes);  // BITS and MASK of an element

// A statement of a kernel body that inserts `bits` into lane `lane` of `word`. Needs the defines of raw_defines().
extern const char* const put_bits;
// Returns statements that copy the element of buffer `x` at `from`, an expression of row and col that must grow by 1
// with col, after the statements `before`; where `condition` is false the element is zero. The kernel needs
// raw_defines().
WordText copy_elements(const std::string& from, const std::string& before = {}, const std::string& condition = "true");

// Returns one launch of the kernel `name` that writes view 1, `out`, from view 0, `x`, which must have the same
// element size. `text` may use x_offset and x_stride, and is called only if no kernel is cached under `name`, width
// and group.
PlannedLaunch moving_launch(const std::string& name, const View& x, const View& out, WordText (*text)(),
                            const DeviceInfo& device);

}  // namespace vectis::inline v0_1::detail
