#include "search/graph/storage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t copy_grain = 256;  // rows per task
constexpr double byte_code_max = 255;
constexpr float float_max = std::numeric_limits<float>::max();

// A byte-coded vector begins with these; element i is min + scale * code[i].
struct ByteCodeHeader {
  float min = 0;
  float scale = 0;
};

// Padded so that headers are aligned.
constexpr std::size_t vector_row_bytes(std::size_t dim, bool full_precision) {
  if (full_precision) return dim * sizeof(float);
  return (sizeof(ByteCodeHeader) + dim + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

std::size_t bytes_per_row(const GraphStorage& storage) noexcept {
  return storage.graph.encoding.quantizer.row_bytes + storage.graph.links.row_bytes() + storage.vectors.row_bytes();
}

std::size_t file_bytes_per_row(const GraphStorage& storage) noexcept {
  if (!storage.file) return 0;
  return bytes_per_row(storage) - (storage.links_in_memory ? storage.graph.links.row_bytes() : 0);
}

}  // namespace

std::vector<Slot> RowVersions::visible_rows(std::size_t rows, std::uint64_t epoch) const {
  std::vector<Slot> found;
  for (Slot slot = 0; slot < rows; ++slot) {
    if (visible(slot, epoch)) found.push_back(slot);
  }
  return found;
}

VectorRows::VectorRows(std::size_t dim, bool full_precision)
    : dim_(dim), full_precision_(full_precision), rows_(vector_row_bytes(dim, full_precision)) {}

void VectorRows::write(Slot slot, const float* vector) const noexcept {
  std::byte* const row = rows_[slot];
  if (full_precision_) {
    std::memcpy(row, vector, dim_ * sizeof(float));
    return;
  }
  // In double precision: the difference of two floats may not be a float.
  const auto [min, max] = std::minmax_element(vector, vector + dim_);
  const ByteCodeHeader header{*min, static_cast<float>((double{*max} - double{*min}) / byte_code_max)};
  std::memcpy(row, &header, sizeof header);
  for (std::size_t i = 0; i < dim_; ++i) {
    const double above_min = double{vector[i]} - double{*min};
    const double code = header.scale > 0 ? std::nearbyint(above_min / double{header.scale}) : 0;
    row[sizeof header + i] = static_cast<std::byte>(std::clamp(code, 0.0, byte_code_max));
  }
}

const float* VectorRows::read(Slot slot, float* scratch) const noexcept {
  const std::byte* const row = rows_[slot];
  if (full_precision_) return reinterpret_cast<const float*>(row);
  ByteCodeHeader header;
  std::memcpy(&header, row, sizeof header);
  const auto code = [&](std::size_t i) { return std::to_integer<std::uint8_t>(row[sizeof header + i]); };
  if (std::abs(header.min) < float_max / 2 && std::abs(header.scale) < float_max / 512) {
    for (std::size_t i = 0; i < dim_; ++i) scratch[i] = header.min + header.scale * static_cast<float>(code(i));
    return scratch;
  }
  for (std::size_t i = 0; i < dim_; ++i) {
    const double value = double{header.min} + double{header.scale} * code(i);
    scratch[i] = static_cast<float>(std::clamp(value, -double{float_max}, double{float_max}));
  }
  return scratch;
}

bool VectorRows::finite(const std::byte* row) const noexcept {
  const auto* const floats = reinterpret_cast<const float*>(row);
  const std::size_t count = full_precision_ ? dim_ : sizeof(ByteCodeHeader) / sizeof(float);
  return std::all_of(floats, floats + count, [](float x) { return std::isfinite(x); });
}

std::size_t GraphStorage::rows_max() const noexcept {
  if (file) return file_rows;
  return std::min(slots_max, std::size_t{1} << (8 * graph.links.slot_bytes()));
}

void GraphStorage::reserve(std::size_t rows) {
  graph.codes.reserve(rows);
  graph.links.reserve(rows);
  versions.reserve(rows);
  vectors.reserve(rows);
}

std::shared_ptr<GraphStorage> GraphStorage::with_links_in_memory(Executor& executor) const {
  auto result = std::make_shared<GraphStorage>(graph.encoding, graph.params, file_rows, vectors.full_precision());
  GraphStorage& target = *result;
  target.graph.links.reserve(file_rows);
  target.versions.reserve(file_rows);
  executor.parallel_for(file_rows, copy_grain, [&](std::size_t begin, std::size_t end) {
    std::vector<Slot> list(graph.links.degree());
    for (std::size_t i = begin; i < end; ++i) {
      const auto slot = static_cast<Slot>(i);
      target.graph.links.write(slot, std::span(list).first(graph.links.read(slot, list.data())));
      target.versions.create(slot, versions.id(slot), 0);
      target.versions.remove(slot, versions.deleted_at(slot));
    }
  });
  if (file_rows > 0) {
    target.graph.codes.point_at(graph.codes[0], file_rows);
    target.vectors.point_at(vectors.bytes(0).data(), file_rows);
  }
  target.file = file;
  target.file_rows = file_rows;
  target.links_in_memory = true;
  return result;
}

std::size_t GraphStorage::row_bytes() const noexcept {
  return sizeof(RowVersions::Version) + bytes_per_row(*this) - file_bytes_per_row(*this);
}

std::size_t GraphStorage::mapped_bytes() const noexcept { return file_bytes_per_row(*this); }

void GraphStorage::read_vector(Slot slot, float* target) const {
  const float* const vector = vectors.read(slot, target);
  if (vector != target) std::copy_n(vector, graph.encoding.projection.dim, target);
}

}  // namespace vectis::inline v0_1::graph
