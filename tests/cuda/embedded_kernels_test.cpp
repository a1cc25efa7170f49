// Built-in kernels embedded as PTX in the CUDA plug-in: they run with a driver and without NVRTC.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "tests/cuda/embedded_texts.hpp"
#include "tests/cuda/steering.hpp"
#include "tests/slots/rig.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr const char* no_library = "no-such-library.so";
constexpr int no_binary = 209;
constexpr int invalid_ptx = 218;
constexpr int unsupported_ptx_version = 222;

class EmbeddedKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (texts.empty()) GTEST_SKIP() << "this plug-in was built without NVRTC and embeds no kernels";
    driver.set_order(seed() | 1U);
    driver.reset();
    compiler.reset();
  }
  ~EmbeddedKernels() override {
    rig.destroy();
    driver.reset();
    driver.set("version", 13000);
    driver.set("architecture", 90);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }
  void without_nvrtc() { rig.host.settings["compiler"] = no_library; }
  SlotResult open() { return call_slot(plugin().open, rig.host.get(), &rig.state); }
  std::string dialects() {
    VectisDeviceInfo info{};
    info.size = sizeof info;
    EXPECT_TRUE(succeeded(call_slot(plugin().device_info, rig.state, 0U, &info)));
    return info.dialects;
  }
  SlotResult build(const std::string& text, const std::string& with) {
    if (rig.program != nullptr) plugin().program_destroy(std::exchange(rig.program, nullptr));
    rig.need_context();
    return call_slot(plugin().program_create, rig.context, program_dialect, text.data(), text.size(), with.c_str(),
                     &rig.program);
  }
  [[nodiscard]] std::uint32_t compilations() const { return calls_of(compiler, "nvrtcCompileProgram"); }

  const VectisTestDriver& driver = driver_of("cuda");
  const VectisTestDriver& compiler = steering("VECTIS_BACKENDS_CUDA_COMPILER");
  const std::vector<EmbeddedText> texts = embedded_texts();
  const std::string options = embedded_options();
  Rig rig;
};

// The kernel's name as its PTX states it.
std::string entry_of(const EmbeddedText& one) {
  constexpr std::string_view mark = ".visible .entry ";
  const std::size_t begin = one.ptx.find(mark) + mark.size();
  return one.ptx.substr(begin, one.ptx.find('(', begin) - begin);
}

// VECTIS_TEST_CONFORMANCE=whole loads all of them, which compiles each as host code when it was not yet.
TEST_F(EmbeddedKernels, LoadWithoutNvrtc) {
  without_nvrtc();
  const char* wanted = std::getenv("VECTIS_TEST_CONFORMANCE");
  const bool whole = wanted != nullptr && std::string(wanted) == "whole";
  std::mt19937_64 random(seed());
  for (std::size_t draw = 0; draw < (whole ? texts.size() : 6); ++draw) {
    const EmbeddedText& one = whole ? texts[draw] : texts[random() % texts.size()];
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(succeeded(build(one.text, options)));
    EXPECT_TRUE(succeeded(call_slot(plugin().kernel_create, rig.program, entry_of(one).c_str(), &rig.kernel)));
    plugin().kernel_destroy(std::exchange(rig.kernel, nullptr));
  }
  EXPECT_EQ(dialects(), "cuda-c++");
  EXPECT_GE(texts.size(), 100U);
}

TEST_F(EmbeddedKernels, AreListedByTheDoctor) {
  const std::string count = std::to_string(texts.size()) + " built-in kernels are embedded as PTX for sm_7";
  EXPECT_THAT(open().text, testing::AllOf(HasSubstr(count), testing::Not(HasSubstr("NVRTC"))));
  plugin().close(std::exchange(rig.state, nullptr));
  without_nvrtc();
  EXPECT_THAT(open().text, testing::AllOf(HasSubstr(count), HasSubstr("other kernels need NVRTC"),
                                          HasSubstr("no-such-library.so cannot be opened"), HasSubstr("pip install")));
  EXPECT_THAT(rig.host.logged(), testing::Contains(HasSubstr("runs built-in kernels and compiles no others")));
}

TEST_F(EmbeddedKernels, AreNotCompiledAgain) {
  EXPECT_TRUE(succeeded(build(texts.front().text, options)));
  EXPECT_EQ(compilations(), 0U);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 1U);
  EXPECT_TRUE(succeeded(build(texts.front().text, options + " -DNOTHING"))) << "other options are another program";
  EXPECT_TRUE(succeeded(build(texts.front().text + "\n", options))) << "and so is another text";
  EXPECT_EQ(compilations(), 2U);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 1U);
}

