// Writes the data of the page in this folder: `example_browser FOLDER` writes the kernel, vectors, queries and answers.
// The kernel is an IR function as WGSL, which is what the WebGPU backend compiles; the answers are found on the CPU.
// docs/webgpu.md shows how to open the page.
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>

#include "vectis/vectis.hpp"

namespace {

constexpr std::size_t rows = 50'000;
constexpr std::size_t dim = 128;
constexpr std::size_t query_count = 20;
constexpr std::size_t k = 10;
constexpr std::uint32_t group = 256;  // work-items

// Squared distance between vector number `index` and one query.
vectis::ir::Function squared_distance() {
  namespace ir = vectis::ir;
  ir::Builder b("squared_distance");
  const std::uint32_t vectors = b.table(vectis::DType::float32);
  const std::uint32_t queries = b.table(vectis::DType::float32);
  const ir::Value columns = b.argument(vectis::DType::uint32);
  const ir::Value query = b.argument(vectis::DType::uint32);
  const ir::Value vector_begin = b.binary(ir::Op::mul, b.index(), columns);
  const ir::Value query_begin = b.binary(ir::Op::mul, query, columns);
  const auto loop = b.begin_loop(columns, std::array{b.constant(0.0F)});
  const ir::Value difference = b.sub(b.gather(vectors, b.add(vector_begin, loop.iteration)),
                                     b.gather(queries, b.add(query_begin, loop.iteration)));
  const auto sums = b.end_loop(loop, std::array{b.add(loop.carried[0], b.mul(difference, difference))});
  b.output(sums[0], vectis::DType::float32);
  return b.finish();
}

void write(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

// Writes distances with 17 digits, so that the page can compare them bit by bit.
void write_answers(std::ostream& out, const vectis::SearchResult& found, const vectis::ir::Function& function) {
  out << std::setprecision(17) << R"({"rows": )" << rows << R"(, "dim": )" << dim << R"(, "k": )" << k
      << R"(, "group": )" << group << R"(, "elements_per_item": )" << vectis::ir::elements_per_item(function)
      << R"(, "entry_point": ")" << vectis::ir::entry_point(function) << R"(", "answers": [)";
  for (std::size_t query = 0; query < found.queries(); ++query) {
    out << (query == 0 ? "[" : ", [");
    for (std::size_t i = 0; i < found[query].size(); ++i) {
      const vectis::Hit& hit = found[query][i];
      out << (i == 0 ? "" : ", ") << R"({"id": )" << hit.id << R"(, "distance": )" << hit.distance << "}";
    }
    out << "]";
  }
  out << "]}\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: example_browser FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  const vectis::ir::Function function = squared_distance();
  const std::string text = vectis::ir::print(function, vectis::Dialect::wgsl, group);
  write(folder / "squared_distance.wgsl", std::as_bytes(std::span(text)));

  vectis::SampleVectors sample(1, dim);
  const std::vector<float> vectors = sample.draw(rows);
  const std::vector<float> queries = sample.draw(query_count);
  write(folder / "vectors.f32", std::as_bytes(std::span(vectors)));
  write(folder / "queries.f32", std::as_bytes(std::span(queries)));

  const auto index = vectis::make_index("flat", dim, vectis::Metric::l2);
  index->add(vectors);
  std::ofstream answers(folder / "answers.json");
  write_answers(answers, index->search(queries, k), function);
  std::cout << rows << " vectors of " << dim << " dimensions, " << query_count << " queries: " << folder.string()
            << '\n';
  return answers.flush() ? 0 : 1;
}
