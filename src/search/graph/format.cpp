#include "search/graph/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/checksummed_stream.hpp"
#include "search/common/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/graph/calibration_format.hpp"
#include "search/graph/graph_index.hpp"
#include "search/graph/id_table.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using detail::ChecksumReader;
using detail::ChecksumWriter;
using detail::throw_corrupt;

constexpr std::uint32_t format_version = 3;
constexpr std::uint64_t feature_codes_only = 1;  // vectors are stored as one byte per element
constexpr std::size_t rows_per_block = 4096;     // each with a checksum
constexpr std::size_t stored_entry_points_max = 4096;

// Streams that count bytes.
class CountingWriter final : public ByteWriter {
 public:
  explicit CountingWriter(ByteWriter& writer) : writer_(writer) {}
  void write(std::span<const std::byte> bytes) override {
    writer_.write(bytes);
    count_ += bytes.size();
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  ByteWriter& writer_;
  std::size_t count_ = 0;
};

class CountingReader final : public ByteReader {
 public:
  CountingReader(ByteReader& reader, std::size_t bytes_before) : reader_(reader), count_(bytes_before) {}
  void read(std::span<std::byte> target) override {
    reader_.read(target);
    count_ += target.size();
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  ByteReader& reader_;
  std::size_t count_ = 0;
};

// One column of a file: what is stored of every row, contiguous, so that it can be mapped. Refers to a storage that
// outlives it.
class Section {
 public:
  Section() = default;
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  virtual ~Section() = default;

  [[nodiscard]] virtual std::size_t row_bytes() const noexcept = 0;
  // Writes the row as files hold it.
  virtual void encode(Slot slot, std::byte* row) const = 0;
  // Throws CorruptData when the bytes cannot be this row.
  virtual void validate(Slot slot, const std::byte* row) const = 0;
  // Stores a validated row in memory.
  virtual void decode(Slot slot, const std::byte* row) const = 0;
  // Whether a mapped file is used in place, by point_at. Otherwise its rows are decoded.
  [[nodiscard]] virtual bool mappable() const noexcept = 0;
  virtual void point_at(std::byte* first, std::size_t rows) const = 0;
};

class IdSection final : public Section {
 public:
  IdSection(const RowVersions& versions, std::uint64_t highest_id) : versions_(versions), highest_id_(highest_id) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(std::uint64_t); }
  void encode(Slot slot, std::byte* row) const override {
    const std::uint64_t id = versions_.id(slot);
    std::memcpy(row, &id, sizeof id);
  }
  void validate(Slot /*slot*/, const std::byte* row) const override {
    if (id_of(row) > highest_id_)
      throw_corrupt(fmt::format("id {} is above the highest id {}", id_of(row), highest_id_));
  }
  void decode(Slot slot, const std::byte* row) const override { versions_.create(slot, id_of(row), 0); }
  // Memory holds created_at and deleted_at beside the id.
  [[nodiscard]] bool mappable() const noexcept override { return false; }
  void point_at(std::byte* /*first*/, std::size_t /*rows*/) const override {}

 private:
  static std::uint64_t id_of(const std::byte* row) {
    std::uint64_t id = 0;
    std::memcpy(&id, row, sizeof id);
    return id;
  }

  const RowVersions& versions_;
  std::uint64_t highest_id_;
};

class CodeSection final : public Section {
 public:
  CodeSection(RowBlocks& codes, const Quantizer& quantizer) : codes_(codes), quantizer_(quantizer) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return codes_.row_bytes(); }
  void encode(Slot slot, std::byte* row) const override { std::memcpy(row, codes_[slot], row_bytes()); }
  void validate(Slot slot, const std::byte* row) const override {
    const CodeHeader header = code_header(row);
    bool finite = std::isfinite(header.scale) && std::isfinite(header.min) && std::isfinite(header.squared_norm);
    for (std::size_t i = 0; i < quantizer_.dim && quantizer_.floats(); ++i) {
      float coordinate = 0;
      std::memcpy(&coordinate, row + code_header_bytes + i * sizeof coordinate, sizeof coordinate);
      finite = finite && std::isfinite(coordinate);
    }
    if (!finite) throw_corrupt(fmt::format("the codes of row {} are not finite", slot));
  }
  void decode(Slot slot, const std::byte* row) const override { std::memcpy(codes_[slot], row, row_bytes()); }
  [[nodiscard]] bool mappable() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { codes_.point_at(first, rows); }

