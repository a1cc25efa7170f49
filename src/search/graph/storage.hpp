// Everything a graph index stores per row: adjacency lists, quantized codes, vectors, ids and version stamps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "search/graph/quantizer.hpp"
#include "search/graph/row_blocks.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

// One list of at most degree() slots per row, each slot in as few bytes as all slots need.
//
// One thread at a time writes a list while others read it. Each list is a seqlock: its first word holds a write
// counter, odd while a write is under way, and the length; the slots follow. Readers retry until the counter is even
// and unchanged, so they get the list before or after a write, never a mixture.
class AdjacencyLists {
 public:
  static constexpr Slot no_link = 0xFFFF'FFFF;
  static constexpr std::size_t degree_max = 255;

  AdjacencyLists(std::size_t degree, std::size_t slot_bytes)
      : degree_(degree),
        slot_bytes_(slot_bytes),
        mask_(static_cast<Slot>((std::uint64_t{1} << (8 * slot_bytes)) - 1)),
        rows_(words_for(degree) * sizeof(Word)) {}

  // The smallest slot width, 2 to 4 bytes, that addresses `rows` rows.
  [[nodiscard]] static std::size_t slot_bytes_for(std::size_t rows) noexcept {
    return rows <= 1U << 16U ? 2 : rows <= 1U << 24U ? 3 : 4;
  }

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // See RowBlocks::point_at. The memory holds lists as encode() writes them.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  [[nodiscard]] const void* address(Slot slot) const noexcept { return rows_[slot]; }

  // Copies the list to `target`, which has room for degree() slots. Returns the length.
  std::size_t read(Slot slot, Slot* target) const noexcept {
    Word copy[words_max + 1];
    copy_list(words_of(slot), copy);
    return unpack(copy, target);
  }

  // Replaces the list. `links` has at most degree() slots.
  void write(Slot slot, std::span<const Slot> links) const noexcept {
    Word* const list = words_of(slot);
    Word copy[words_max + 1] = {};
    pack(links, copy);
    const auto writes = static_cast<std::uint32_t>(std::atomic_ref(list[0]).load(std::memory_order_relaxed));
    // Release stores keep the slots behind the store that makes the counter odd.
    std::atomic_ref(list[0]).store(writes + 1, std::memory_order_relaxed);
    for (std::size_t i = 1; i < words_for(links.size()); ++i) {
      std::atomic_ref(list[i]).store(copy[i], std::memory_order_release);
    }
    std::atomic_ref(list[0]).store(copy[0] | static_cast<std::uint32_t>(writes + 2), std::memory_order_release);
  }

