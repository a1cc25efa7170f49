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
#include <vector>

#include "search/graph/quantizer.hpp"
#include "search/graph/row_blocks.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

// The adjacency lists of a graph: at most degree() slots per row, each in slot_bytes() bytes. Slots are not checked:
// every call needs a slot for which reserve() or point_at() provided memory.
//
// One thread at a time writes a list while others read it. Each list is a seqlock: its first word holds a write
// counter, odd while a write is under way, and the length; the slots follow. Readers retry until the counter is even
// and unchanged, so they get the list before or after a write, never a mixture.
class AdjacencyLists {
 public:
  static constexpr Slot no_link = 0xFFFF'FFFF;
  static constexpr std::size_t degree_max = 255;

  // Makes lists without rows. Preconditions, not checked: degree <= degree_max, and slot_bytes is 2, 3 or 4.
  AdjacencyLists(std::size_t degree, std::size_t slot_bytes)
      : degree_(degree),
        slot_bytes_(slot_bytes),
        mask_(static_cast<Slot>((std::uint64_t{1} << (8 * slot_bytes)) - 1)),
        rows_(words_for(degree) * sizeof(Word)) {}

  // Returns the smallest slot width, 2 to 4 bytes, that addresses `rows` rows; `rows` must be at most slots_max.
  [[nodiscard]] static std::size_t slot_bytes_for(std::size_t rows) noexcept {
    return rows <= 1U << 16U ? 2 : rows <= 1U << 24U ? 3 : 4;
  }

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  // Makes room for `rows` lists in total; new lists are empty. Throws Allocation when memory is exhausted.
  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // Uses `rows` lists at `first`, in the form that encode() writes, instead of own memory. The memory must outlive
  // this object, which must be empty and must not grow afterwards; not checked. Does not throw.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  // Uses the lists of `other`, of the same degree and width; see RowBlocks. Throws std::bad_alloc.
  void share(const AdjacencyLists& other) { rows_.share(other.rows_); }
  [[nodiscard]] const void* address(Slot slot) const noexcept { return rows_[slot]; }

  // Copies the list of a row to `target`, which must have room for degree() slots, and returns the length. Retries
  // while another thread writes the list. Does not throw.
  std::size_t read(Slot slot, Slot* target) const noexcept {
    Word copy[words_max + 1];
    copy_list(words_of(slot), copy);
    return unpack(copy, target);
  }

  // Replaces the list of a row by `links`. Preconditions, not checked: at most degree() slots, and no other thread
  // writes this list; others may read it. Does not throw.
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

  // Serializes `links`, at most degree() slots (not checked), to row_bytes() bytes: write counter 0, zeros after the
  // last slot. Does not throw.
  void encode(std::span<const Slot> links, std::byte* bytes) const noexcept {
    Word copy[words_max + 1] = {};
    pack(links, copy);
    std::memcpy(bytes, copy, row_bytes());
  }
  // Reads a serialized list of row_bytes() untrusted bytes and returns the stored length. Writes the slots to
  // `target`, which must have room for degree_max, only if the length is at most degree(): a larger length means
  // corrupt bytes. Does not check the slots; does not throw.
  std::size_t decode(const std::byte* bytes, Slot* target) const noexcept {
    Word copy[words_max + 1] = {};
    std::memcpy(copy, bytes, row_bytes());
    return count_of(copy) > degree_ ? count_of(copy) : unpack(copy, target);
  }
  // Returns whether the write counter of a serialized list is 0, as encode() writes it. Reads 4 bytes; does not
  // throw.
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

  // Copies a list that no write changed meanwhile to `copy`, which needs words_max words; retries until that
  // succeeds. Acquire loads keep the second read of the counter behind the reads of the slots. Does not throw.
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

// The id of each row and the range of epochs in which the row is visible. Removed rows stay as tombstones: searches
// traverse them and leave them out of results. One thread writes while searches read. Slots are not checked: every
// call needs a slot for which reserve() made room.
class RowVersions {
 public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  // The id of a row, and the epochs from which it is visible and deleted.
  struct Version {
    std::uint64_t id = 0;
    std::uint64_t created_at = 0;
    std::uint64_t deleted_at = 0;
  };

