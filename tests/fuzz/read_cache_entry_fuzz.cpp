// Fuzzes the disk cache of kernels, tuned sizes and profiles, and decodes the profile of every entry it accepts.
#include <algorithm>
#include <string>
#include <vector>

#include "kernel/cache/disk_cache.hpp"
#include "plan/cost_model.hpp"
#include "plan/profile_store.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/fake_os.hpp"
#include "vectis/base.hpp"

namespace vectis::fuzz {

namespace {

constexpr std::string_view key = "vectis 0.1\nbackend opencl\ndevice a\ndriver b";

// A cache folder in memory.
struct MemoryCache {
  test::FakeOs os;
  Runtime runtime{[this] {
    RuntimeOptions options;
    options.settings["cache_path"] = "/cache";
    options.executor = std::make_shared<SimulatedExecutor>(1);
    options.os = &os;
    return options;
  }()};
  detail::DiskCache cache{runtime, "profiles"};
};

// A profile that is decoded can be stored, predicts times, and can be combined with another.
void use_profile(const DeviceProfile& profile, BytesView payload) {
  constexpr std::int64_t now = 1'800'000'000;
  expect(std::ranges::equal(detail::encode_profile(profile), payload));
  const Workload workload{.operations = {.fp32 = 1e9}, .bytes = 1e6, .copy_in_bytes = 1e6, .copy_out_bytes = 1e3};
  const double seconds = detail::cost_breakdown(profile, workload).total();
  expect(seconds >= detail::min_seconds && seconds <= detail::CostBreakdown::count * detail::max_seconds);
  if (detail::age_of(profile, now) != detail::ProfileAge::young) return;
  const DeviceProfile both = detail::combine_best(profile, profile);
  expect(detail::decode_profile(detail::encode_profile(both), "a").has_value());
}

// An entry has one encoding; every other file is corrupt.
void read_and_use(BytesView file) {
  static MemoryCache memory;
  memory.os.files[memory.cache.file_of(key)] = text_of(file);
  const detail::DiskCache::Found found = memory.cache.find(key);
  expect(found.corrupt == !found.payload.has_value());
  if (!found.payload) return;
  expect(std::ranges::equal(detail::encode_cache_entry(key, *found.payload), file));
  if (const auto profile = detail::decode_profile(*found.payload, "a")) use_profile(*profile, *found.payload);
}

bool fix_checksums(Bytes& file) {
  constexpr std::size_t sum_bytes = 8;
  if (file.size() < sum_bytes) return false;
  const std::size_t end = file.size() - sum_bytes;
  write_checksum(file, 0, end, end);
  return true;
}

std::vector<Bytes> seeds() {
  DeviceProfile profile;
  profile.launch_seconds = 1e-5;
  profile.to_device = {1e-5, 1e10};
  profile.operations_per_second.fp32 = 1e12;
  profile.measured_at = 1'790'000'000;
  profile.measurements = 2;
  profile.complete = true;
  const Bytes tuned{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
  return {detail::encode_cache_entry(key, {}), detail::encode_cache_entry(key, bytes_of("a program's binary")),
          detail::encode_cache_entry(key, tuned), detail::encode_cache_entry(key, detail::encode_profile(profile))};
}

}  // namespace

const Target target{seeds, fix_checksums, read_and_use, {}};

}  // namespace vectis::fuzz