  // Serializes a list to row_bytes() bytes: write counter 0, zeros after the last slot.
  void encode(std::span<const Slot> links, std::byte* bytes) const noexcept {
    Word copy[words_max + 1] = {};
    pack(links, copy);
    std::memcpy(bytes, copy, row_bytes());
  }
  // Reads untrusted bytes. Returns the stored length; writes slots to `target`, which has room for degree_max, only if
  // the length is at most degree().
  std::size_t decode(const std::byte* bytes, Slot* target) const noexcept {
    Word copy[words_max + 1] = {};
    std::memcpy(copy, bytes, row_bytes());
    return count_of(copy) > degree_ ? count_of(copy) : unpack(copy, target);
  }
  // Whether the write counter of a serialized list is 0.
  static bool has_zero_counter(const std::byte* bytes) noexcept {
    std::uint32_t writes = 0;
    std::memcpy(&writes, bytes, sizeof writes);
    return writes == 0;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t head_bytes = 5;  // 4 of the write counter, 1 of the length
  static constexpr std::size_t words_max = (head_bytes + degree_max * sizeof(Slot) + sizeof(Word) - 1) / sizeof(Word);

  [[nodiscard]] std::size_t words_for(std::size_t links) const noexcept {
    return (head_bytes + links * slot_bytes_ + sizeof(Word) - 1) / sizeof(Word);
  }
  [[nodiscard]] Word* words_of(Slot slot) const noexcept { return reinterpret_cast<Word*>(rows_[slot]); }

  static std::size_t count_of(const Word* list) noexcept { return static_cast<std::size_t>((list[0] >> 32U) & 0xFFU); }

  void pack(std::span<const Slot> links, Word* list) const noexcept {
    list[0] = Word{links.size()} << 32U;
    auto* bytes = reinterpret_cast<std::byte*>(list) + head_bytes;
    for (std::size_t i = 0; i < links.size(); ++i, bytes += slot_bytes_) std::memcpy(bytes, &links[i], slot_bytes_);
  }
  std::size_t unpack(const Word* list, Slot* target) const noexcept {
    const auto* bytes = reinterpret_cast<const std::byte*>(list) + head_bytes;
    for (std::size_t i = 0; i < count_of(list); ++i, bytes += slot_bytes_) {
      Slot link = 0;
      std::memcpy(&link, bytes, sizeof link);
      target[i] = link & mask_;
    }
    return count_of(list);
  }

  // Acquire loads keep the second read of the counter behind the reads of the slots.
  void copy_list(Word* list, Word* copy) const noexcept {
    for (;;) {
      copy[0] = std::atomic_ref(list[0]).load(std::memory_order_acquire);
      if ((copy[0] & 1U) != 0) continue;
      const std::size_t words = words_for(count_of(copy));
      for (std::size_t i = 1; i < words; ++i) copy[i] = std::atomic_ref(list[i]).load(std::memory_order_acquire);
      if (std::atomic_ref(list[0]).load(std::memory_order_relaxed) == copy[0]) return;
    }
  }

  std::size_t degree_;
  std::size_t slot_bytes_;
  Slot mask_;
  RowBlocks rows_;
};

// Row ids and the range of epochs in which each row is visible. Removed rows stay as tombstones: searches traverse them
// and leave them out of results. One thread writes, searches read.
class RowVersions {
 public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  struct Version {
    std::uint64_t id = 0;
    std::uint64_t created_at = 0;
    std::uint64_t deleted_at = 0;
  };

  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // Makes the row visible from `epoch` on. Call before the row is linked. Readers may concurrently test the visibility
  // of the slot's previous occupant.
  void create(Slot slot, std::uint64_t id, std::uint64_t epoch) const noexcept {
    version(slot)->id = id;
    std::atomic_ref(version(slot)->created_at).store(epoch, std::memory_order_relaxed);
    std::atomic_ref(version(slot)->deleted_at).store(never, std::memory_order_release);
  }
  // Makes the row a tombstone for searches that begin at `epoch` or later.
  void remove(Slot slot, std::uint64_t epoch) const noexcept {
    std::atomic_ref(version(slot)->deleted_at).store(epoch, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t id(Slot slot) const noexcept { return version(slot)->id; }
  [[nodiscard]] std::uint64_t deleted_at(Slot slot) const noexcept {
    return std::atomic_ref(version(slot)->deleted_at).load(std::memory_order_relaxed);
  }
  // Whether a search that began at `epoch` sees the row. Reads deleted_at first: a reader that sees the value of a new
  // occupant also sees its created_at, which is later than every epoch in which the previous occupant was reachable.
  [[nodiscard]] bool visible(Slot slot, std::uint64_t epoch) const noexcept {
    if (std::atomic_ref(version(slot)->deleted_at).load(std::memory_order_acquire) <= epoch) return false;
    return std::atomic_ref(version(slot)->created_at).load(std::memory_order_relaxed) <= epoch;
  }

 private:
  [[nodiscard]] Version* version(Slot slot) const noexcept { return reinterpret_cast<Version*>(rows_[slot]); }
  RowBlocks rows_{sizeof(Version)};
};

// The vectors that the user added, as floats, or as one byte per element with a scale and minimum per vector. Any
// number of threads may read rows that were published to them.
class VectorRows {
 public:
  VectorRows(std::size_t dim, bool full_precision);

  [[nodiscard]] bool full_precision() const noexcept { return full_precision_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // See RowBlocks::point_at.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  void prefetch(Slot slot) const noexcept { __builtin_prefetch(rows_[slot]); }

  void write(Slot slot, const float* vector) const noexcept;
  // Returns the vector in place, or decoded into `scratch`, which has room for dim floats.
  [[nodiscard]] const float* read(Slot slot, float* scratch) const noexcept;
  // The row as stored.
  [[nodiscard]] std::span<std::byte> bytes(Slot slot) const noexcept { return {rows_[slot], rows_.row_bytes()}; }
  // Whether all elements of a stored row are finite. Reads row_bytes() bytes, 4-byte aligned.
  [[nodiscard]] bool finite(const std::byte* row) const noexcept;

 private:
  std::size_t dim_;
  bool full_precision_;
  RowBlocks rows_;
};

// How a graph is built. HNSW's and DiskANN's names: degree is M or R, ef_construction is L, alpha is RobustPrune's.
struct GraphParams {
  std::size_t degree = 30;            // maximum links per row
  std::size_t pruned_degree = 26;     // links left after a full list is pruned
  std::size_t ef_construction = 160;  // beam width of the searches for a new row's neighbors
  float construction_epsilon = 1.1F;  // BeamParams::epsilon of those searches
  float alpha = 1.05F;                // RobustPrune drops a neighbor alpha times nearer to a chosen one than to the row
  std::uint64_t seed = 1;             // of the order in which rows are linked
};

// What a search traverses: codes and links.
struct Graph {
  Graph(Encoding made_encoding, const GraphParams& made_params, std::size_t slot_bytes)
      : encoding(std::move(made_encoding)),
        params(made_params),
        codes(encoding.quantizer.row_bytes),
        links(made_params.degree, slot_bytes) {}

  Encoding encoding;
  GraphParams params;
  RowBlocks codes;
  AdjacencyLists links;
  ScoreRows score_rows = best_score_rows();
};

struct GraphStorage {
  // Slots are wide enough for `rows_max` rows.
  GraphStorage(Encoding encoding, const GraphParams& params, std::size_t rows_max, bool full_precision)
      : graph(std::move(encoding), params, AdjacencyLists::slot_bytes_for(rows_max)),
        vectors(graph.encoding.projection.dim, full_precision) {}

  Graph graph;
  RowVersions versions;
  VectorRows vectors;
  // Holds codes, links and vectors of `file_rows` rows; no row can be added then. Null: everything is in memory.
  std::shared_ptr<const MappedFile> file;
  std::size_t file_rows = 0;

  [[nodiscard]] std::size_t rows_max() const noexcept;
  // Makes room for `rows` rows in total. Throws Allocation.
  void reserve(std::size_t rows);
  // Bytes of a row in memory and in the mapped file.
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  [[nodiscard]] std::size_t mapped_bytes() const noexcept;
  // Writes the row's vector to `target`, dim floats.
  void read_vector(Slot slot, float* target) const;
};

}  // namespace vectis::inline v0_1::graph
