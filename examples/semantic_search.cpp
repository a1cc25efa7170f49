// Semantic search: finds packages by what they are for, though their descriptions have other words than the query.
// The model is the folder of a sentence encoder, such as all-MiniLM-L6-v2; the file has a text in each line.

#include <fstream>
#include <iostream>
#include <string>
#include <vectis/vectis.hpp>
#include <vector>

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "usage: semantic_search MODEL_FOLDER TEXT_FILE [QUERY]\n";
    return 1;
  }
  std::ifstream file(arguments[2]);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(line);

  const auto encoder = vectis::nn::TextEncoder::load(arguments[1]);
  const auto index = vectis::make_index("auto", static_cast<std::size_t>(encoder.dim()), vectis::Metric::cosine);
  index->add(encoder.encode(texts).to_cpu<float>());
  const std::string query = count > 3 ? arguments[3] : "I want to watch the stars at night";
  const vectis::SearchResult found = index->search(encoder.encode(query).to_cpu<float>(), 3);

  for (const vectis::Hit& hit : found[0]) std::cout << hit.distance << ' ' << texts[hit.id] << '\n';
  return count > 3 || texts[found[0].front().id].starts_with("telescope") ? 0 : 1;
}
