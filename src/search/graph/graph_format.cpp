#include "search/graph/graph_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "search/exact/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/summed.hpp"
#include "search/graph/graph_index.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using exact::damaged;
using exact::SummingReader;
using exact::SummingWriter;

constexpr std::uint32_t version = 1;
constexpr std::uint64_t feature_codes_only = 1;  // originals were dropped
constexpr std::size_t rows_of_block = 4096;
constexpr std::size_t points_max = 64;
constexpr std::size_t entries_most = 4096;

void put_numbers(ByteWriter& out, std::span<const float> numbers) { out.write(std::as_bytes(numbers)); }

void write_header(ByteWriter& writer, Distance distance, std::size_t dim, const GraphShape& shape,
                  const Contents& contents) {
  writer.write(std::as_bytes(std::span(graph_mark)));
  writer.put(version);
  SummingWriter out(writer);
  const bool codes_only = contents.body && !contents.body->keeps_originals;
  out.put(codes_only ? feature_codes_only : std::uint64_t{0});
  out.put(std::uint64_t{0});  // what a writer must know: nothing yet
  out.put(static_cast<std::uint8_t>(distance));
  out.put(static_cast<std::uint32_t>(dim));
  out.put(static_cast<std::uint32_t>(shape.degree));
  out.put(static_cast<std::uint32_t>(shape.kept));
  out.put(static_cast<std::uint32_t>(shape.build_width));
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
  out.put(static_cast<std::uint32_t>(contents.entries.size()));
  for (const Slot entry : contents.entries) out.put(entry);
  out.put(contents.calibration.vectors);
  out.put(static_cast<std::uint32_t>(contents.calibration.points.size()));
  for (const CalibrationPoint& point : contents.calibration.points) {
    out.put(point.width);
    out.put(point.recall);
  }
  out.close();
}

void write_block(ByteWriter& writer, const Body& body, std::size_t first, std::size_t rows) {
  SummingWriter out(writer);
  std::vector<Slot> list(body.graph.links.degree());
  for (std::size_t row = first; row < first + rows; ++row) {
    const auto slot = static_cast<Slot>(row);
    out.put(body.heads.id(slot));
    out.write({body.graph.codes[slot], body.graph.frame.code_bytes + sizeof(RowTerms)});
    const std::size_t links = body.graph.links.read(slot, list.data());
    out.put(static_cast<std::uint16_t>(links));
    out.write(std::as_bytes(std::span(list).first(links)));
    if (body.keeps_originals) out.write({body.originals[slot], body.originals.row_bytes()});
  }
  out.close();
}

struct Header {
  Distance distance = Distance::euclidean;
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
  header.distance = static_cast<Distance>(distance);
  if (!std::ranges::count(all_distances(), header.distance)) damaged(fmt::format("there is no distance {}", distance));
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
  for (std::uint32_t i = 0; i < points; ++i) {
    CalibrationPoint point;
    point.width = in.get<std::uint32_t>();
    point.recall = in.get<float>();
    const bool grows =
        i == 0 || (point.width > calibration.points.back().width && point.recall > calibration.points.back().recall);
    if (!grows || point.width == 0 || point.width > 1'000'000 || !(point.recall >= 0 && point.recall <= 1)) {
      damaged("points of recall that do not grow");
    }
    calibration.points.push_back(point);
  }
}

Contents read_frame(ByteReader& reader, const Header& header) {
  SummingReader in(reader);
  Frame frame = empty_frame(header.distance, header.dim);
  frame.exponent = in.get<std::int32_t>();
  frame.norm = in.get<float>();
  if (std::abs(frame.exponent) > 200 || !std::isfinite(frame.norm)) damaged("a frame no vectors have");
  frame.centre = in.read_numbers<float>(frame.coded_dim);
  if (!std::ranges::all_of(frame.centre, [](float x) { return std::isfinite(x); })) damaged("a centre without place");
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
  contents.body = std::make_shared<Body>(std::move(frame), header.shape, !header.codes_only);
  contents.highest_id = header.highest_id;
  return contents;
}

void read_row(SummingReader& in, const Header& header, Body& body, Slot slot, std::unordered_set<std::uint64_t>& ids) {
  const auto id = in.get<std::uint64_t>();
  if (id > header.highest_id.value_or(0) || !ids.insert(id).second) damaged(fmt::format("id {} is out of place", id));
  body.heads.born(slot, id, 0);
  in.read({body.graph.codes[slot], body.graph.frame.code_bytes + sizeof(RowTerms)});
  const RowTerms terms = terms_of(body.graph.frame, body.graph.codes[slot]);
  if (!std::isfinite(terms.step) || !std::isfinite(terms.low) || !std::isfinite(terms.square)) {
    damaged("a row that is no number");
  }
  const auto links = in.get<std::uint16_t>();
  if (links > header.shape.degree) damaged(fmt::format("{} links of a row", links));
  const std::vector<Slot> list = in.read_numbers<Slot>(links);
  for (const Slot link : list) {
    if (link >= header.rows || link == slot) damaged(fmt::format("a link to row {} of {}", link, header.rows));
  }
  body.graph.links.write(slot, list);
  if (!body.keeps_originals) return;
  auto* const original = reinterpret_cast<float*>(body.originals[slot]);
  in.read(std::as_writable_bytes(std::span(original, header.dim)));
  if (!std::all_of(original, original + header.dim, [](float x) { return std::isfinite(x); })) {
    damaged("a vector that is not finite");
  }
}

}  // namespace

void save_graph(ByteWriter& writer, Distance distance, std::size_t dim, const GraphShape& shape,
                const Contents& contents) {
  write_header(writer, distance, dim, shape, contents);
  if (!contents.body) return;
  write_frame(writer, contents);
  for (std::size_t first = 0; first < contents.rows; first += rows_of_block) {
    write_block(writer, *contents.body, first, std::min(rows_of_block, contents.rows - first));
  }
}

std::unique_ptr<Corpus> load_graph(ByteReader& reader, Executor& executor) {
  const Header header = read_header(reader);
  if (!header.has_body) {
    return std::make_unique<Corpus>(executor, header.distance, header.dim, header.shape);
  }
  Contents contents = read_frame(reader, header);
  std::unordered_set<std::uint64_t> ids;
  while (contents.rows < header.rows) {
    const std::size_t rows = std::min<std::size_t>(rows_of_block, header.rows - contents.rows);
    contents.body->reserve(contents.rows + rows);
    SummingReader in(reader);
    for (std::size_t i = 0; i < rows; ++i) {
      read_row(in, header, *contents.body, static_cast<Slot>(contents.rows + i), ids);
    }
    in.close("block of rows");
    contents.rows += rows;
  }
  return std::make_unique<Corpus>(executor, header.shape, std::move(contents));
}

}  // namespace vectis::inline v0_1::graph
