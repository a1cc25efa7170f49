// An exact index: add, search, filter, deadline, remove, change the precision, save and load.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vectis/vectis.hpp>
#include <vector>

int main() {
  using Ids = std::vector<std::uint64_t>;
  constexpr std::size_t dim = 8;
  constexpr std::size_t count = 10'000;
  vectis::Random random(1);
  std::vector<float> vectors(count * dim);
  for (float& value : vectors) value = static_cast<float>(random.unit());

  vectis::Runtime runtime;
  const auto index = vectis::make_index("flat", dim, vectis::Metric::l2, {.runtime = &runtime});
  index->add(vectors);  // ids 0 to 9,999

  const std::vector<float> query(vectors.begin(), vectors.begin() + dim);  // the vector with id 0
  const vectis::SearchResult found = index->search(query, 3);
  for (const vectis::Hit& hit : found[0]) std::cout << "id " << hit.id << " at " << hit.distance << '\n';
  std::cout << found.explanation().text() << '\n';

  // Only even ids below 128, and only near ones.
  const std::vector<std::uint64_t> even(2, 0x5555555555555555ULL);
  const auto near = index->search(query, 100, {.filter = vectis::IdFilter::bitmap(even), .radius = 0.8});
  std::cout << near[0].size() << " of the first 64 even ids are nearer than 0.8\n\n";

  // A search that takes longer than the deadline throws DeadlineExceeded.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto in_time = index->search(query, 3, {.context = vectis::Context{}.with_deadline(deadline)});

  index->remove(Ids{0});
  index->update(1, query);
  index->set_precision(vectis::Precision::bf16);  // scans bf16 codes; the results stay exact
  const std::uint64_t nearest = index->search(query, 1)[0].front().id;
  std::cout << index->explain() << '\n';

  const std::string path = std::filesystem::temp_directory_path() / "vectis-example-search.index";
  index->save(path);
  const auto copy = vectis::load_index(path, {.runtime = &runtime});
  std::cout << std::filesystem::file_size(path) << " bytes hold " << copy->size() << " vectors\n";
  std::filesystem::remove(path);

  const bool good = found[0].front() == vectis::Hit{0, 0.0} && in_time[0].front() == found[0].front() && nearest == 1 &&
                    copy->size() == count - 1 && copy->search(query, 1)[0].front().id == nearest;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
