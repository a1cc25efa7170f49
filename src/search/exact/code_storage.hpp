// Memory for codes and the terms of their bounds.
#pragma once

#include <cstddef>

#include "search/exact/segment.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::exact {

// Owns the codes and terms of groups of rows, in the layout of CodeBlock. Threads may write different groups.
class CodeStorage {
 public:
  CodeStorage() = default;
  // Allocates zeros for `groups` groups. Throws Allocation when memory is exhausted.
  CodeStorage(const Quantizer& quantizer, std::size_t groups)
      : chunks_(quantizer.chunks),
        groups_(groups),
        codes_(groups * group_rows * quantizer.chunks * chunk_bytes),
        terms_((groups * group_rows * term_kinds + groups * 2) * sizeof(float)) {}

  // Returns where the codes and terms of a group are; index < groups, not checked. Does not throw.
  [[nodiscard]] CodeTarget group(std::size_t index) const noexcept {
    const std::size_t rows = groups_ * group_rows;
    float* const terms = terms_.as<float>();
    float* const largest = terms + rows * term_kinds;
    return {.codes = codes_.data() + index * group_rows * chunks_ * chunk_bytes,
            .step = terms + index * group_rows,
            .offset = terms + rows + index * group_rows,
            .residual = terms + 2 * rows + index * group_rows,
            .norm = terms + 3 * rows + index * group_rows,
            .group_residual = largest + index,
            .group_norm = largest + groups_ + index};
  }
  // Returns a view of the first `rows` rows, which are those from `first_row` on in their segment. Does not throw.
  [[nodiscard]] CodeBlock block(std::size_t first_row, std::size_t rows) const noexcept {
    const CodeTarget from = group(0);
    return {first_row,     rows,      from.codes,          from.step,      from.offset,
            from.residual, from.norm, from.group_residual, from.group_norm};
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return codes_.bytes() + terms_.bytes(); }

 private:
  static constexpr std::size_t term_kinds = 4;  // step, offset, residual, norm

  std::size_t chunks_ = 0;
  std::size_t groups_ = 0;
  Pages codes_;
  Pages terms_;
};

}  // namespace vectis::inline v0_1::exact