 private:
  RowBlocks& codes_;
  const Quantizer& quantizer_;
};

class LinkSection final : public Section {
 public:
  LinkSection(AdjacencyLists& links, std::size_t rows) : links_(links), rows_(rows) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return links_.row_bytes(); }
  void encode(Slot slot, std::byte* row) const override {
    Slot list[AdjacencyLists::degree_max];
    links_.encode(std::span(list).first(links_.read(slot, list)), row);
  }
  void validate(Slot slot, const std::byte* row) const override {
    Slot list[AdjacencyLists::degree_max];
    const std::size_t count = links_.decode(row, list);
    if (count > links_.degree()) {
      throw_corrupt(fmt::format("row {} has {} links, the degree is {}", slot, count, links_.degree()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (list[i] >= rows_ || list[i] == slot) {
        throw_corrupt(fmt::format("row {} of {} links to row {}", slot, rows_, list[i]));
      }
    }
    if (!AdjacencyLists::has_zero_counter(row))
      throw_corrupt(fmt::format("the write counter of row {} is not 0", slot));
  }
  void decode(Slot slot, const std::byte* row) const override {
    Slot list[AdjacencyLists::degree_max];
    links_.write(slot, std::span(list).first(links_.decode(row, list)));
  }
  [[nodiscard]] bool mappable() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { links_.point_at(first, rows); }

 private:
  AdjacencyLists& links_;
  std::size_t rows_;
};

class VectorSection final : public Section {
 public:
  explicit VectorSection(VectorRows& vectors) : vectors_(vectors) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return vectors_.row_bytes(); }
  void encode(Slot slot, std::byte* row) const override { std::ranges::copy(vectors_.bytes(slot), row); }
  void validate(Slot slot, const std::byte* row) const override {
    if (!vectors_.finite(row)) throw_corrupt(fmt::format("the vector of row {} is not finite", slot));
  }
  void decode(Slot slot, const std::byte* row) const override {
    std::memcpy(vectors_.bytes(slot).data(), row, row_bytes());
  }
  [[nodiscard]] bool mappable() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { vectors_.point_at(first, rows); }

 private:
  VectorRows& vectors_;
};

// In the order of a file.
std::vector<std::unique_ptr<const Section>> sections_of(GraphStorage& storage, std::size_t rows,
                                                        std::optional<std::uint64_t> highest_id) {
  std::vector<std::unique_ptr<const Section>> sections;
  sections.push_back(std::make_unique<IdSection>(storage.versions, highest_id.value_or(0)));
  sections.push_back(std::make_unique<CodeSection>(storage.graph.codes, storage.graph.encoding.quantizer));
  sections.push_back(std::make_unique<LinkSection>(storage.graph.links, rows));
  sections.push_back(std::make_unique<VectorSection>(storage.vectors));
  return sections;
}

void write_header(ByteWriter& writer, const GraphStore& store, const GraphContents& contents) {
  writer.write(std::as_bytes(std::span(graph_magic)));
  writer.put(format_version);
  ChecksumWriter out(writer);
  const bool codes_only = contents.storage && !contents.storage->vectors.full_precision();
  out.put(codes_only ? feature_codes_only : std::uint64_t{0});
  out.put(std::uint64_t{0});  // features that a writer must support: none yet
  out.put(static_cast<std::uint8_t>(store.metric()));
  out.put(static_cast<std::uint32_t>(store.dim()));
  const GraphParams& params = store.params();
  out.put(static_cast<std::uint32_t>(params.degree));
  out.put(static_cast<std::uint32_t>(params.pruned_degree));
  out.put(static_cast<std::uint32_t>(params.ef_construction));
  out.put(params.construction_epsilon);
  out.put(params.alpha);
  out.put(params.seed);
  out.put(static_cast<std::uint8_t>(contents.highest_id.has_value()));
  out.put(contents.highest_id.value_or(0));
  out.put(std::uint64_t{contents.rows});
  out.put(static_cast<std::uint8_t>(contents.storage != nullptr));
  out.close();
}

