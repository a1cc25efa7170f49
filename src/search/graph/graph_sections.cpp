#include "search/graph/graph_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "search/exact/summed.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using exact::damaged;

class IdSection final : public Section {
 public:
  IdSection(const Heads& heads, std::uint64_t highest_id) : heads_(heads), highest_id_(highest_id) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(std::uint64_t); }
  void put(Slot slot, std::byte* row) const override {
    const std::uint64_t id = heads_.id(slot);
    std::memcpy(row, &id, sizeof id);
  }
  void check(Slot /*slot*/, const std::byte* row) const override {
    if (id_of(row) > highest_id_) damaged(fmt::format("id {} is out of place", id_of(row)));
  }
  void take(Slot slot, const std::byte* row) const override { heads_.born(slot, id_of(row), 0); }
  // Beside an id, memory has the changes from which and until which the row can be found.
  [[nodiscard]] bool stays() const noexcept override { return false; }
  void point_at(std::byte* /*first*/, std::size_t /*rows*/) const override {}

 private:
  static std::uint64_t id_of(const std::byte* row) {
    std::uint64_t id = 0;
    std::memcpy(&id, row, sizeof id);
    return id;
  }

  const Heads& heads_;
  std::uint64_t highest_id_;
};

class CodeSection final : public Section {
 public:
  explicit CodeSection(Rows& codes) : codes_(codes) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return codes_.row_bytes(); }
  void put(Slot slot, std::byte* row) const override { std::memcpy(row, codes_[slot], row_bytes()); }
  void check(Slot /*slot*/, const std::byte* row) const override {
    const RowTerms terms = terms_of(row);
    const bool finite = std::isfinite(terms.step) && std::isfinite(terms.low) && std::isfinite(terms.square);
    if (!finite) damaged("a row that is no number");
  }
  void take(Slot slot, const std::byte* row) const override { std::memcpy(codes_[slot], row, row_bytes()); }
  [[nodiscard]] bool stays() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { codes_.point_at(first, rows); }

 private:
  Rows& codes_;
};

class LinkSection final : public Section {
 public:
  LinkSection(Links& links, std::size_t rows) : links_(links), rows_(rows) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return links_.row_bytes(); }
  void put(Slot slot, std::byte* row) const override {
    Slot list[Links::degree_max];
    links_.encode(std::span(list).first(links_.read(slot, list)), row);
  }
  void check(Slot slot, const std::byte* row) const override {
    Slot list[Links::degree_max];
    const std::size_t count = links_.decode(row, list);
    if (count > links_.degree()) damaged(fmt::format("{} links of a row", count));
    for (std::size_t i = 0; i < count; ++i) {
      if (list[i] >= rows_ || list[i] == slot) damaged(fmt::format("a link to row {} of {}", list[i], rows_));
    }
    if (!Links::at_rest(row)) damaged("links that are being written");
  }
  void take(Slot slot, const std::byte* row) const override {
    Slot list[Links::degree_max];
    links_.write(slot, std::span(list).first(links_.decode(row, list)));
  }
  [[nodiscard]] bool stays() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { links_.point_at(first, rows); }

 private:
  Links& links_;
  std::size_t rows_;
};

class VectorSection final : public Section {
 public:
  explicit VectorSection(Vectors& vectors) : vectors_(vectors) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return vectors_.row_bytes(); }
  void put(Slot slot, std::byte* row) const override { std::ranges::copy(vectors_.bytes(slot), row); }
  void check(Slot /*slot*/, const std::byte* row) const override {
    if (!vectors_.finite(row)) damaged("a vector that is not finite");
  }
  void take(Slot slot, const std::byte* row) const override {
    std::memcpy(vectors_.bytes(slot).data(), row, row_bytes());
  }
  [[nodiscard]] bool stays() const noexcept override { return true; }
  void point_at(std::byte* first, std::size_t rows) const override { vectors_.point_at(first, rows); }

 private:
  Vectors& vectors_;
};

}  // namespace

std::vector<std::unique_ptr<const Section>> sections_of(Body& body, std::size_t rows, std::uint64_t highest_id) {
  std::vector<std::unique_ptr<const Section>> sections;
  sections.push_back(std::make_unique<IdSection>(body.heads, highest_id));
  sections.push_back(std::make_unique<CodeSection>(body.graph.codes));
  sections.push_back(std::make_unique<LinkSection>(body.graph.links, rows));
  sections.push_back(std::make_unique<VectorSection>(body.vectors));
  return sections;
}

}  // namespace vectis::inline v0_1::graph