// A driver compiles PTX at each start of a container, where its own cache is lost: the binary needs no compiler.
TEST_F(EmbeddedKernels, HaveBinariesThatLoadWithoutCompiling) {
  without_nvrtc();
  const EmbeddedText& one = texts[seed() % texts.size()];
  EXPECT_TRUE(succeeded(build(one.text, options)));
  EXPECT_EQ(calls_of(driver, "cuLinkComplete"), 0U) << "only when it is asked for";
  std::size_t bytes = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, nullptr, &bytes)));
  std::string binary(bytes, '\0');
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, binary.data(), &bytes)));
  EXPECT_EQ(calls_of(driver, "cuLinkComplete"), 1U) << "once for both calls";
  rig.destroy();
  driver.reset();
  rig.need_context();
  EXPECT_TRUE(succeeded(
      call_slot(plugin().program_create, rig.context, "binary", binary.data(), binary.size(), "", &rig.program)));
  EXPECT_TRUE(succeeded(call_slot(plugin().kernel_create, rig.program, entry_of(one).c_str(), &rig.kernel)));
  EXPECT_EQ(calls_of(driver, "cuModuleLoadData"), 1U);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx") + calls_of(driver, "cuLinkComplete") + compilations(), 0U);
}

TEST_F(EmbeddedKernels, AreTheOnlyOnesWithoutNvrtc) {
  without_nvrtc();
  const SlotResult result = build(texts.front().text + "\n", options);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, HasSubstr("this text is no embedded kernel, and NVRTC cannot be used: no-such-library"));
}

TEST_F(EmbeddedKernels, RunOnTheOldestDriver) {
  driver.set("version", 11020);
  without_nvrtc();
  EXPECT_TRUE(succeeded(build(texts.back().text, options)));
}

// A text with two kinds of PTX: devices have that of the newest architecture they run.
TEST_F(EmbeddedKernels, UseInstructionsOfNewerDevices) {
  without_nvrtc();
  const auto found = std::ranges::find_if(texts, [](const EmbeddedText& one) {
    return one.text.find("#define CUDA_ARCHITECTURES 75, 80\n") != std::string::npos;
  });
  ASSERT_NE(found, texts.end());
  const auto code = [&](std::uint64_t architecture) {  // as the test driver names it
    rig.destroy();
    driver.set("architecture", architecture);
    EXPECT_TRUE(succeeded(build(found->text, options)));
    std::size_t bytes = 0;
    EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, nullptr, &bytes)));
    std::string binary(bytes, '\0');
    EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, rig.program, binary.data(), &bytes)));
    return binary.substr(binary.rfind(' '));
  };
  EXPECT_NE(code(75), code(80));
  EXPECT_EQ(code(80), code(90));
  rig.destroy();
  driver.set("architecture", 70);
  const SlotResult older = build(found->text, options);
  EXPECT_EQ(older.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(older.text, HasSubstr("the driver rejects the embedded PTX"));
}

TEST_F(EmbeddedKernels, AreNotUsedOnOlderDevices) {
  driver.set("architecture", 61);
  without_nvrtc();
  rig.need_state();
  EXPECT_EQ(dialects(), "");
  EXPECT_EQ(build(texts.front().text, options).status, VECTIS_UNSUPPORTED);
  EXPECT_EQ(calls_of(driver, "cuModuleLoadDataEx"), 0U);
}

TEST_F(EmbeddedKernels, AreCompiledWhenTheDriverRejectsThem) {
  rig.need_context();
  for (const int code : {no_binary, invalid_ptx, unsupported_ptx_version}) {
    compiler.reset();
    driver.fail_call("cuModuleLoadDataEx", 1, code);
    const SlotResult result = build(texts.front().text, options);
    EXPECT_TRUE(succeeded(result));
    EXPECT_THAT(result.text, HasSubstr("(" + std::to_string(code) + ")")) << "the reason is reported";
    EXPECT_EQ(compilations(), 1U);
  }
  rig.destroy();
  without_nvrtc();
  rig.need_context();
  driver.fail_call("cuModuleLoadDataEx", 1, unsupported_ptx_version);
  const SlotResult result = build(texts.front().text, options);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, testing::AllOf(HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"), HasSubstr("NVRTC")));
}

}  // namespace
}  // namespace vectis::test