void write_encoding(ByteWriter& writer, const GraphContents& contents) {
  ChecksumWriter out(writer);
  const auto& [projection, quantizer] = contents.storage->graph.encoding;
  out.put(static_cast<std::int32_t>(projection.exponent));
  out.put(projection.max_norm);
  out.write(std::as_bytes(std::span(projection.mean)));
  out.put(static_cast<std::uint64_t>(projection.trained_rows));
  out.put(static_cast<std::uint32_t>(projection.output_dim));
  out.put(static_cast<std::uint8_t>(quantizer.bits));
  out.put(static_cast<std::uint8_t>(!projection.basis.empty()));
  out.write(std::as_bytes(std::span(projection.basis)));
  out.put(static_cast<std::uint32_t>(contents.entry_points.size()));
  for (const Slot entry_point : contents.entry_points) out.put(entry_point);
  write_calibration(out, contents.calibration);
  out.put(contents.changed_since_calibration);
  out.close();
}

// Sections begin at multiples of a cache line.
std::size_t padding_after(std::size_t bytes) {
  return (cache_line_bytes - bytes % cache_line_bytes) % cache_line_bytes;
}

void write_padding(CountingWriter& out) {
  constexpr std::array<std::byte, cache_line_bytes> zeros{};
  out.write(std::span(zeros).first(padding_after(out.count())));
}

// Calls `after_block(rows)` after each block with the rows of the section that were written or read by then.
template <class AfterBlock>
void write_section(CountingWriter& out, const Section& section, std::size_t rows, std::vector<std::uint64_t>& checksums,
                   const AfterBlock& after_block) {
  write_padding(out);
  std::vector<std::byte> block;
  const std::size_t row_bytes = section.row_bytes();
  for (std::size_t first = 0; first < rows; first += rows_per_block) {
    const std::size_t count = std::min(rows_per_block, rows - first);
    block.assign(count * row_bytes, std::byte{0});
    for (std::size_t i = 0; i < count; ++i) section.encode(static_cast<Slot>(first + i), block.data() + i * row_bytes);
    out.write(block);
    checksums.push_back(checksum(block));
    after_block(first + count);
  }
}

struct Header {
  Metric metric = Metric::l2;
  std::size_t dim = 0;
  GraphParams params;
  std::optional<std::uint64_t> highest_id;
  std::uint64_t rows = 0;
  bool has_storage = false;
  bool codes_only = false;
};

void validate_header(const Header& header, std::uint8_t has_ids, std::uint8_t has_storage) {
  if (!std::ranges::count(all_metrics(), header.metric)) {
    throw_corrupt(fmt::format("metric {} does not exist", static_cast<int>(header.metric)));
  }
  if (header.dim < 1 || header.dim > detail::dim_max) throw_corrupt(fmt::format("the dimension is {}", header.dim));
  try {
    validate_graph(detail::load_index_op, header.metric, header.params);
  } catch (const Error&) {
    throw_corrupt("the graph parameters are out of range");
  }
  if (has_ids > 1 || has_storage > 1 || (has_storage == 0 && header.rows != 0) || (has_ids == 0 && header.rows != 0)) {
    throw_corrupt(fmt::format("{} rows without ids or storage", header.rows));
  }
  if (header.rows > slots_max) throw_corrupt(fmt::format("{} rows, the limit is {}", header.rows, slots_max));
}

