// Shared by the programs that compile prebuilt kernels at build time: a folder with the sources of the kernels, each
// next to its compiled module.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/kernel/source.hpp"

namespace vectis::prebuilt {

// Returns the content of a file; an empty string when the file cannot be read.
std::string read(const std::filesystem::path& file);
// Writes `text` to a file unless the file has this content already, so that dependents are not rebuilt. The folder
// must exist. Throws Io when writing fails.
void write(const std::filesystem::path& file, const std::string& text);

// Returns the hash64 of a kernel's source, by which a plug-in looks up the compiled module.
std::uint64_t hash_of(std::string_view text);

// Writes the source of every built-in kernel in `dialect` as NAME-HASH<extension> and the compiler's options as
// options.txt; removes all other files with that extension. Creates `folder` if needed. Throws Io when writing a file
// fails, and std::filesystem::filesystem_error when the folder cannot be created or read.
void print_texts(const std::filesystem::path& folder, Dialect dialect, std::string_view extension);

// Returns the files of `folder` with this extension, such as ".cu", sorted by name, so that the order is the same on
// every machine. Throws std::filesystem::filesystem_error when the folder does not exist.
std::vector<std::filesystem::path> texts_in(const std::filesystem::path& folder, std::string_view extension);

}  // namespace vectis::prebuilt
