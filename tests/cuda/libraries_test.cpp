// Which compiler and which BLAS the plug-in takes: where they are searched for, which versions fit the driver, and what
// the messages advise.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/cuda/steering.hpp"
#include "tests/slots/rig.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The folder of the test driver's libraries.
std::string test_drivers() { return std::filesystem::path(default_settings()["driver"]).parent_path().string(); }

#if VECTIS_TEST_HIP

class HipLibraries : public testing::Test {
 protected:
  ~HipLibraries() override {
    rig.destroy();
    driver.set("hiprtc", 9);
    driver.set("version", 50220000);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }
  const VectisTestDriver& driver = driver_of("hip");
  Rig rig;
};

TEST_F(HipLibraries, RejectAHipRtcOfAnotherMajorVersion) {
  driver.set("hiprtc", 6);
  rig.need_state();
  EXPECT_THAT(rig.host.logged(), testing::Contains(AllOf(HasSubstr("it is of ROCm 6, the driver is of ROCm 5"),
                                                         HasSubstr("VECTIS_BACKENDS_HIP_COMPILER"))));
  rig.destroy();
  driver.set("hiprtc", 9);  // what hipRTC states when it does not know: the name of the file decides
  driver.set("version", 60000000);
  rig.need_state();
  EXPECT_THAT(rig.host.logged(), testing::Contains(HasSubstr("it is of ROCm 5, the driver is of ROCm 6")));
}

TEST_F(HipLibraries, AreSearchedForByTheMajorVersionOfTheDriver) {
  rig.host.settings.erase("compiler");
  rig.host.folders = {test_drivers()};
  driver.set("version", 60000000);
  rig.need_state();
  EXPECT_THAT(rig.host.logged(), testing::Contains(AllOf(HasSubstr("libhiprtc.so.6 cannot be opened"),
                                                         HasSubstr("install hipRTC of ROCm 6"))));
}

#else