Header read_header(ByteReader& reader) {
  detail::validate_version(reader.get<std::uint32_t>(), format_version);
  ChecksumReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  Header header;
  header.metric = static_cast<Metric>(in.get<std::uint8_t>());
  header.dim = in.get<std::uint32_t>();
  header.params.degree = in.get<std::uint32_t>();
  header.params.pruned_degree = in.get<std::uint32_t>();
  header.params.ef_construction = in.get<std::uint32_t>();
  header.params.construction_epsilon = in.get<float>();
  header.params.alpha = in.get<float>();
  header.params.seed = in.get<std::uint64_t>();
  const auto has_ids = in.get<std::uint8_t>();
  header.highest_id = in.get<std::uint64_t>();
  header.rows = in.get<std::uint64_t>();
  const auto has_storage = in.get<std::uint8_t>();
  in.close("header");
  detail::validate_features("reader", reader_features, feature_codes_only);
  detail::validate_features("writer", writer_features, 0);
  validate_header(header, has_ids, has_storage);
  header.codes_only = reader_features != 0;
  header.has_storage = has_storage == 1;
  if (has_ids == 0) header.highest_id.reset();
  return header;
}

// Norm, mean and basis of a trained projection are at most 1, up to rounding. Larger ones would give the codes of later
// rows infinite norms.
constexpr float projection_max = 2;

bool in_range(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float x) { return std::abs(x) <= projection_max; });
}

Encoding read_encoding(ChecksumReader& in, const Header& header) {
  Encoding encoding = make_encoding(header.metric, header.dim);
  Projection& projection = encoding.projection;
  projection.exponent = in.get<std::int32_t>();
  projection.max_norm = in.get<float>();
  // Not std::abs, which overflows for INT_MIN.
  if (projection.exponent < -200 || projection.exponent > 200 || !in_range({projection.max_norm})) {
    throw_corrupt(fmt::format("exponent {} or norm {} of the projection is out of range", projection.exponent,
                              projection.max_norm));
  }
  projection.mean = in.read_array<float>(projection.augmented_dim);
  projection.trained_rows = in.get<std::uint64_t>();
  const auto output_dim = in.get<std::uint32_t>();
  const auto bits = in.get<std::uint8_t>();
  const auto has_basis = in.get<std::uint8_t>();
  const bool unprojected = has_basis == 0 && output_dim == projection.augmented_dim && (bits == 8 || bits == 32);
  const bool projected =
      has_basis == 1 && output_dim > 0 && output_dim <= projection.augmented_dim && (bits == 4 || bits == 8);
  if (!unprojected && !projected) throw_corrupt(fmt::format("codes of {} coordinates with {} bits", output_dim, bits));
  encoding.set_code_size(output_dim, bits);
  if (projected) {
    projection.basis = in.read_array<float>(projection.augmented_dim * projection.basis_stride());
  }
  if (!in_range(projection.mean) || !in_range(projection.basis)) throw_corrupt("the projection is out of range");
  return encoding;
}

// Everything but the rows.
GraphContents read_contents(ByteReader& reader, const Header& header) {
  ChecksumReader in(reader);
  Encoding encoding = read_encoding(in, header);
  GraphContents contents;
  const auto entry_points = in.get<std::uint32_t>();
  if (entry_points > stored_entry_points_max) {
    throw_corrupt(fmt::format("{} entry points, the limit is {}", entry_points, stored_entry_points_max));
  }
  contents.entry_points = in.read_array<Slot>(entry_points);
  for (const Slot entry_point : contents.entry_points) {
    if (entry_point >= header.rows) throw_corrupt(fmt::format("entry point {} of {} rows", entry_point, header.rows));
  }
  if (contents.entry_points.empty() != (header.rows == 0)) {
    throw_corrupt(fmt::format("{} rows and {} entry points", header.rows, entry_points));
  }
  contents.calibration = read_calibration(in);
  contents.changed_since_calibration = in.get<std::uint64_t>();
  in.close("encoding");
  contents.storage =
      std::make_shared<GraphStorage>(std::move(encoding), header.params, header.rows, !header.codes_only);
  contents.highest_id = header.highest_id;
  return contents;
}

