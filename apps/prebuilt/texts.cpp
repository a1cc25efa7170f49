#include "prebuilt/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>

#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::prebuilt {

namespace files = std::filesystem;

std::string read(const files::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const files::path& file, const std::string& text) {
  if (files::exists(file) && read(file) == text) return;
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) {
    throw Error(ErrorCode::io, "prebuilt", fmt::format("{} cannot be written; check the folder", file.string()));
  }
}

std::uint64_t hash_of(std::string_view text) { return hash64(std::as_bytes(std::span(text))); }

void print_texts(const files::path& folder, Dialect dialect, std::string_view extension) {
  files::create_directories(folder);
  std::set<std::string> written;
  for (const DeviceInfo& device : prebuilt_devices(dialect)) {
    for (const KernelSource& source : builtin_kernels(device)) {
      const std::string text = print(source, dialect);
      const std::string name = fmt::format("{}-{:016x}{}", source.name, hash_of(text), extension);
      if (written.insert(name).second) write(folder / name, text);
    }
  }
  write(folder / "options.txt", std::string(compiler_options(dialect)));
  for (const files::path& file : texts_in(folder, extension)) {
    if (!written.contains(file.filename().string())) files::remove(file);
  }
}

std::vector<files::path> texts_in(const files::path& folder, std::string_view extension) {
  std::vector<files::path> texts;
  for (const auto& entry : files::directory_iterator(folder)) {
    if (entry.path().extension() == extension) texts.push_back(entry.path());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace vectis::prebuilt
