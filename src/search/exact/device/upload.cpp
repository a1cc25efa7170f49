#include "search/exact/device/upload.hpp"

#include <algorithm>

#include "device/call.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t piece_bytes = std::size_t{8} << 20U;
constexpr std::size_t pack_grain = 1024;  // rows that a thread packs at least

}  // namespace

RowUpload::~RowUpload() { detail::drain(*stream_.core()); }

std::size_t RowUpload::piece_rows() const noexcept {
  return std::max<std::size_t>(1, piece_bytes / (layout_.row_bytes() + device_term_bytes));
}

void RowUpload::send(const SegmentView& segment, std::size_t first, std::size_t last, RowMemory to, std::size_t place) {
  const std::size_t rows_max = piece_rows();
  for (std::size_t begin = first; begin < last; begin += rows_max) {
    const std::size_t end = std::min(last, begin + rows_max);
    std::optional<Piece>& piece = pieces_[next_];
    next_ = (next_ + 1) % pieces_.size();
    const std::size_t bytes = (end - begin) * (layout_.row_bytes() + device_term_bytes);
    if (piece) piece->copied.synchronize();
    if (!piece || piece->memory.bytes().size() < bytes) {
      piece.reset();
      piece.emplace(HostMemory(stream_.context(), bytes), Event(stream_.context()));
    }
    send_piece(*piece, segment, begin, end, to, place + begin - first);
  }
}

void RowUpload::send_piece(Piece& piece, const SegmentView& segment, std::size_t first, std::size_t last, RowMemory to,
                           std::size_t place) {
  const std::size_t rows = last - first;
  const std::span<std::byte> codes = piece.memory.bytes().first(rows * layout_.row_bytes());
  const std::span<std::byte> terms = piece.memory.bytes().subspan(codes.size(), rows * device_term_bytes);
  executor_.parallel_for(rows, pack_grain, [&](std::size_t begin, std::size_t end) {
    layout_.pack_rows(segment, first + begin, first + end, codes.data() + begin * layout_.row_bytes(),
                      reinterpret_cast<float*>(terms.data() + begin * device_term_bytes));
  });
  stream_.copy_to_device(*to.codes, place * layout_.row_bytes(), codes);
  stream_.copy_to_device(*to.terms, place * device_term_bytes, terms);
  stream_.record(piece.copied);
}

}  // namespace vectis::inline v0_1::exact
