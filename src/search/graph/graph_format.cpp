#include "search/graph/graph_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "search/exact/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/summed.hpp"
#include "search/graph/graph_index.hpp"
#include "search/graph/graph_sections.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using exact::damaged;
using exact::SummingReader;
using exact::SummingWriter;

constexpr std::uint32_t version = 1;
constexpr std::uint64_t feature_codes_only = 1;  // vectors are kept as bytes
constexpr std::size_t rows_of_block = 4096;
constexpr std::size_t points_max = 64;
constexpr std::size_t entries_most = 4096;

// Streams that know how many bytes have passed.
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
  CountingReader(ByteReader& reader, std::size_t before) : reader_(reader), count_(before) {}
  void read(std::span<std::byte> target) override {
    reader_.read(target);
    count_ += target.size();
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  ByteReader& reader_;
  std::size_t count_ = 0;
};

void put_numbers(ByteWriter& out, std::span<const float> numbers) { out.write(std::as_bytes(numbers)); }

void write_header(ByteWriter& writer, Metric distance, std::size_t dim, const GraphShape& shape,
                  const Contents& contents) {
  writer.write(std::as_bytes(std::span(graph_mark)));
  writer.put(version);
  SummingWriter out(writer);
  const bool codes_only = contents.body && !contents.body->vectors.whole();
  out.put(codes_only ? feature_codes_only : std::uint64_t{0});
  out.put(std::uint64_t{0});  // what a writer must know: nothing yet
  out.put(static_cast<std::uint8_t>(distance));
  out.put(static_cast<std::uint32_t>(dim));
  out.put(static_cast<std::uint32_t>(shape.degree));
  out.put(static_cast<std::uint32_t>(shape.kept));
  out.put(static_cast<std::uint32_t>(shape.build_width));
  out.put(shape.build_slack);
  out.put(shape.reach);
  out.put(shape.seed);
  out.put(static_cast<std::uint8_t>(contents.highest_id.has_value()));
  out.put(contents.highest_id.value_or(0));
  out.put(std::uint64_t{contents.rows});
  out.put(static_cast<std::uint8_t>(contents.body != nullptr));
  out.close();
}

void write_frame(ByteWriter& writer, const Contents& contents) {
  SummingWriter out(writer);
  const Frame& frame = contents.body->graph.frame;
  out.put(static_cast<std::int32_t>(frame.exponent));
  out.put(frame.norm);
  put_numbers(out, frame.centre);
  out.put(static_cast<std::uint64_t>(frame.sampled));
  out.put(frame.far_error);
  out.put(static_cast<std::uint32_t>(frame.coded_dim));
  out.put(static_cast<std::uint8_t>(frame.bits));
  out.put(static_cast<std::uint8_t>(!frame.directions.empty()));
  put_numbers(out, frame.directions);
  out.put(static_cast<std::uint32_t>(contents.entries.size()));
  for (const Slot entry : contents.entries) out.put(entry);
  out.put(contents.calibration.vectors);
  out.put(static_cast<std::uint32_t>(contents.calibration.points.size()));
  for (const CalibrationPoint& point : contents.calibration.points) {
    out.put(point.slack);
    out.put(point.recall);
    out.put(point.scored);
  }
  out.close();
}

// From so many bytes after the beginning to the next section.
std::size_t gap_after(std::size_t bytes) { return (line_bytes - bytes % line_bytes) % line_bytes; }

void write_padding(CountingWriter& out) {
  constexpr std::array<std::byte, line_bytes> zeros{};
  out.write(std::span(zeros).first(gap_after(out.count())));
}

void write_section(CountingWriter& out, const Section& section, std::size_t rows, std::vector<std::uint64_t>& sums) {
  write_padding(out);
  std::vector<std::byte> block;
  const std::size_t row_bytes = section.row_bytes();
  for (std::size_t first = 0; first < rows; first += rows_of_block) {
    const std::size_t count = std::min(rows_of_block, rows - first);
    block.assign(count * row_bytes, std::byte{0});
    for (std::size_t i = 0; i < count; ++i) section.put(static_cast<Slot>(first + i), block.data() + i * row_bytes);
    out.write(block);
    sums.push_back(checksum(block));
  }
}

