// The blocks of a saved exact index: rows as users gave them, and codes that are the truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/common/checksummed_stream.hpp"
#include "search/exact/segment.hpp"
#include "search/exact/segment_store.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::exact {

// A block of the rows of a view without originals; removed ones are left out, and a block of none.
void write_codes(ByteWriter& writer, const SegmentView& view);

// The rows of all views with originals, removed ones left out, in blocks that are full but the last.
void write_rows(ByteWriter& writer, std::span<const SegmentView> views);

// Blocks become segments one after the other. One thread at a time.
class BlockReader {
 public:
  BlockReader(ByteReader& reader, Executor& executor, Metric metric, Precision precision, std::size_t dim);

  // One more, with at most as many rows as are missing to `vectors_max`.
  void read(std::uint64_t vectors_max, bool codes_allowed);
  // CorruptData when an id is there twice or above the largest ever used.
  void check_ids(const std::optional<std::uint64_t>& highest) const;
  [[nodiscard]] std::uint64_t vectors() const noexcept { return vectors_; }

  Snapshot snapshot;
  std::shared_ptr<Segment> tail;

 private:
  void read_rows(detail::ChecksumReader& in, std::size_t rows);
  void read_codes(detail::ChecksumReader& in, std::size_t rows);

  ByteReader& reader_;
  Executor& executor_;
  Metric metric_;
  std::size_t dim_;
  std::uint64_t vectors_ = 0;
  bool saw_rows_ = false;
  bool saw_end_ = false;
};

}  // namespace vectis::inline v0_1::exact
