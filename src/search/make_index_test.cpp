#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"
#include "vectis/search/index.hpp"

namespace vectis {
namespace {

using test::Floats;
using testing::HasSubstr;

class MakeIndexTest : public testing::Test {
 protected:
  test::FakeOs os;  // without a GPU
  Runtime runtime{[this] {
    RuntimeOptions options;
    options.os = &os;
    return options;
  }()};
};

TEST_F(MakeIndexTest, UnknownKindsAreRefusedWithThoseThatExist) {
  for (const char* kind : {"", "flat", "Brute", "brute "}) {
    EXPECT_ERROR(make_index(kind, 3, Distance::euclidean, runtime), ErrorCode::unsupported_backend, "'brute'", "'gpu'",
                 "'auto'");
  }
}

TEST_F(MakeIndexTest, DimensionsHaveLimits) {
  EXPECT_ERROR(make_index("brute", 0, Distance::euclidean, runtime), ErrorCode::invalid_input, "0", "65536");
  EXPECT_ERROR(make_index("brute", 65'537, Distance::euclidean, runtime), ErrorCode::invalid_input, "65537");
  const auto index = make_index("brute", 65'536, Distance::inner_product, runtime);
  Floats row(65'536, 1.0F);
  index->add(row);
  EXPECT_EQ(index->search(row, 1)[0].front().distance, -65'536.0);
}

TEST_F(MakeIndexTest, AGpuThatIsNotThereIsAnErrorWithAReason) {
  EXPECT_ERROR(make_index("gpu", 3, Distance::euclidean, runtime), ErrorCode::backend_creation, "no GPU is usable",
               "opencl: not installed");
}

TEST_F(MakeIndexTest, AutoFallsBackAndSaysWhy) {
  const auto index = make_index("auto", 2, Distance::euclidean, runtime);
  EXPECT_EQ(index->kind(), "auto");
  index->add(Floats{1, 2});
  const SearchResult found = index->search(Floats{1, 2}, 1);
  EXPECT_EQ(found[0].front(), (Hit{0, 0.0}));
  EXPECT_EQ(found.explanation().device, "cpu");
  EXPECT_THAT(found.explanation().reason, HasSubstr("no GPU is usable"));
  EXPECT_THAT(index->explain(), HasSubstr("no GPU is usable"));
  MemoryWriter writer;
  index->save(writer);
  MemoryReader reader(writer.bytes());
  EXPECT_EQ(load_index(reader, runtime)->kind(), "auto");
}

TEST_F(MakeIndexTest, TheCpuMayBeAskedForWhateverTheKind) {
  for (const char* kind : {"brute", "gpu", "auto"}) {
    const auto index = make_index(kind, 2, Distance::euclidean, runtime, {.device = "cpu"});
    EXPECT_EQ(index->kind(), kind);
    EXPECT_TRUE(index->devices().devices.empty());
    index->add(Floats{1, 2});
    EXPECT_EQ(index->search(Floats{1, 2}, 1).explanation().device, "cpu");
    EXPECT_EQ(index->statistics().device_bytes, 0U);
    MemoryWriter writer;
    index->save(writer);
    MemoryReader reader(writer.bytes());
    EXPECT_EQ(load_index(reader, runtime, {.device = "cpu"})->kind(), kind);
    EXPECT_ERROR(make_index(kind, 2, Distance::euclidean, runtime, {.device = "cpu,tpu"}),
                 ErrorCode::unsupported_backend, "tpu");
  }
  EXPECT_THAT(make_index("auto", 2, Distance::euclidean, runtime, {.device = "auto"})->devices().reason,
              HasSubstr("no GPU is usable"));
}

// An index that leaves upsert, and where it searches, to its base.
class PlainIndex final : public Index {
 public:
  explicit PlainIndex(std::unique_ptr<Index> index) : index_(std::move(index)) {}
  [[nodiscard]] std::string_view kind() const noexcept override { return index_->kind(); }
  [[nodiscard]] std::size_t dim() const noexcept override { return index_->dim(); }
  [[nodiscard]] Distance distance() const noexcept override { return index_->distance(); }
  [[nodiscard]] std::size_t size() const override { return index_->size(); }
  std::uint64_t add(std::span<const float> vectors) override { return index_->add(vectors); }
  void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) override {
    index_->add_with_ids(vectors, ids);
  }
  std::size_t remove(std::span<const std::uint64_t> ids) override { return index_->remove(ids); }
  void update(std::uint64_t id, std::span<const float> vector) override { index_->update(id, vector); }
  [[nodiscard]] std::optional<Floats> get(std::uint64_t id) const override { return index_->get(id); }
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options) const override {
    return index_->search(queries, k, options);
  }
  void set_precision(Precision precision) override { index_->set_precision(precision); }
  [[nodiscard]] Precision precision() const override { return index_->precision(); }
  void compact() override { index_->compact(); }
  [[nodiscard]] IndexStatistics statistics() const override { return index_->statistics(); }
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const override {
    return index_->explain(queries, k);
  }
  void save(ByteWriter& writer) const override { index_->save(writer); }

 private:
  std::unique_ptr<Index> index_;
};

TEST_F(MakeIndexTest, AnIndexWithoutItsOwnUpsertHasOne) {
  PlainIndex index(make_index("brute", 2, Distance::euclidean, runtime));
  EXPECT_TRUE(index.devices().devices.empty());
  index.add_with_ids(Floats{1, 1, 2, 2}, test::Ids{1, 2});
  index.upsert(Floats{20, 20, 30, 30}, test::Ids{2, 3});
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.get(1), (Floats{1, 1}));
  EXPECT_EQ(index.get(2), (Floats{20, 20}));
  EXPECT_EQ(index.get(3), (Floats{30, 30}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(index.upsert(Floats{9, 9, 9, nan}, test::Ids{1, 2}), ErrorCode::invalid_input, "finite");
  EXPECT_ERROR(index.upsert(Floats{9, 9, 9, 9}, test::Ids{1, 1}), ErrorCode::invalid_input, "twice");
  EXPECT_ERROR(index.upsert(Floats{9, 9}, test::Ids{1, 2}), ErrorCode::invalid_input, "1 vectors and 2 ids");
  EXPECT_EQ(index.get(1), (Floats{1, 1}));
}

}  // namespace
}  // namespace vectis