struct Header {
  Metric distance = Metric::l2;
  std::size_t dim = 0;
  GraphShape shape;
  std::optional<std::uint64_t> highest_id;
  std::uint64_t rows = 0;
  bool has_body = false;
  bool codes_only = false;
};

Header read_header(ByteReader& reader) {
  exact::refuse_version(reader.get<std::uint32_t>(), version);
  SummingReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  Header header;
  const auto distance = in.get<std::uint8_t>();
  header.dim = in.get<std::uint32_t>();
  header.shape.degree = in.get<std::uint32_t>();
  header.shape.kept = in.get<std::uint32_t>();
  header.shape.build_width = in.get<std::uint32_t>();
  header.shape.build_slack = in.get<float>();
  header.shape.reach = in.get<float>();
  header.shape.seed = in.get<std::uint64_t>();
  const auto used = in.get<std::uint8_t>();
  header.highest_id = in.get<std::uint64_t>();
  header.rows = in.get<std::uint64_t>();
  const auto has_body = in.get<std::uint8_t>();
  in.close("header");
  exact::refuse_features("reader", reader_features, feature_codes_only);
  exact::refuse_features("writer", writer_features, 0);
  header.codes_only = reader_features != 0;
  header.distance = static_cast<Metric>(distance);
  if (!std::ranges::count(all_metrics(), header.distance)) damaged(fmt::format("there is no distance {}", distance));
  if (header.dim < 1 || header.dim > exact::dim_max) damaged(fmt::format("a dimension of {}", header.dim));
  try {
    check_graph(exact::loading, header.distance, header.shape);
  } catch (const Error&) {
    damaged("a shape no graph has");
  }
  if (used > 1 || has_body > 1 || (has_body == 0 && header.rows != 0) || (used == 0 && header.rows != 0)) {
    damaged("rows without what belongs to them");
  }
  if (header.rows > slots_max) damaged(fmt::format("{} rows", header.rows));
  if (used == 0) header.highest_id.reset();
  header.has_body = has_body == 1;
  return header;
}

void read_calibration(SummingReader& in, Calibration& calibration) {
  calibration.vectors = in.get<std::uint64_t>();
  const auto points = in.get<std::uint32_t>();
  if (points > points_max) damaged(fmt::format("{} points of recall", points));
  CalibrationPoint before{.slack = 0, .recall = -1, .scored = -1};
  for (std::uint32_t i = 0; i < points; ++i) {
    CalibrationPoint point;
    point.slack = in.get<float>();
    point.recall = in.get<float>();
    point.scored = in.get<float>();
    const bool grows = point.slack > before.slack && point.recall > before.recall && point.scored > before.scored;
    if (!grows || !(point.slack > 0 && point.slack < 100) || !(point.recall <= 1) || !std::isfinite(point.scored)) {
      damaged("points of recall that do not grow");
    }
    calibration.points.push_back(point);
    before = point;
  }
}

