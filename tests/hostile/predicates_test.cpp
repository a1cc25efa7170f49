// Predicates of filters that throw or use the index themselves, on the host and on a device.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/store.hpp"

namespace vectis::test {
namespace {

constexpr std::size_t predicate_dim = 3;

class Predicates : public testing::TestWithParam<const char*> {
 protected:
  Predicates() {
    Random random(3);
    collection.add(random_rows(random, 300, predicate_dim));
    collection.remove(5);
  }
  static SearchOptions by(std::function<bool(std::uint64_t)> allows) {
    return {.filter = IdFilter::predicate(std::move(allows))};
  }
  RuntimeOptions logging() {
    RuntimeOptions options;
    options.log_level = LogLevel::error;
    options.log = [this](const LogRecord& record) { errors.emplace_back(record.message); };
    return options;
  }

  std::vector<std::string> errors;
  Runtime runtime{logging()};
  VectorStore store{runtime};
  Collection collection = store.create_collection(
      "c", {.dim = predicate_dim,
            .index = GetParam(),
            .device = std::string(GetParam()) == "gpu" ? std::optional<std::string>("failing") : std::nullopt});
  const Floats query = Floats(predicate_dim);
};

TEST_P(Predicates, ErrorsAreThoseOfTheCaller) {
  for (const ErrorCode code : {ErrorCode::invalid_input, ErrorCode::unsupported, ErrorCode::io}) {
    const SearchOptions options = by([&](std::uint64_t) -> bool { throw Error(code, "predicate", "not this one"); });
    try {
      (void)collection.search(query, 3, options);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(error.what(), std::string(Error(code, "predicate", "not this one").what()));
    }
  }
  EXPECT_THROW((void)collection.search(query, 3, by([](std::uint64_t) -> bool { throw std::out_of_range("id"); })),
               std::out_of_range);
  EXPECT_TRUE(errors.empty()) << "logged as a failure of a device: " << errors.front();
  EXPECT_EQ(collection.search(query, 400)[0].size(), 299U);
}

TEST_P(Predicates, MaySearchTheIndexThemselves) {
  const SearchOptions options = by([&](std::uint64_t id) {
    return id % 100 == 5 && collection.search(query, 1, {.filter = IdFilter::range(id, id)})[0].size() == 1;
  });
  const SearchResult found = collection.search(query, 10, options);
  Ids ids;
  for (const Hit& hit : found[0]) ids.push_back(hit.id);
  std::ranges::sort(ids);
  EXPECT_EQ(ids, (Ids{105, 205})) << "5 was removed";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Predicates, testing::Values("flat", "gpu", "auto"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace vectis::test
