// Built-in kernels that travel as PTX in the CUDA plug-in: they run where there is a driver and no NVRTC.
#include "tests/cuda/carried.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "tests/cuda/steering.hpp"
#include "tests/opencl/harness.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr const char* no_library = "no-such-library.so";
constexpr int no_binary = 209;
constexpr int invalid_ptx = 218;
constexpr int unsupported_ptx_version = 222;

std::uint32_t calls_of(const VectisTestDriver& library, const std::string& function) {
  for (std::uint32_t index = 0; index < library.function_count(); ++index) {
    if (library.function_name(index) == function) return library.calls(index);
  }
  return 0;
}

class CarriedKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (texts.empty()) GTEST_SKIP() << "this plug-in was built without NVRTC and carries no kernels";
    driver.set_order(seed() | 1U);
    driver.reset();
    compiler.reset();
  }
  ~CarriedKernels() override {
    rig.destroy();
    driver.reset();
    driver.set("version", 13000);
    driver.set("architecture", 90);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }
  void without_nvrtc() { rig.host.settings["compiler"] = no_library; }
  Answer open() { return ask(plugin().open, rig.host.get(), &rig.state); }
  std::string dialects() {
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_TRUE(works(ask(plugin().device_info, rig.state, 0U, &info)));
    return info.dialects;
  }
  Answer build(const std::string& text, const std::string& with) {
    if (rig.program != nullptr) plugin().program_destroy(std::exchange(rig.program, nullptr));
    rig.need_context();
    return ask(plugin().program_create, rig.context, program_dialect, text.data(), text.size(), with.c_str(),
               &rig.program);
  }
  [[nodiscard]] std::uint32_t compilations() const { return calls_of(compiler, "nvrtcCompileProgram"); }

  const VectisTestDriver& driver = driver_of("cuda");
  const VectisTestDriver& compiler = steering("VECTIS_BACKENDS_CUDA_COMPILER");
  const std::vector<CarriedText> texts = carried_texts();
  const std::string options = carried_options();
  Rig rig;
};

// The kernel's name as its PTX states it.
std::string entry_of(const CarriedText& one) {
  constexpr std::string_view mark = ".visible .entry ";
  const std::size_t begin = one.ptx.find(mark) + mark.size();
  return one.ptx.substr(begin, one.ptx.find('(', begin) - begin);
}

// VECTIS_TEST_CONFORMANCE=whole loads all of them, which compiles each as host code when it was not yet.
TEST_F(CarriedKernels, LoadWithoutNvrtc) {
  without_nvrtc();
  const char* wanted = std::getenv("VECTIS_TEST_CONFORMANCE");
  const bool whole = wanted != nullptr && std::string(wanted) == "whole";
  std::mt19937_64 random(seed());
  for (std::size_t draw = 0; draw < (whole ? texts.size() : 6); ++draw) {
    const CarriedText& one = whole ? texts[draw] : texts[random() % texts.size()];
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(works(build(one.text, options)));
    EXPECT_TRUE(works(ask(plugin().kernel_create, rig.program, entry_of(one).c_str(), &rig.kernel)));
    plugin().kernel_destroy(std::exchange(rig.kernel, nullptr));
    std::size_t bytes = 0;
    EXPECT_EQ(ask(plugin().program_binary, rig.program, nullptr, &bytes).status, VECTIS_UNSUPPORTED) << "no need";
  }
  EXPECT_EQ(dialects(), "cuda-c++");
  EXPECT_GE(texts.size(), 100U);
}

TEST_F(CarriedKernels, AreToldToTheDoctor) {
  const std::string count = std::to_string(texts.size()) + " built-in kernels travel as PTX for sm_7";
  EXPECT_THAT(open().text, testing::AllOf(HasSubstr(count), testing::Not(HasSubstr("NVRTC"))));
  plugin().close(std::exchange(rig.state, nullptr));
  without_nvrtc();
  EXPECT_THAT(open().text, testing::AllOf(HasSubstr(count), HasSubstr("kernels that do not travel need NVRTC"),
                                          HasSubstr("no-such-library.so cannot be opened"), HasSubstr("pip install")));
  EXPECT_THAT(rig.host.logged(), testing::Contains(HasSubstr("runs built-in kernels and compiles no others")));
}

TEST_F(CarriedKernels, AreNotCompiledWhereNvrtcIs) {
  EXPECT_TRUE(works(build(texts.front().text, options)));
  EXPECT_EQ(compilations(), 0U);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 1U);
  EXPECT_TRUE(works(build(texts.front().text, options + " -DNOTHING"))) << "other options are another program";
  EXPECT_TRUE(works(build(texts.front().text + "\n", options))) << "and so is another text";
  EXPECT_EQ(compilations(), 2U);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 1U);
}

TEST_F(CarriedKernels, AreAllThereIsWithoutNvrtc) {
  without_nvrtc();
  const Answer answer = build(texts.front().text + "\n", options);
  EXPECT_EQ(answer.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(answer.text, HasSubstr("this text does not travel compiled, and NVRTC cannot be used: no-such-library"));
}

TEST_F(CarriedKernels, ServeTheOldestDriver) {
  driver.set("version", 11020);
  without_nvrtc();
  EXPECT_TRUE(works(build(texts.back().text, options)));
}

TEST_F(CarriedKernels, AreNotForOlderDevices) {
  driver.set("architecture", 61);
  without_nvrtc();
  rig.need_state();
  EXPECT_EQ(dialects(), "");
  EXPECT_EQ(build(texts.front().text, options).status, VECTIS_UNSUPPORTED);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 0U);
}

TEST_F(CarriedKernels, AreCompiledWhereTheDriverRefusesThem) {
  rig.need_context();
  for (const int code : {no_binary, invalid_ptx, unsupported_ptx_version}) {
    compiler.reset();
    driver.fail_call("cuModuleLoadDataEx", 1, code);
    const Answer answer = build(texts.front().text, options);
    EXPECT_TRUE(works(answer));
    EXPECT_THAT(answer.text, HasSubstr("(" + std::to_string(code) + ")")) << "it is said";
    EXPECT_EQ(compilations(), 1U);
  }
  rig.destroy();
  without_nvrtc();
  rig.need_context();
  driver.fail_call("cuModuleLoadDataEx", 1, unsupported_ptx_version);
  const Answer answer = build(texts.front().text, options);
  EXPECT_EQ(answer.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(answer.text, testing::AllOf(HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"), HasSubstr("NVRTC")));
}

}  // namespace
}  // namespace vectis::test
