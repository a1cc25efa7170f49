// Every byte of every small file changed, and every file cut at every length: an Error, or what the intact file gives.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "tests/indexes/kinds.hpp"
#include "tests/support/compiling_backend.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/runs.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/memory.hpp"
#include "vectis/store.hpp"

namespace vectis::test {
namespace {

// Calls `use` with every corruption of the file. VECTIS_TEST_RUNS, up to 255, is how many values every byte takes.
class Corruptions {
 public:
  explicit Corruptions(FileBytes file) : file_(std::move(file)) {}

  void for_each(const std::function<void(const FileBytes& corrupt)>& use) {
    const std::uint64_t flips = std::min<std::uint64_t>(runs_wanted(2), 255);
    for (std::size_t at = 0; at < file_.size() && !testing::Test::HasFailure(); ++at) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, "byte " + std::to_string(at));
      const std::uint64_t first = random_.below(255);
      for (std::uint64_t i = 0; i < flips; ++i) {
        FileBytes corrupt = file_;
        corrupt[at] ^= static_cast<std::byte>(1 + (first + i * 37) % 255);
        use(corrupt);
        ++count_;
      }
    }
    for (std::size_t size = 0; size < file_.size() && !testing::Test::HasFailure(); ++size) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, "cut at " + std::to_string(size));
      use(FileBytes(file_.begin(), file_.begin() + static_cast<std::ptrdiff_t>(size)));
      ++count_;
    }
    spliced(use);
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  // Pieces repeated, dropped or moved.
  void spliced(const std::function<void(const FileBytes& corrupt)>& use) {
    for (std::uint64_t i = 0; i < 50 && !testing::Test::HasFailure(); ++i) {
      const auto from = static_cast<std::ptrdiff_t>(random_.below(file_.size()));
      const auto to = static_cast<std::ptrdiff_t>(random_.below(file_.size()));
      FileBytes corrupt(file_.begin(), file_.begin() + from);
      corrupt.insert(corrupt.end(), file_.begin() + to, file_.end());
      if (corrupt == file_) continue;
      use(corrupt);
      ++count_;
    }
  }

  FileBytes file_;
  Random random_{seed()};
  std::size_t count_ = 0;
};

// Fails unless `load` throws an Error, or returns what it returns for the intact file. A `format` without a checksum
// may also give another value.
template <class Load>
void expect_error_or_same(const char* what, const FileBytes& file, const Load& load, bool checksummed = true) {
  const auto intact = load(file);
  Corruptions corruptions(file);
  std::size_t same = 0;
  corruptions.for_each([&](const FileBytes& corrupt) {
    try {
      const auto loaded = load(corrupt);
      if (checksummed) {
        EXPECT_TRUE(loaded == intact) << what << " gives another value";
      }
      ++same;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported ||
                  error.code() == ErrorCode::invalid_input || error.code() == ErrorCode::allocation)
          << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": not an Error: " << error.what();
    }
  });
  std::cout << what << ": " << corruptions.count() << " corruptions of a file of " << file.size() << " bytes, " << same
            << " accepted\n";
}

