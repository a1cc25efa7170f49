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

struct WordText {
  // Statements that put the element of `row` and `col` into lane `lane` of `word`. Setting `keep` to true instead
  // leaves what is there; whether it is set depends on the row alone.
  std::string element;
  // Statements that make a whole `word` of the elements from `col` on of `row`; empty: one element after another.
  std::string whole = {};
};

// The body that writes the buffer `y`, and the scalars it takes first of all.
std::string word_body(std::uint32_t lanes, const WordText& text);
std::vector<ScalarParameter> word_scalars();

// Shape and scalars of a launch of it over `out`, in groups of `group` items.
struct WordLaunch {
  LaunchShape shape;
  std::vector<LaunchArgument> scalars;
};
WordLaunch word_launch(const View& out, std::uint32_t group);

std::uint32_t lanes_of(DType type);

// --- Elements moved bit by bit: one kernel serves all types of one width
// -------------------------------------------------------------------------------------------------------------------

DType raw_element(std::uint32_t lanes);
std::vector<std::pair<std::string, std::string>> raw_defines(std::uint32_t lanes);  // BITS and MASK of an element

// A statement that inserts `bits` into lane `lane` of `word`.
extern const char* const put_bits;
// Copies the element of buffer `x` at `from`, an expression of row and col that rises with col, after the statements
// `before`; where `condition` is false the element is zero.
WordText copy_elements(const std::string& from, const std::string& before = {}, const std::string& condition = "true");

// One launch of the kernel `name` that writes view 1, `out`, from view 0, `x`. `text` may use x_offset and x_stride,
// and is asked only when the kernel was never compiled.
PlannedLaunch moving_launch(const std::string& name, const View& x, const View& out, WordText (*text)(),
                            const DeviceInfo& device);

}  // namespace vectis::inline v0_1::detail
