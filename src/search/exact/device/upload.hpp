// Copies rows of segments to a device through pinned memory.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "search/exact/device/layout.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/device/transfer.hpp"

namespace vectis::inline v0_1::exact {

// Device memory of rows: row_bytes() of codes and device_terms terms for each. Owns nothing.
struct RowMemory {
  const DeviceMemory* codes = nullptr;
  const DeviceMemory* terms = nullptr;
};

// Packs rows into pinned memory with all threads and copies them to a device: one piece is packed while the piece
// before it is copied. Waits for its copies when it is destroyed. One thread at a time.
class RowUpload {
 public:
  // `stream`, `executor` and `layout` must outlive this object. Does not throw: the first send() allocates.
  RowUpload(Stream& stream, Executor& executor, const DeviceLayout& layout) noexcept
      : stream_(stream), executor_(executor), layout_(layout) {}
  RowUpload(const RowUpload&) = delete;
  RowUpload& operator=(const RowUpload&) = delete;
  ~RowUpload();

  // Enqueues copies of the rows [first, last) of `segment` to `to` from row `place` on; may wait for earlier copies.
  // Preconditions, not checked: the layout suits the segment, `to` has room. Throws Allocation when the host has no
  // memory left and the error of the backend.
  void send(const SegmentView& segment, std::size_t first, std::size_t last, RowMemory to, std::size_t place);

 private:
  struct Piece {
    HostMemory memory;  // codes, then terms
    Event copied;
  };
  [[nodiscard]] std::size_t piece_rows() const noexcept;
  void send_piece(Piece& piece, const SegmentView& segment, std::size_t first, std::size_t last, RowMemory to,
                  std::size_t place);

  Stream& stream_;
  Executor& executor_;
  const DeviceLayout& layout_;
  std::array<std::optional<Piece>, 2> pieces_;
  std::size_t next_ = 0;  // of the pieces
};

}  // namespace vectis::inline v0_1::exact
