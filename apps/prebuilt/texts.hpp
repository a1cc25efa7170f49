// What the programs that compile built-in kernels while Vectis is built share: a folder with the kernels' texts, each
// beside what a compiler made of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/kernel/source.hpp"

namespace vectis::prebuilt {

std::string read(const std::filesystem::path& file);
// Leaves a file alone that says so already: what depends on it need not be made again. Throws Io.
void write(const std::filesystem::path& file, const std::string& text);

// What a plug-in looks a text up by.
std::uint64_t hash_of(std::string_view text);

// Writes every built-in kernel in this language as NAME-HASH<extension>, and the compiler's options as options.txt; the
// folder holds no other text with that extension afterwards.
void print_texts(const std::filesystem::path& folder, Dialect dialect, std::string_view extension);

// The texts of a folder, by name: an order that every machine agrees on.
std::vector<std::filesystem::path> texts_in(const std::filesystem::path& folder, std::string_view extension);

}  // namespace vectis::prebuilt
