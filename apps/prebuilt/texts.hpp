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

// Returns the content of a file; empty if it cannot be read.
std::string read(const std::filesystem::path& file);
// Writes a file unless it already has this content, so that dependents are not rebuilt. Throws Io if writing fails.
void write(const std::filesystem::path& file, const std::string& text);

// The plug-in's look-up key of a kernel's source.
std::uint64_t hash_of(std::string_view text);

// Writes every built-in kernel in this dialect as NAME-HASH<extension>, and the compiler's options as options.txt.
// Removes all other files with that extension. Throws Io if writing fails.
void print_texts(const std::filesystem::path& folder, Dialect dialect, std::string_view extension);

// The files of a folder with this extension, sorted by name, so that the order is the same on every machine.
std::vector<std::filesystem::path> texts_in(const std::filesystem::path& folder, std::string_view extension);

}  // namespace vectis::prebuilt
