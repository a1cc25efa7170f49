// Unit tests of an application that uses devices, on a machine without a GPU: the backend `null` computes nothing, and
// `failing` computes on the CPU and fails where the test says so. docs/testing.md explains both.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vectis/vectis.hpp>

// The code under test: searches on a device, and answers from the CPU, with a note, when the device cannot.
class Catalog {
 public:
  Catalog(vectis::Runtime& runtime, std::string device)
      : device_(vectis::make_index("gpu", 2, vectis::Metric::l2, {.device = std::move(device), .runtime = &runtime})),
        host_(vectis::make_index("flat", 2, vectis::Metric::l2, {.runtime = &runtime})) {}

  void add(std::span<const float> vectors) {
    device_->add(vectors);
    host_->add(vectors);
  }
  std::uint64_t nearest(std::span<const float> query) {
    try {
      return device_->search(query, 1)[0].front().id;
    } catch (const vectis::Error& error) {
      note_ = describe(error.code()).name;
      return host_->search(query, 1)[0].front().id;
    }
  }
  [[nodiscard]] std::string_view note() const { return note_; }

 private:
  std::unique_ptr<vectis::Index> device_;
  std::unique_ptr<vectis::Index> host_;
  std::string note_;
};

namespace {

int failures = 0;

void expect(bool condition, std::string_view what) {
  std::cout << (condition ? "passed: " : "FAILED: ") << what << '\n';
  if (!condition) ++failures;
}

// A Runtime that also finds the test backends, which are not searched by default.
vectis::RuntimeOptions with_test_backends(const std::string& folder) {
  vectis::RuntimeOptions options;
  options.settings = {{"backend_path", folder}, {"backends.failing.memory_bytes", "16777216"}};  // 16 MiB
  return options;
}

constexpr float corners[] = {0, 0, 1, 0, 0, 1, 1, 1};
constexpr float query[] = {0.9F, 0.2F};

void test_a_fault_of_the_device(const std::string& folder) {
  vectis::Runtime runtime(with_test_backends(folder));
  auto& registry = runtime.service<vectis::DeviceRegistry>();
  Catalog catalog(runtime, "failing");
  catalog.add(corners);
  expect(catalog.nearest(query) == 1 && catalog.note().empty(), "without a fault the device answers");
  registry.configure("failing", "fail", "copy_to_host 1 driver_failure");  // the next copy back fails, once
  expect(catalog.nearest(query) == 1 && catalog.note() == "DriverFailure", "a failed copy is answered by the CPU");
  registry.configure("failing", "lose", "1");  // from the next call on, the device is gone
  expect(catalog.nearest(query) == 1 && catalog.note() == "DeviceLost", "a lost device is answered by the CPU");
  registry.configure("failing", "reset", "");  // faults belong to the process, not to the Runtime
}

void test_a_full_device(const std::string& folder) {
  vectis::Runtime runtime(with_test_backends(folder));
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const int device = runtime.service<vectis::DeviceRegistry>().find("failing")->id();
  try {
    const vectis::ManagedBuffer buffer = pool.allocate_bytes(device, 12'000'000);
    expect(false, "12 MB do not fit into 70 % of 16 MiB");
  } catch (const vectis::OutOfMemoryError& error) {
    expect(error.report().kind == vectis::OutOfMemoryKind::over_limit, "out of memory says why");
    const vectis::ManagedBuffer buffer = pool.allocate_bytes(device, error.report().largest_bytes);
    expect(buffer.bytes() > 11'000'000, "and what fits");
  }
}

// Results of `null` are undefined, but everything up to the driver runs: use it to test calls, order and memory.
void test_memory_is_given_back(const std::string& folder) {
  vectis::Runtime runtime(with_test_backends(folder));
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const int device = runtime.service<vectis::DeviceRegistry>().find("null")->id();
  {
    const vectis::ManagedBuffer buffer = pool.get_managed_buffer(device, 1024, vectis::Precision::fp32);
  }
  expect(pool.get_memory_stats(device)->live_buffers == 0 && pool.leak_report().empty(), "no buffer is left");
}

}  // namespace

int main() {
  // Installed beside the library: <prefix>/lib/vectis/test-backends.
  const char* const set = std::getenv("VECTIS_TEST_BACKENDS");
  const std::string folder = set != nullptr ? set : vectis::real_os().module_directory() + "/vectis/test-backends";
  if (!std::filesystem::exists(folder)) {
    std::cout << "skipped: " << folder << " does not exist; set VECTIS_TEST_BACKENDS\n";
    return 0;
  }
  test_a_fault_of_the_device(folder);
  test_a_full_device(folder);
  test_memory_is_given_back(folder);
  return failures == 0 ? 0 : 1;
}
