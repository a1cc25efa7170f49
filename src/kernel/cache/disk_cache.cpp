#include "kernel/cache/disk_cache.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view magic = "VECTISKC";
constexpr std::uint32_t format_version = 1;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::vector<std::byte> encode_cache_entry(std::string_view key, std::span<const std::byte> payload) {
  MemoryWriter writer;
  writer.write(bytes_of(magic));
  writer.put(format_version);
  writer.put_string(key);
  writer.put(std::uint64_t{payload.size()});
  writer.write(payload);
  writer.put(checksum(writer.bytes()));
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<std::vector<std::byte>> decode_cache_entry(std::string_view file, std::string_view key) try {
  MemoryReader reader(bytes_of(file));
  std::array<std::byte, magic.size()> head{};
  reader.read(head);
  if (std::memcmp(head.data(), magic.data(), head.size()) != 0) return std::nullopt;
  if (reader.get<std::uint32_t>() != format_version) return std::nullopt;
  if (reader.get_string(reader.remaining()) != key) return std::nullopt;
  const auto bytes = reader.get<std::uint64_t>();
  if (reader.remaining() < sizeof(std::uint64_t) || reader.remaining() - sizeof(std::uint64_t) != bytes)
    return std::nullopt;
  std::vector<std::byte> payload(bytes);
  reader.read(payload);
  const auto checked = bytes_of(file.substr(0, file.size() - sizeof(std::uint64_t)));
  if (reader.get<std::uint64_t>() != checksum(checked)) return std::nullopt;
  return payload;
} catch (const Error&) {  // truncated
  return std::nullopt;
}

DiskCache::DiskCache(Runtime& runtime, std::string_view subfolder) : runtime_(runtime), path_(cache_folder(runtime)) {
  if (!path_.empty()) path_.append("/").append(subfolder);
}

std::string DiskCache::file_of(std::string_view key) const {
  return path_.empty() ? "" : fmt::format("{}/{:016x}", path_, hash64(bytes_of(key)));
}

DiskCache::Found DiskCache::find(std::string_view key) const {
  if (path_.empty()) return {};
  const std::string path = file_of(key);
  const auto file = runtime_.os().read_own_file(path);
  if (!file) return {std::nullopt, runtime_.os().access(path) != FileAccess::absent};
  auto payload = decode_cache_entry(*file, key);
  const bool corrupt = !payload.has_value();
  return {std::move(payload), corrupt};
}

void DiskCache::put(std::string_view key, std::span<const std::byte> payload) {
  if (path_.empty()) return;
  try {
    runtime_.os().replace_file(file_of(key), encode_cache_entry(key, payload));
  } catch (const Error& error) {
    if (write_failure_logged_.exchange(true)) return;
    runtime_.logger().log(
        LogLevel::warning, "kernel",
        fmt::format("cannot write to the cache folder: {} (logged once; VECTIS_CACHE_PATH=off disables the cache)",
                    error.what()));
  }
}

}  // namespace vectis::inline v0_1::detail
