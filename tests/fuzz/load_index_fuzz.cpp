// load_index with anything, and what it accepts put to use. The last argument is the folder of the corpus; small saved
// indexes are written there first.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/base.hpp"
#include "vectis/search.hpp"

namespace {

using namespace vectis;
using namespace vectis::fuzz;

using Ids = std::vector<std::uint64_t>;

Bytes saved(const Index& index) {
  MemoryWriter writer;
  index.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// Bounds may rule out nothing that is near, whoever wrote the codes.
void expect_exact(const Index& index, const std::vector<float>& query) {
  const SearchResult near = index.search(query, 3);
  const SearchResult all = index.search(query, index.size());
  expect(all[0].size() == index.size() && near[0].size() == std::min<std::size_t>(3, index.size()));
  expect(std::ranges::equal(near[0], all[0].first(near[0].size())));
  for (const Hit& hit : all[0]) {
    expect(hit.distance == exact_distance(index.distance(), query, index.get(hit.id).value()));
  }
}

// Whatever was accepted must work as an index does.
void use(Index& index) {
  const std::size_t dim = index.dim();
  if (dim > 64) return;
  const std::vector<float> query(dim, 0.5F);
  expect_exact(index, query);
  const Bytes file = saved(index);
  MemoryReader reader(file);
  const auto copy = load_index(reader, runtime());
  expect(saved(*copy) == file);
  try {
    const std::uint64_t id = index.add(query);
    expect(index.get(id) == query);
    index.update(id, query);
    expect(index.remove(Ids{id, 0, 1}) >= 1);
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::invalid_input);  // the ids are used up
  }
  if (index.distance() == Distance::euclidean) index.set_precision(Precision::bf16);
  index.compact();
  expect_exact(index, query);
}

// Indexes in every state, small enough that every byte matters.
std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  Random random(1);
  const auto rows = [&](std::size_t count, std::size_t dim) {
    std::vector<float> numbers(count * dim);
    for (float& number : numbers) number = static_cast<float>(random.unit());
    return numbers;
  };
  for (const Distance distance : all_distances()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
      const auto index = make_index("brute", 3, distance, runtime());
      try {
        index->set_precision(precision);
      } catch (const Error&) {
        continue;
      }
      files.push_back(saved(*index));
      index->add(rows(4, 3));
      files.push_back(saved(*index));
      index->remove(Ids{1});
      index->compact();
      index->add_with_ids(rows(2, 3), Ids{9, 7});
      files.push_back(saved(*index));
    }
  }
  return files;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  write_seeds(*count, *arguments, seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_input(
      data, size, [](Bytes& bytes) { mend_index(bytes, 0); },
      [](ByteReader& reader) { use(*load_index(reader, runtime())); });
  return 0;
}