void validate_padding(std::span<const std::byte> padding) {
  if (!std::ranges::all_of(padding, [](std::byte byte) { return byte == std::byte{0}; })) {
    throw_corrupt("the padding between sections is not zero");
  }
}

void read_padding(CountingReader& in) {
  std::array<std::byte, cache_line_bytes> buffer{};
  const auto padding = std::span(buffer).first(padding_after(in.count()));
  in.read(padding);
  validate_padding(padding);
}

using RowFunction = void (Section::*)(Slot slot, const std::byte* row) const;

// Calls Section::validate or Section::decode for each row of a block.
void for_each_row(const Section& section, RowFunction function, std::size_t first, std::span<const std::byte> block) {
  const std::size_t row_bytes = section.row_bytes();
  for (std::size_t i = 0; i * row_bytes < block.size(); ++i) {
    (section.*function)(static_cast<Slot>(first + i), block.data() + i * row_bytes);
  }
}

// Reserves memory as blocks arrive, so that a header cannot claim rows that the file does not have.
template <class AfterBlock>
void read_section(CountingReader& in, const Section& section, GraphStorage& storage, std::size_t rows,
                  std::vector<std::uint64_t>& checksums, const AfterBlock& after_block) {
  read_padding(in);
  std::vector<std::byte> block;
  for (std::size_t first = 0; first < rows; first += rows_per_block) {
    const std::size_t count = std::min(rows_per_block, rows - first);
    block.resize(count * section.row_bytes());
    in.read(block);
    checksums.push_back(checksum(block));
    for_each_row(section, &Section::validate, first, block);
    storage.reserve(first + count);
    for_each_row(section, &Section::decode, first, block);
    after_block(first + count);
  }
}

void validate_checksums(std::span<const std::uint64_t> computed, ByteReader& in) {
  for (const std::uint64_t value : computed) {
    if (in.get<std::uint64_t>() != value) throw_corrupt("the checksum of a block of rows is wrong");
  }
}

// The unread part of a mapped file. take() throws CorruptData when the file is too short, validate_end() when bytes are
// left.
class MappedRest {
 public:
  MappedRest(std::span<std::byte> bytes, std::size_t bytes_before) : bytes_(bytes), position_(bytes_before) {}

  std::span<std::byte> take(std::size_t count) {
    if (count > bytes_.size() - position_) {
      throw_corrupt(fmt::format("the file is {} bytes too short", count - (bytes_.size() - position_)));
    }
    position_ += count;
    return bytes_.subspan(position_ - count, count);
  }
  void skip_padding() { validate_padding(take(padding_after(position_))); }
  void validate_end() const {
    if (position_ == bytes_.size()) return;
    throw_corrupt(fmt::format("the file is {} bytes too long", bytes_.size() - position_));
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t position_;
};

void validate_mapped(const Section& section, std::span<const std::byte> bytes, std::vector<std::uint64_t>& checksums) {
  const std::size_t block_bytes = rows_per_block * section.row_bytes();
  for (std::size_t begin = 0; begin < bytes.size(); begin += block_bytes) {
    const auto block = bytes.subspan(begin, std::min(block_bytes, bytes.size() - begin));
    checksums.push_back(checksum(block));
    for_each_row(section, &Section::validate, begin / section.row_bytes(), block);
  }
}

// Called after each block of a section: checks the context and reports rows of all sections.
class BlockProgress {
 public:
  BlockProgress(std::string_view op, std::size_t rows, std::size_t sections, Executor& executor, const Context& context)
      : op_(op), rows_(rows), sections_(sections), executor_(executor), context_(context) {}
  void operator()(std::size_t section, std::size_t section_rows) const {
    context_.check(op_, executor_);
    context_.report_progress(op_, (section * rows_ + section_rows) / sections_, rows_);
  }