// Sets an environment variable, or unsets it, until the end of the scope.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    if (value.empty()) {
      unsetenv(name_.c_str());
    } else {
      setenv(name_.c_str(), value.c_str(), 1);
    }
  }
  ~Variable() {
    if (before_) {
      setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

// A folder in which links with the names of NVIDIA's libraries lead to those of the test driver.
class CudaLibraries : public testing::Test {
 protected:
  CudaLibraries() {
    std::filesystem::create_directories(root);
    // Not the loader's path, which has the test driver's libraries once they are loaded, nor what the machine has.
    rig.host.folders = {root.string(), test_drivers()};
    rig.host.settings.erase("compiler");
    rig.host.settings.erase("blas");
  }
  ~CudaLibraries() override {
    rig.destroy();
    std::filesystem::remove_all(root);
    driver.set("version", 13000);
    compiler.set("nvrtc", 13);
    library.set("cublaslt", 13);
    for (const VectisTestDriver* each : {&driver, &compiler, &library}) {
      EXPECT_EQ(each->violations(), 0) << each->last_violation();
    }
  }
  void install(const char* variable, const std::string& file) {
    const std::filesystem::path target = root / file;
    std::filesystem::create_directories(target.parent_path());
    std::filesystem::create_symlink(std::getenv(variable), target);
  }
  void install_nvrtc(const std::string& file) { install("VECTIS_BACKENDS_CUDA_COMPILER", file); }
  void install_blas(const std::string& file) { install("VECTIS_TEST_CUBLASLT", file); }

  // The note of `open`, for the doctor.
  std::string open() {
    rig.destroy();
    SlotResult result = call_slot(plugin().open, rig.host.get(), &rig.state);
    EXPECT_TRUE(succeeded(result));
    return result.text;
  }
  // A product of two matrices of 4 rows and columns.
  VectisStatus multiply(VectisStream* stream) {
    const VectisView view{rig.memory, 0, 4, 4, 4, VECTIS_FLOAT32};
    const VectisView views[] = {view, view, {rig.other_memory, 0, 4, 4, 4, VECTIS_FLOAT32}};
    const VectisNumber numbers[] = {{0, 0}, {0, 0}, {1, 1}, {0, 0}};
    const VectisOpCall call{sizeof call, "matmul", views, 3, numbers, 4};
    return call_slot(plugin().run_op, stream, &call).status;
  }
  void need_operands() {
    rig.need_streams();
    rig.need_memory();
  }

  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("vectis-libraries-" + std::to_string(getpid()));
  const Variable environment{"VIRTUAL_ENV", (root / "venv").string()};
  const Variable path{"CUDA_PATH", (root / "toolkit").string()};
  const Variable home{"CUDA_HOME", ""};
  const VectisTestDriver& driver = driver_of("cuda");
  const VectisTestDriver& compiler = steering("VECTIS_BACKENDS_CUDA_COMPILER");
  const VectisTestDriver& library = steering("VECTIS_TEST_CUBLASLT");
  Rig rig;
};

TEST_F(CudaLibraries, AreFoundInWheelsAndToolkits) {
  for (const char* file : {"venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                           "venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                           "toolkit/lib64/libnvrtc.so.13", "toolkit/lib/libnvrtc.so"}) {
    SCOPED_TRACE(file);
    compiler.set("nvrtc", std::string(file).ends_with("12") ? 12 : 13);
    install_nvrtc(file);
    EXPECT_THAT(open(), Not(HasSubstr("NVRTC")));
    rig.need_kernel();
    std::filesystem::remove(root / file);
  }
}

TEST_F(CudaLibraries, AdviseByTheVersionOfTheDriver) {
  rig.host.settings["compiler"] = "no-such-library.so";
  const std::map<int, std::string> packages = {{11020, "nvidia-cuda-nvrtc-cu11 (for the driver's CUDA 11.2)"},
                                               {12040, "nvidia-cuda-nvrtc-cu12 (for the driver's CUDA 12.4)"},
                                               {13000, "nvidia-cuda-nvrtc==13.* (for the driver's CUDA 13.0)"}};
  for (const auto& [version, package] : packages) {
    driver.set("version", static_cast<std::uint64_t>(version));
    EXPECT_THAT(open(), AllOf(HasSubstr("pip install " + package), HasSubstr("VECTIS_BACKENDS_CUDA_COMPILER")));
  }
}

TEST_F(CudaLibraries, NameTheFoldersThatWereSearched) {
  EXPECT_THAT(open(), AllOf(HasSubstr(root.string() + "/venv/lib/python3*/site-packages/nvidia/cu*/lib (VIRTUAL_ENV)"),
                            HasSubstr(root.string() + "/toolkit/{lib64,lib} (CUDA_PATH)"),
                            HasSubstr("CUDA_HOME (not set)"), HasSubstr("/usr/local/cuda*/lib64")));
}

TEST_F(CudaLibraries, NewerThanTheDriverAreNotUsed) {
  install_nvrtc("toolkit/lib64/libnvrtc.so.13");
  driver.set("version", 12040);
  EXPECT_THAT(open(),
              AllOf(HasSubstr("toolkit/lib64/libnvrtc.so.13: it is of CUDA 13, the driver runs code of CUDA 12.4"),
                    HasSubstr("pip install nvidia-cuda-nvrtc-cu12")));
  install_blas("toolkit/lib64/libcublasLt.so.12");
  need_operands();
  EXPECT_EQ(multiply(rig.stream), VECTIS_UNSUPPORTED) << "it states CUDA 13, whatever its name";
  library.set("cublaslt", 12);
  EXPECT_EQ(multiply(rig.stream), VECTIS_UNSUPPORTED) << "the first answer stays";
  open();
  need_operands();
  EXPECT_EQ(multiply(rig.stream), VECTIS_OK);
}

TEST_F(CudaLibraries, CublasLtIsFoundInWheels) {
  need_operands();
  EXPECT_EQ(multiply(rig.stream), VECTIS_UNSUPPORTED) << "not installed";
  install_blas("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13");
  EXPECT_EQ(multiply(rig.stream), VECTIS_UNSUPPORTED) << "the first answer stays";
  open();
  need_operands();
  EXPECT_EQ(multiply(rig.stream), VECTIS_OK);
}

TEST_F(CudaLibraries, EachStreamHasOneWorkspace) {
  rig.host.settings["blas"] = std::getenv("VECTIS_TEST_CUBLASLT");
  need_operands();
  const std::int64_t before = driver.live(VECTIS_DRIVER_MEMORIES);
  EXPECT_EQ(multiply(rig.stream), VECTIS_OK);
  EXPECT_EQ(multiply(rig.stream), VECTIS_OK);
  EXPECT_EQ(driver.live(VECTIS_DRIVER_MEMORIES), before + 1);
  EXPECT_EQ(multiply(rig.other_stream), VECTIS_OK);
  EXPECT_EQ(driver.live(VECTIS_DRIVER_MEMORIES), before + 2);
  VectisMemoryInfo memory{sizeof memory, 0, 0};
  EXPECT_TRUE(succeeded(call_slot(plugin().device_memory, rig.state, 0U, &memory)));
  EXPECT_GE(memory.total_bytes - memory.free_bytes, std::uint64_t{64} << 20U);
  plugin().stream_destroy(std::exchange(rig.other_stream, nullptr));
  EXPECT_EQ(driver.live(VECTIS_DRIVER_MEMORIES), before + 1);
}

TEST_F(CudaLibraries, ProductsRunWithoutMemoryForAWorkspace) {
  rig.host.settings["blas"] = std::getenv("VECTIS_TEST_CUBLASLT");
  need_operands();
  driver.fail_call("cuMemAlloc_v2", 1, 2);
  EXPECT_EQ(multiply(rig.stream), VECTIS_OK);
  EXPECT_EQ(driver.struck(), 1);
}

#endif

}  // namespace
}  // namespace vectis::test
