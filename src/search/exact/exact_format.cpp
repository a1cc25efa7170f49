#include "search/exact/exact_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "search/common/checks.hpp"
#include "search/common/checksummed_stream.hpp"
#include "search/exact/exact_blocks.hpp"
#include "search/exact/exact_index.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::uint32_t version = 1;
constexpr std::uint64_t feature_codes = 1;                               // a reader must know blocks of codes
constexpr std::array<std::string_view, 3> kinds{"flat", "gpu", "auto"};  // numbered from 1 on

struct Header {
  std::string_view kind;
  Metric metric = Metric::l2;
  Precision precision = Precision::fp32;
  std::size_t dim = 0;
  bool has_codes = false;
  std::uint64_t vectors = 0;
  std::optional<std::uint64_t> highest_id = std::nullopt;
};

void write_header(ByteWriter& writer, const Header& header) {
  writer.write(std::as_bytes(std::span(exact_magic)));
  writer.put(version);
  detail::ChecksumWriter out(writer);
  out.put(header.has_codes ? feature_codes : std::uint64_t{0});
  out.put(std::uint64_t{0});  // what a writer must know: nothing yet
  out.put(static_cast<std::uint8_t>(std::ranges::find(kinds, header.kind) - kinds.begin() + 1));
  out.put(static_cast<std::uint8_t>(header.metric));
  out.put(static_cast<std::uint8_t>(header.precision));
  out.put(header.highest_id.has_value());
  out.put(static_cast<std::uint32_t>(header.dim));
  out.put(header.highest_id.value_or(0));
  out.put(header.vectors);
  out.close();
}

Header read_header(ByteReader& reader) {
  detail::validate_version(reader.get<std::uint32_t>(), version);
  detail::ChecksumReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  const auto kind = in.get<std::uint8_t>();
  const auto metric = in.get<std::uint8_t>();
  const auto precision = in.get<std::uint8_t>();
  const auto used = in.get<std::uint8_t>();
  Header header;
  header.dim = in.get<std::uint32_t>();
  header.highest_id = in.get<std::uint64_t>();
  header.vectors = in.get<std::uint64_t>();
  in.close("header");
  detail::validate_features("reader", reader_features, feature_codes);
  detail::validate_features("writer", writer_features, 0);
  header.has_codes = (reader_features & feature_codes) != 0;
  header.metric = static_cast<Metric>(metric);
  header.precision = static_cast<Precision>(precision);

  if (kind < 1 || kind > kinds.size()) detail::throw_corrupt(fmt::format("there is no kind {}", kind));
  header.kind = kinds[kind - 1U];
  if (!std::ranges::count(all_metrics(), header.metric))
    detail::throw_corrupt(fmt::format("there is no distance {}", metric));
  if (precision < 1 || precision > 4 || !can_scan(header.metric, header.precision)) {
    detail::throw_corrupt(fmt::format("there is no precision {} for {} distance", precision, name(header.metric)));
  }
  if (header.dim < 1 || header.dim > detail::dim_max)
    detail::throw_corrupt(fmt::format("a dimension of {}", header.dim));
  if (used > 1 || (used == 0 && (header.vectors != 0 || header.highest_id != 0))) {
    detail::throw_corrupt("vectors without a largest id");
  }
  if (used == 0) header.highest_id.reset();
  return header;
}

}  // namespace

void save_exact(ByteWriter& writer, std::string_view kind, Metric metric, std::size_t dim, const Snapshot& snapshot,
                const Context& context) {
  Header header;
  header.kind = kind;
  header.metric = metric;
  header.precision = snapshot.precision;
  header.dim = dim;
  header.vectors = snapshot.vectors();
  header.highest_id = snapshot.highest_id;
  header.has_codes =
      std::ranges::any_of(snapshot.views, [](const SegmentView& view) { return view.originals == nullptr; });
  write_header(writer, header);
  std::uint64_t written = 0;
  for (const SegmentView& view : snapshot.views) {
    if (view.originals != nullptr) continue;
    write_codes(writer, view);
    context.report_progress("save", written += view.rows, header.vectors);
  }
  write_rows(writer, snapshot.views);
  context.report_progress("save", header.vectors, header.vectors);
}

LoadedExact load_exact(ByteReader& reader, Executor& executor) {
  const Header header = read_header(reader);
  BlockReader blocks(reader, executor, header.metric, header.precision, header.dim);
  while (blocks.vectors() < header.vectors) blocks.read(header.vectors, header.has_codes);
  blocks.check_ids(header.highest_id);
  blocks.snapshot.highest_id = header.highest_id;
  return {header.kind, std::make_unique<SegmentStore>(executor, header.metric, header.dim, std::move(blocks.snapshot),
                                                      std::move(blocks.tail))};
}

}  // namespace vectis::inline v0_1::exact