  // Makes room for `rows` rows in total. Throws Allocation when memory is exhausted.
  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // Uses the versions of `other`; see RowBlocks. Throws std::bad_alloc.
  void share(const RowVersions& other) { rows_.share(other.rows_); }
  // Gives the row the id and makes it visible from `epoch` on. Call it before the row is linked, for a slot that no
  // search can reach. Readers may concurrently test the visibility of the slot's previous occupant. Does not throw.
  void create(Slot slot, std::uint64_t id, std::uint64_t epoch) const noexcept {
    std::atomic_ref(version(slot)->id).store(id, std::memory_order_relaxed);
    std::atomic_ref(version(slot)->created_at).store(epoch, std::memory_order_relaxed);
    std::atomic_ref(version(slot)->deleted_at).store(never, std::memory_order_release);
  }
  // Makes the row a tombstone for searches that begin at `epoch` or later; epoch 0 hides it from all. One thread at a
  // time. Does not throw.
  void remove(Slot slot, std::uint64_t epoch) const noexcept {
    std::atomic_ref(version(slot)->deleted_at).store(epoch, std::memory_order_relaxed);
  }
  // Returns the id of the row, which is meaningful for a row that is visible in an epoch that the caller holds.
  [[nodiscard]] std::uint64_t id(Slot slot) const noexcept {
    return std::atomic_ref(version(slot)->id).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t deleted_at(Slot slot) const noexcept {
    return std::atomic_ref(version(slot)->deleted_at).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t created_at(Slot slot) const noexcept {
    return std::atomic_ref(version(slot)->created_at).load(std::memory_order_relaxed);
  }
  // Returns whether a search that began at `epoch` sees the row. Does not throw. Reads deleted_at first: a reader
  // that sees the value of a new occupant also sees its created_at, which is later than every epoch in which the
  // previous occupant was reachable.
  [[nodiscard]] bool visible(Slot slot, std::uint64_t epoch) const noexcept {
    if (std::atomic_ref(version(slot)->deleted_at).load(std::memory_order_acquire) <= epoch) return false;
    return std::atomic_ref(version(slot)->created_at).load(std::memory_order_relaxed) <= epoch;
  }
  // Returns those of the first `rows` slots whose rows a search that began at `epoch` sees, ascending. Throws
  // std::bad_alloc.
  [[nodiscard]] std::vector<Slot> visible_rows(std::size_t rows, std::uint64_t epoch) const;

 private:
  [[nodiscard]] Version* version(Slot slot) const noexcept { return reinterpret_cast<Version*>(rows_[slot]); }
  RowBlocks rows_{sizeof(Version)};
};

// The vectors that the user added: as floats, or as one byte per element with a scale and minimum per vector. Any
// number of threads may read rows that were published to them. Slots are not checked: every call needs a slot for
// which reserve() or point_at() provided memory.
class VectorRows {
 public:
  // Makes an array without rows for vectors of `dim` floats, stored as floats when `full_precision`, else as bytes.
  VectorRows(std::size_t dim, bool full_precision);

  [[nodiscard]] bool full_precision() const noexcept { return full_precision_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  // Makes room for `rows` vectors in total. Throws Allocation when memory is exhausted.
  void reserve(std::size_t rows) { rows_.reserve(rows); }
  // Uses `rows` stored vectors at `first` instead of own memory. The memory must outlive this object, which must be
  // empty and must not grow afterwards; not checked. Does not throw.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  // Uses the vectors of `other`, stored in the same way; see RowBlocks. Throws std::bad_alloc.
  void share(const VectorRows& other) { rows_.share(other.rows_); }
  void prefetch(Slot slot) const noexcept { __builtin_prefetch(rows_[slot]); }

  // Stores dim finite floats as the vector of a row, rounded to bytes without full precision. No other thread may
  // read the row meanwhile. Does not throw.
  void write(Slot slot, const float* vector) const noexcept;
  // Returns the dim floats of a row: in place at full precision, else decoded into `scratch`, which must have room
  // for dim floats and may be null at full precision. Decoded floats are finite. Does not throw.
  [[nodiscard]] const float* read(Slot slot, float* scratch) const noexcept;
  // Returns the stored bytes of a row, row_bytes() of them: floats, or a header and one byte per element. Does not
  // throw.
  [[nodiscard]] std::span<std::byte> bytes(Slot slot) const noexcept { return {rows_[slot], rows_.row_bytes()}; }
  // Returns whether a stored row at `row`, row_bytes() untrusted bytes, has only finite floats: all elements, or
  // minimum and scale without full precision. `row` must be 4-byte aligned, not checked. Does not throw.
  [[nodiscard]] bool finite(const std::byte* row) const noexcept;

 private:
  std::size_t dim_;
  bool full_precision_;
  RowBlocks rows_;
};

// The parameters with which a graph is built; validate_graph checks their ranges. In HNSW and DiskANN degree is
// called M or R, and ef_construction L.
struct GraphParams {
  std::size_t degree = 30;            // maximum links per row
  std::size_t pruned_degree = 26;     // links left after a full list is pruned
  std::size_t ef_construction = 160;  // beam width of the searches for a new row's neighbors
  float construction_epsilon = 1.1F;  // BeamParams::epsilon of those searches
  float alpha = 1.05F;                // RobustPrune drops a neighbor alpha times nearer to a chosen one than to the row
  std::uint64_t seed = 1;             // of the order in which rows are linked
};

// The part of a graph index that a search traverses: codes and links. One thread changes it while searches read.
struct Graph {
  // Makes a graph without rows; `slot_bytes`, 2 to 4, is the width of a link. Does not check the parameters.
  Graph(Encoding made_encoding, const GraphParams& made_params, std::size_t slot_bytes)
      : encoding(std::move(made_encoding)),
        params(made_params),
        codes(encoding.quantizer.row_bytes),
        links(made_params.degree, slot_bytes) {}

  Encoding encoding;
  GraphParams params;
  RowBlocks codes;
  AdjacencyLists links;
  ScoreRows score_rows = best_score_rows(encoding.quantizer);
};

// All arrays of a graph index, one element per row: codes, links, versions and vectors. One thread changes it while
// searches read.
struct GraphStorage {
  // Makes a storage without rows whose links are wide enough for `rows_max` rows; stores vectors as floats when
  // `full_precision`, else as bytes. Does not check the parameters.
  GraphStorage(Encoding encoding, const GraphParams& params, std::size_t rows_max, bool full_precision)
      : graph(std::move(encoding), params, AdjacencyLists::slot_bytes_for(rows_max)),
        vectors(graph.encoding.projection.dim, full_precision) {}

  Graph graph;
  RowVersions versions;
  VectorRows vectors;
  // The mapped file that holds codes, links and vectors of `file_rows` rows; null when everything is in memory. Others
  // may read the same mapping, so nothing is written to it: to consolidate, GraphStore copies the links into memory
  // first, and to add rows everything.
  std::shared_ptr<const MappedFile> file;
  std::size_t file_rows = 0;
  bool links_in_memory = false;  // although there is a file

  // Returns the largest number of rows that the storage can hold: file_rows with a mapped file, else what links can
  // address. Does not throw.
  [[nodiscard]] std::size_t rows_max() const noexcept;
  // Makes room for `rows` rows in total. `rows` must be at most rows_max(), not checked. Throws Allocation when
  // memory is exhausted; then existing rows are unchanged.
  void reserve(std::size_t rows);
  // Uses links, versions and vectors of `other`, which are stored in the same way; see RowBlocks::share. Throws
  // std::bad_alloc.
  void share_rows(const GraphStorage& other) {
    graph.links.share(other.graph.links);
    versions.share(other.versions);
    vectors.share(other.vectors);
  }
  // Makes a storage of the same rows with links and versions of its own, which uses codes and vectors of the same file.
  // There must be a file, not checked. Throws Allocation or std::bad_alloc when memory is exhausted.
  [[nodiscard]] std::shared_ptr<GraphStorage> with_links_in_memory(Executor& executor) const;
  // Returns the bytes of memory that a row uses, without those in a mapped file. Does not throw.
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  // Returns the bytes of the mapped file that a row uses; 0 when everything is in memory. Does not throw.
  [[nodiscard]] std::size_t mapped_bytes() const noexcept;
  // Writes the dim floats of the row's vector, as stored, to `target`. Precondition, not checked: the row was
  // written. Does not throw.
  void read_vector(Slot slot, float* target) const;
};

}  // namespace vectis::inline v0_1::graph