bool all_finite(const std::vector<float>& numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

Frame read_codes(SummingReader& in, const Header& header) {
  Frame frame = empty_frame(header.distance, header.dim);
  frame.exponent = in.get<std::int32_t>();
  frame.norm = in.get<float>();
  // Not std::abs: the absolute value of INT_MIN does not exist.
  if (frame.exponent < -200 || frame.exponent > 200 || !std::isfinite(frame.norm)) damaged("a scale no vectors have");
  frame.centre = in.read_numbers<float>(frame.full_dim);
  frame.sampled = in.get<std::uint64_t>();
  frame.far_error = in.get<float>();
  if (!(frame.far_error >= 0 && frame.far_error <= 1)) damaged("codes that say nothing");
  const auto coded_dim = in.get<std::uint32_t>();
  const auto bits = in.get<std::uint8_t>();
  const auto directed = in.get<std::uint8_t>();
  const bool whole = directed == 0 && coded_dim == frame.full_dim && bits == 8;
  const bool part = directed == 1 && coded_dim > 0 && coded_dim <= frame.full_dim && (bits == 4 || bits == 8);
  if (!whole && !part) damaged(fmt::format("{} coordinates of {} bits", coded_dim, bits));
  set_codes(frame, coded_dim, bits);
  if (part) frame.directions = in.read_numbers<float>(frame.full_dim * frame.directions_length());
  if (!all_finite(frame.centre) || !all_finite(frame.directions)) damaged("a frame without place");
  return frame;
}

Contents read_frame(ByteReader& reader, const Header& header) {
  SummingReader in(reader);
  Frame frame = read_codes(in, header);
  Contents contents;
  const auto entries = in.get<std::uint32_t>();
  if (entries > entries_most) damaged(fmt::format("{} entries", entries));
  contents.entries = in.read_numbers<Slot>(entries);
  for (const Slot entry : contents.entries) {
    if (entry >= header.rows) damaged(fmt::format("an entry {} of {} rows", entry, header.rows));
  }
  if (contents.entries.empty() != (header.rows == 0)) damaged("rows without an entry");
  read_calibration(in, contents.calibration);
  in.close("frame");
  contents.body = std::make_shared<Body>(std::move(frame), header.shape, header.rows, !header.codes_only);
  contents.highest_id = header.highest_id;
  return contents;
}

void refuse_gap(std::span<const std::byte> gap) {
  if (!std::ranges::all_of(gap, [](std::byte byte) { return byte == std::byte{0}; })) damaged("bytes in a gap");
}

void read_padding(CountingReader& in) {
  std::array<std::byte, line_bytes> zeros{};
  const auto some = std::span(zeros).first(gap_after(in.count()));
  in.read(some);
  refuse_gap(some);
}

using RowStep = void (Section::*)(Slot slot, const std::byte* row) const;

// Section::check or Section::take, for each row of a block.
void for_rows(const Section& section, RowStep step, std::size_t first, std::span<const std::byte> block) {
  const std::size_t row_bytes = section.row_bytes();
  for (std::size_t i = 0; i * row_bytes < block.size(); ++i) {
    (section.*step)(static_cast<Slot>(first + i), block.data() + i * row_bytes);
  }
}

// Memory for rows grows as they come.
void read_section(CountingReader& in, const Section& section, Body& body, std::size_t rows,
                  std::vector<std::uint64_t>& sums) {
  read_padding(in);
  std::vector<std::byte> block;
  for (std::size_t first = 0; first < rows; first += rows_of_block) {
    const std::size_t count = std::min(rows_of_block, rows - first);
    block.resize(count * section.row_bytes());
    in.read(block);
    sums.push_back(checksum(block));
    for_rows(section, &Section::check, first, block);
    body.reserve(first + count);
    for_rows(section, &Section::take, first, block);
  }
}

void refuse_sums(std::span<const std::uint64_t> found, ByteReader& in) {
  for (const std::uint64_t sum : found) {
    if (in.get<std::uint64_t>() != sum) damaged("the checksum of a block of rows is wrong");
  }
}

// The rest of a file, taken piece by piece from its front. CorruptData when it is too short.
class MappedRest {
 public:
  MappedRest(std::span<std::byte> bytes, std::size_t before) : bytes_(bytes), before_(before) {}

  std::span<std::byte> take(std::size_t count) {
    if (count > bytes_.size() - before_) {
      damaged(fmt::format("{} bytes too few", count - (bytes_.size() - before_)));
    }
    before_ += count;
    return bytes_.subspan(before_ - count, count);
  }
  void skip_gap() { refuse_gap(take(gap_after(before_))); }

 private:
  std::span<std::byte> bytes_;
  std::size_t before_;
};

void check_mapped(const Section& section, std::span<const std::byte> bytes, std::vector<std::uint64_t>& sums) {
  const std::size_t block_bytes = rows_of_block * section.row_bytes();
  for (std::size_t begin = 0; begin < bytes.size(); begin += block_bytes) {
    const auto block = bytes.subspan(begin, std::min(block_bytes, bytes.size() - begin));
    sums.push_back(checksum(block));
    for_rows(section, &Section::check, begin / section.row_bytes(), block);
  }
}

void refuse_equal_ids(const Body& body, std::size_t rows) {
  std::unordered_set<std::uint64_t> ids;
  for (Slot slot = 0; slot < rows; ++slot) {
    if (!ids.insert(body.heads.id(slot)).second) damaged(fmt::format("id {} is there twice", body.heads.id(slot)));
  }
}

}  // namespace