 private:
  std::string_view op_;
  std::size_t rows_;
  std::size_t sections_;
  Executor& executor_;
  const Context& context_;
};

}  // namespace

void validate_unique_ids(const RowVersions& versions, std::size_t rows) {
  IdTable ids;
  ids.reserve(rows);
  for (Slot slot = 0; slot < rows; ++slot) {
    const std::uint64_t id = versions.id(slot);
    if (ids.find(id)) throw_corrupt(fmt::format("id {} occurs twice", id));
    ids.insert(id, slot);
  }
}

void save_graph(ByteWriter& writer, const GraphStore& store, const GraphContents& contents, Executor& executor,
                const Context& context) {
  CountingWriter out(writer);
  write_header(out, store, contents);
  if (!contents.storage) return;
  write_encoding(out, contents);
  std::vector<std::uint64_t> checksums;
  const auto sections = sections_of(*contents.storage, contents.rows, contents.highest_id);
  const BlockProgress progress("save", contents.rows, sections.size(), executor, context);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    write_section(out, *sections[i], contents.rows, checksums, [&](std::size_t rows) { progress(i, rows); });
  }
  write_padding(out);
  out.write(std::as_bytes(std::span(checksums)));
}

std::unique_ptr<GraphStore> load_graph(ByteReader& reader, Executor& executor, const Context& context) {
  CountingReader in(reader, graph_magic.size());
  const Header header = read_header(in);
  if (!header.has_storage) return std::make_unique<GraphStore>(executor, header.metric, header.dim, header.params);
  GraphContents contents = read_contents(in, header);
  std::vector<std::uint64_t> checksums;
  const auto sections = sections_of(*contents.storage, header.rows, header.highest_id);
  const BlockProgress progress(detail::load_index_op, header.rows, sections.size(), executor, context);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    read_section(in, *sections[i], *contents.storage, header.rows, checksums,
                 [&](std::size_t rows) { progress(i, rows); });
  }
  read_padding(in);
  validate_checksums(checksums, in);
  validate_unique_ids(contents.storage->versions, header.rows);
  contents.rows = header.rows;
  return std::make_unique<GraphStore>(executor, header.params, std::move(contents));
}

std::unique_ptr<GraphStore> map_graph(std::shared_ptr<const MappedFile> file, bool verify, Executor& executor) {
  MemoryReader reader(file->bytes().subspan(graph_magic.size()));
  CountingReader in(reader, graph_magic.size());
  const Header header = read_header(in);
  if (!header.has_storage) {
    MappedRest(file->bytes(), in.count()).validate_end();
    return std::make_unique<GraphStore>(executor, header.metric, header.dim, header.params);
  }
  GraphContents contents = read_contents(in, header);
  GraphStorage& storage = *contents.storage;
  MappedRest rest(file->bytes(), in.count());
  std::vector<std::uint64_t> checksums;  // computed; empty without `verify`
  std::size_t blocks = 0;
  for (const auto& section : sections_of(storage, header.rows, header.highest_id)) {
    rest.skip_padding();
    const std::span<std::byte> bytes = rest.take(header.rows * section->row_bytes());
    blocks += (header.rows + rows_per_block - 1) / rows_per_block;
    if (verify) validate_mapped(*section, bytes, checksums);
    if (section->mappable()) {
      section->point_at(bytes.data(), header.rows);
      continue;
    }
    storage.versions.reserve(header.rows);
    if (!verify) for_each_row(*section, &Section::validate, 0, bytes);
    for_each_row(*section, &Section::decode, 0, bytes);
  }
  rest.skip_padding();
  MemoryReader stored(rest.take(blocks * sizeof(std::uint64_t)));
  rest.validate_end();
  validate_checksums(checksums, stored);
  validate_unique_ids(storage.versions, header.rows);
  storage.file = std::move(file);
  storage.file_rows = header.rows;
  contents.rows = header.rows;
  return std::make_unique<GraphStore>(executor, header.params, std::move(contents));
}

}  // namespace vectis::inline v0_1::graph
