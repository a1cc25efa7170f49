// Reads vectors from .npy (NumPy) or .fvecs (TEXMEX, FAISS) files and searches them.
//
//   vector_files VECTORS QUERIES    prints the 5 nearest vectors of the first queries
//
// Without arguments the program writes two small files, searches them and checks the result.

#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vectis/vectis.hpp>
#include <vector>

namespace {

static_assert(std::endian::native == std::endian::little, "both formats are read as little-endian");

// Rows of `dim` floats, one after the other.
struct Matrix {
  std::size_t dim = 0;
  std::vector<float> values;
};

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Each row is its length as a 32-bit integer and that many float32.
Matrix read_fvecs(const std::string& path) {
  const std::string bytes = read_bytes(path);
  Matrix matrix;
  for (std::size_t at = 0; at < bytes.size();) {
    std::int32_t dim = 0;
    if (bytes.size() - at < sizeof(dim)) throw std::runtime_error(path + " ends within a row");
    std::memcpy(&dim, bytes.data() + at, sizeof(dim));
    at += sizeof(dim);
    const std::size_t row_bytes = static_cast<std::size_t>(dim) * sizeof(float);
    if (dim <= 0 || bytes.size() - at < row_bytes) throw std::runtime_error(path + " ends within a row");
    if (matrix.dim != 0 && matrix.dim != static_cast<std::size_t>(dim)) {
      throw std::runtime_error(path + " has rows of different lengths");
    }
    matrix.dim = static_cast<std::size_t>(dim);
    matrix.values.resize(matrix.values.size() + matrix.dim);
    std::memcpy(matrix.values.data() + matrix.values.size() - matrix.dim, bytes.data() + at, row_bytes);
    at += row_bytes;
  }
  return matrix;
}

// A 10-byte preamble, a Python dictionary as text, and the array. This reader takes version 1 and 2-D float32 arrays in
// C order, as numpy.save writes them.
Matrix read_npy(const std::string& path) {
  constexpr std::size_t preamble = 10;
  const std::string bytes = read_bytes(path);
  if (bytes.size() < preamble || bytes.compare(0, 7, "\x93NUMPY\x01") != 0) {
    throw std::runtime_error(path + " is no .npy file of version 1");
  }
  const std::size_t header_bytes = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(preamble, header_bytes);
  const std::size_t shape = header.find("'shape': (");
  const std::size_t comma = header.find(',', shape);
  if (header.find("'descr': '<f4'") == std::string::npos ||
      header.find("'fortran_order': False") == std::string::npos || shape == std::string::npos ||
      comma == std::string::npos) {
    throw std::runtime_error(path + " is no 2-D float32 array in C order: " + header);
  }
  Matrix matrix;
  const std::size_t rows = std::stoull(header.substr(shape + std::strlen("'shape': (")));
  matrix.dim = std::stoull(header.substr(comma + 1));
  const std::size_t begin = preamble + header_bytes;
  if (bytes.size() < begin || (bytes.size() - begin) / sizeof(float) != rows * matrix.dim) {
    throw std::runtime_error(path + " has another size than its shape");
  }
  matrix.values.resize(rows * matrix.dim);
  std::memcpy(matrix.values.data(), bytes.data() + begin, matrix.values.size() * sizeof(float));
  return matrix;
}

Matrix read_vectors(const std::string& path) {
  return std::filesystem::path(path).extension() == ".npy" ? read_npy(path) : read_fvecs(path);
}

void write_fvecs(const std::string& path, const Matrix& matrix) {
  std::ofstream file(path, std::ios::binary);
  const auto dim = static_cast<std::int32_t>(matrix.dim);
  for (std::size_t at = 0; at < matrix.values.size(); at += matrix.dim) {
    file.write(reinterpret_cast<const char*>(&dim), sizeof(dim));
    file.write(reinterpret_cast<const char*>(matrix.values.data() + at),
               static_cast<std::streamsize>(matrix.dim * sizeof(float)));
  }
}

void write_npy(const std::string& path, const Matrix& matrix) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(matrix.values.size() / matrix.dim) + ", " + std::to_string(matrix.dim) + "), }\n";
  const char length[2] = {static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8).write(length, 2) << header;
  file.write(reinterpret_cast<const char*>(matrix.values.data()),
             static_cast<std::streamsize>(matrix.values.size() * sizeof(float)));
}

// Prints the hits of the first queries. Returns the id of the nearest vector of the first query.
std::uint64_t search(const Matrix& vectors, const Matrix& queries) {
  const auto index = vectis::make_index("auto", vectors.dim, vectis::Metric::l2);
  index->add(vectis::MatrixView(vectors.values, vectors.dim));
  // A MatrixView is checked: queries of another dimension are an error.
  const vectis::SearchResult found = index->search(vectis::MatrixView(queries.values, queries.dim), 5);
  for (std::size_t query = 0; query < std::min<std::size_t>(found.queries(), 3); ++query) {
    std::cout << "query " << query << ':';
    for (const vectis::Hit& hit : found[query]) std::cout << "  id " << hit.id << " at " << hit.distance;
    std::cout << '\n';
  }
  return found[0].front().id;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3) {
    search(read_vectors(argv[1]), read_vectors(argv[2]));
    return 0;
  }
  vectis::SampleVectors samples(1, 16);
  const Matrix vectors{16, samples.draw(1000)};
  const Matrix queries{16, {vectors.values.begin() + 7 * 16, vectors.values.begin() + 9 * 16}};  // rows 7 and 8
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "vectis-example-vector-files";
  std::filesystem::create_directories(folder);
  const std::string fvecs = folder / "vectors.fvecs";
  const std::string npy = folder / "queries.npy";
  write_fvecs(fvecs, vectors);
  write_npy(npy, queries);
  const bool same = read_vectors(fvecs).values == vectors.values && read_vectors(npy).values == queries.values;
  const std::uint64_t nearest = search(read_vectors(fvecs), read_vectors(npy));
  std::filesystem::remove_all(folder);
  return same && nearest == 7 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