FileBytes bytes_of_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string text_of_bytes(const FileBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file without a disk, which a thousand changes of a file on disk would wait for.
class MemoryFile {
 public:
  explicit MemoryFile(const FileBytes& bytes) : descriptor_(memfd_create("hostile", MFD_CLOEXEC)) {
    std::ofstream(path(), std::ios::binary) << text_of_bytes(bytes);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// What can be seen of an index.
struct Visible {
  explicit Visible(const Index& index, std::size_t dim = 3) : kind(index.kind()), metric(index.metric()) {
    if (index.dim() != dim) return;
    Random random(3);
    const SearchOptions options{.recall = kind == "graph" ? std::nullopt : std::optional(1.0)};
    const SearchResult found = index.search(random_rows(random, 2, dim), 10'000, options);
    for (std::size_t i = 0; i < found.queries(); ++i) hits.push_back(hits_of(found, i));
    for (const Hit& hit : hits.front()) vectors.push_back(index.get(hit.id).value());
  }
  bool operator==(const Visible&) const = default;

  std::string kind;
  Metric metric;
  std::vector<std::vector<Hit>> hits;
  std::vector<Floats> vectors;
};

class HostileFiles : public IndexKinds {
 protected:
  FileBytes small_index() {
    // A graph in an "auto" index as well.
    const auto index = kind().label == growing_kind.label ? growing_index(3, Metric::l2, runtime, 15) : make(3);
    index->add(random_rows(random, 18, 3));
    index->add(Ids{100, 50, 200}, random_rows(random, 3, 3));
    index->remove(Ids{1, 50});
    return file_of(*index);
  }
};

TEST_P(HostileFiles, OfIndexesAreLoadedOrRejected) {
  expect_error_or_same(kind().label, small_index(), [&](const FileBytes& bytes) {
    MemoryReader reader(bytes);
    return Visible(*load_index(reader, options_of(kind(), runtime)));
  });
}

TEST_P(HostileFiles, OfIndexesAreMappedOrRejected) {
  if (kind().name != std::string_view("graph")) GTEST_SKIP() << "only graphs are mapped";
  expect_error_or_same("mapped", small_index(), [&](const FileBytes& bytes) {
    const MemoryFile file(bytes);
    return Visible(*map_index(file.path(), {.runtime = &runtime}));
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileFiles, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Growing, HostileFiles, testing::Values(growing_kind), kind_name);

TEST(HostileStoreFiles, AreLoadedOrRejected) {
  Runtime runtime;
  Random random(seed());
  VectorStore store(runtime);
  for (const char* const kind : {"flat", "graph"}) {
    Collection collection = store.create_collection(kind, {.dim = 3, .index = kind, .tenant = "t"});
    collection.add(random_rows(random, 6, 3));
  }
  MemoryWriter writer;
  store.save(writer);
  const FileBytes file(writer.bytes().begin(), writer.bytes().end());
  expect_error_or_same("store", file, [&](const FileBytes& bytes) {
    MemoryReader reader(bytes);
    const VectorStore loaded = VectorStore::load(reader, runtime);
    std::vector<std::pair<std::string, std::vector<Hit>>> found;
    const Floats query{0.1F, 0.2F, 0.3F};
    for (const std::string& name : loaded.list_collections()) {
      found.emplace_back(name, hits_of(loaded.collection(name).search(query, 100), 0));
    }
    return found;
  });
}

TEST(HostileSnapshotFiles, AreReadOrRejected) {
  Runtime runtime;
  const ManagedBuffer buffer =
      memory_pool(runtime).allocate_bytes(0, 1000, {.context = Context{}.with_memory_tag("a tag")});
  std::ostringstream out;
  write_json(out, memory_pool(runtime).snapshot(0).value());
  expect_error_or_same(
      "snapshot", bytes_of_text(out.str()),
      [](const FileBytes& bytes) {
        std::istringstream in(text_of_bytes(bytes));
        const MemorySnapshot snapshot = read_memory_snapshot(in);
        std::ostringstream page;  // what was read can be shown
        write_html(page, snapshot);
        write_json(page, snapshot);
        return page.str().empty();
      },
      false);
}

TEST(HostileLogFiles, AreReadOrRejected) {
  AllocationLog log;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    log.events.push_back(
        {.id = id, .bytes = id * 1000, .stream = static_cast<std::uint32_t>(id % 3), .tag = "tag", .time = {}});
    if (id % 2 == 0) {
      log.events.push_back({.kind = AllocationEvent::Kind::release, .id = id / 2, .tag = {}, .time = {}});
    }
  }
  std::ostringstream out;
  write_allocation_log(out, log);
  expect_error_or_same(
      "allocation log", bytes_of_text(out.str()),
      [](const FileBytes& bytes) {
        std::istringstream in(text_of_bytes(bytes));
        return read_allocation_log(in).peak_bytes() > 0;
      },
      false);
}

TEST(HostileSettingFiles, AreReadOrRejected) {
  const std::string text = "device: cpu\ngpu:\n  enabled: false\n  batch_size: 10\nbackends:\n  cuda: {driver: 'x'}\n";
  expect_error_or_same(
      "settings", bytes_of_text(text),
      [](const FileBytes& bytes) {
        FakeOs os;
        os.files["/config.yaml"] = text_of_bytes(bytes);
        os.variables["VECTIS_CONFIG"] = "/config.yaml";
        return Settings::load(os).text("device").empty();
      },
      false);
}

// A corrupt entry of the kernel cache is compiled again, and never handed to the driver.
TEST(HostileKernelCacheFiles, AreCompiledAgain) {
  FakeOs os;
  CompilingBackend::install(os);
  os.variables["VECTIS_CACHE_PATH"] = "/cache";
  const auto compile = [&os] {
    Runtime runtime(options_on(os));
    const DeviceContext context(*runtime.service<DeviceRegistry>().find("cuda"));
    static_cast<void>(kernel_cache(runtime).program(context, "opencl-c", "kernel void f() {}", "-O1"));
    return kernel_cache(runtime).statistics();
  };
  static_cast<void>(compile());
  ASSERT_EQ(os.files.size(), 1U);
  const auto [path, intact] = *os.files.begin();
  EXPECT_EQ(compile().disk_hits, 1U);
  Corruptions corruptions(bytes_of_text(intact));
  corruptions.for_each([&](const FileBytes& corrupt) {
    os.files[path] = text_of_bytes(corrupt);
    const CacheStatistics statistics = compile();
    EXPECT_EQ(statistics.disk_hits, 0U) << "a corrupt entry was used";
    EXPECT_EQ(statistics.compiled, 1U);
    EXPECT_EQ(os.files.at(path), intact) << "the entry was not written again";
    os.files = {{path, intact}};
  });
  std::cout << "kernel cache: " << corruptions.count() << " corruptions of an entry\n";
}

}  // namespace
}  // namespace vectis::test