void save_graph(ByteWriter& writer, Metric distance, std::size_t dim, const GraphShape& shape,
                const Contents& contents) {
  CountingWriter out(writer);
  write_header(out, distance, dim, shape, contents);
  if (!contents.body) return;
  write_frame(out, contents);
  std::vector<std::uint64_t> sums;
  for (const auto& section : sections_of(*contents.body, contents.rows, contents.highest_id.value_or(0))) {
    write_section(out, *section, contents.rows, sums);
  }
  write_padding(out);
  out.write(std::as_bytes(std::span(sums)));
}

std::unique_ptr<Corpus> load_graph(ByteReader& reader, Executor& executor) {
  CountingReader in(reader, graph_mark.size());
  const Header header = read_header(in);
  if (!header.has_body) {
    return std::make_unique<Corpus>(executor, header.distance, header.dim, header.shape);
  }
  Contents contents = read_frame(in, header);
  std::vector<std::uint64_t> sums;
  for (const auto& section : sections_of(*contents.body, header.rows, header.highest_id.value_or(0))) {
    read_section(in, *section, *contents.body, header.rows, sums);
  }
  read_padding(in);
  refuse_sums(sums, in);
  refuse_equal_ids(*contents.body, header.rows);
  contents.rows = header.rows;
  return std::make_unique<Corpus>(executor, header.shape, std::move(contents));
}

std::unique_ptr<Corpus> map_graph(std::shared_ptr<const MappedFile> file, bool verify, Executor& executor) {
  MemoryReader reader(file->bytes().subspan(graph_mark.size()));
  CountingReader in(reader, graph_mark.size());
  const Header header = read_header(in);
  if (!header.has_body) {
    return std::make_unique<Corpus>(executor, header.distance, header.dim, header.shape);
  }
  Contents contents = read_frame(in, header);
  Body& body = *contents.body;
  MappedRest rest(file->bytes(), in.count());
  std::vector<std::uint64_t> sums;
  for (const auto& section : sections_of(body, header.rows, header.highest_id.value_or(0))) {
    rest.skip_gap();
    const std::span<std::byte> bytes = rest.take(header.rows * section->row_bytes());
    if (verify) check_mapped(*section, bytes, sums);
    if (section->stays()) {
      section->point_at(bytes.data(), header.rows);
    } else {
      body.heads.reserve(header.rows);
      if (!verify) for_rows(*section, &Section::check, 0, bytes);
      for_rows(*section, &Section::take, 0, bytes);
    }
  }
  rest.skip_gap();
  MemoryReader ends(rest.take(sums.size() * sizeof(std::uint64_t)));
  refuse_sums(sums, ends);
  refuse_equal_ids(body, header.rows);
  body.file = std::move(file);
  body.file_rows = header.rows;
  contents.rows = header.rows;
  return std::make_unique<Corpus>(executor, header.shape, std::move(contents));
}

}  // namespace vectis::inline v0_1::graph
