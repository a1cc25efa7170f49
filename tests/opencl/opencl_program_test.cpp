// Programs and launches through the backend contract, compared with results computed on the host.
#include <CL/cl.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

#include "tests/slots/rig.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

std::vector<float> floats(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), -7.5F);
  return values;
}

SlotResult build(const Rig& rig, const char* dialect, std::string_view text, VectisProgram** program) {
  return call_slot(plugin().program_create, rig.context, dialect, text.data(), text.size(), "", program);
}

TEST(OpenclProgram, TheBuildLogIsTheMessage) {
  Rig rig;
  rig.need_context();
  const SlotResult result = build(rig, "opencl-c", "__kernel void k() { undeclared_thing = 1; }", &rig.program);
  EXPECT_EQ(result.status, VECTIS_COMPILE_FAILED);
  EXPECT_THAT(result.text, HasSubstr("undeclared_thing"));
  EXPECT_EQ(rig.program, nullptr);
  rig.need_program();
}

TEST(OpenclProgram, TheFirstLineOfTheMessageStatesLineAndColumn) {
  Rig rig;
  rig.need_context();
  const std::string_view text =
      "#define STORE_y(i, v) (y[i] = (v))\n#line 1 \"kernel\"\n__kernel void k(__global float* y) {\n  STORE_y(0, "
      "wrong);\n}";
  const SlotResult result = build(rig, "opencl-c", text, &rig.program);
  EXPECT_EQ(result.status, VECTIS_COMPILE_FAILED);
  EXPECT_THAT(result.text.substr(0, result.text.find('\n')), HasSubstr("kernel:2:14"));
  EXPECT_THAT(result.text, HasSubstr("CL_BUILD_PROGRAM_FAILURE"));
}

TEST(OpenclProgram, ALongMessageIsTruncatedAtAWholeCharacter) {
  Rig rig;
  rig.need_context();
  const std::string_view text = "__kernel void k() {\n#error \u00E4\u00E4\u00E4\n}";
  const SlotResult whole = build(rig, "opencl-c", text, &rig.program);
  const std::size_t umlaut = whole.text.find("\u00E4");
  ASSERT_NE(umlaut, std::string::npos) << whole;
  const std::map<std::size_t, std::size_t> length_by_room{{1, 0},
                                                          {2, 1},
                                                          {umlaut + 1, umlaut},
                                                          {umlaut + 2, umlaut},
                                                          {umlaut + 3, umlaut + 2},
                                                          {umlaut + 4, umlaut + 2},
                                                          {umlaut + 5, umlaut + 4},
                                                          {whole.text.size() + 1, whole.text.size()}};
  for (const auto& [room, length] : length_by_room) {
    std::vector<char> text_buffer(room + 1, '!');
    VectisMessage message{sizeof(VectisMessage), text_buffer.data(), room, VECTIS_REASON_NONE};
    const VectisStatus status =
        plugin().program_create(rig.context, "opencl-c", text.data(), text.size(), "", &rig.program, &message);
    EXPECT_EQ(status, VECTIS_COMPILE_FAILED);
    EXPECT_EQ(std::strlen(text_buffer.data()), length) << text_buffer.data();
    EXPECT_EQ(text_buffer[room], '!') << "written past " << room;
  }
}

TEST(OpenclProgram, InvalidOptionsAreACompileFailure) {
  Rig rig;
  rig.need_context();
  const SlotResult result = call_slot(plugin().program_create, rig.context, "opencl-c", program_text.data(),
                                      program_text.size(), "--no-such-option", &rig.program);
  EXPECT_EQ(result.status, VECTIS_COMPILE_FAILED) << result;
}

TEST(OpenclProgram, AnUnknownDialectIsUnsupported) {
  Rig rig;
  rig.need_context();
  const SlotResult result = build(rig, "ptx", program_text, &rig.program);
  EXPECT_EQ(result.status, VECTIS_UNSUPPORTED);
  EXPECT_THAT(result.text, HasSubstr("'ptx'"));
}

TEST(OpenclProgram, AnUnknownKernelNameIsInvalidInput) {
  Rig rig;
  rig.need_program();
  const SlotResult result = call_slot(plugin().kernel_create, rig.program, "nobody", &rig.kernel);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("'nobody'"));
  rig.need_kernel();
}

class OpenclLaunch : public testing::Test {
 protected:
  void SetUp() override {
    rig.need_streams();
    rig.need_kernel();
    in = allocate(rig, values.size() * sizeof(float));
    out = allocate(rig, values.size() * sizeof(float));
    rig.upload(in.get(), values.data(), values.size() * sizeof(float));
  }
  void expect_mirrored(VectisKernel* kernel, std::uint32_t group) {
    EXPECT_TRUE(succeeded(
        launch_mirror(rig.stream, kernel, in.get(), out.get(), 0.5F, static_cast<std::int32_t>(values.size()), group)));
    const Bytes bytes = rig.download(out.get(), values.size() * sizeof(float));
    std::vector<float> got(values.size());
    std::memcpy(got.data(), bytes.data(), bytes.size());
    EXPECT_EQ(got, mirror_oracle(values, 0.5F, group));
  }

  Rig rig;
  const std::vector<float> values = floats(1000);
  std::shared_ptr<VectisMemory> in;
  std::shared_ptr<VectisMemory> out;
};

TEST_F(OpenclLaunch, ComputesWhatTheHostComputes) {
  for (const std::uint32_t group : {1U, 7U, 64U}) expect_mirrored(rig.kernel, group);
}

TEST_F(OpenclLaunch, HasThreeDimensions) {
  VectisKernel* place = nullptr;
  ASSERT_TRUE(succeeded(call_slot(plugin().kernel_create, rig.program, "place", &place)));
  constexpr std::size_t items = std::size_t{6} * 6 * 2;
  const auto memory = allocate(rig, items * sizeof(std::uint32_t));
  const VectisArgument argument{VECTIS_ARGUMENT_MEMORY, memory.get(), nullptr, 0};
  const VectisLaunch launch{sizeof(VectisLaunch), {2, 3, 1}, {3, 2, 2}, &argument, 1};
  EXPECT_TRUE(succeeded(call_slot(plugin().launch, rig.stream, place, &launch)));
  const Bytes bytes = rig.download(memory.get(), items * sizeof(std::uint32_t));
  std::vector<std::uint32_t> got(items);
  std::memcpy(got.data(), bytes.data(), bytes.size());
  for (std::uint32_t at = 0; at < items; ++at) {
    const std::uint32_t x = at % 6;
    const std::uint32_t y = at / 6 % 6;
    const std::uint32_t z = at / 36;
    ASSERT_EQ(got[at], x % 3 + 10 * (y % 2) + 100 * (z % 2) + 1000 * (x / 3) + 10000 * (y / 2) + 100000 * (z / 2));
  }
  plugin().kernel_destroy(place);
}

TEST_F(OpenclLaunch, RejectsAWrongNumberOfArguments) {
  const VectisArgument argument{VECTIS_ARGUMENT_MEMORY, in.get(), nullptr, 0};
  const VectisLaunch launch{sizeof(VectisLaunch), {1, 1, 1}, {1, 1, 1}, &argument, 1};
  expect_mirrored(rig.kernel, 1);  // its arguments stay set in the driver, and must not serve the next launch
  const SlotResult result = call_slot(plugin().launch, rig.stream, rig.kernel, &launch);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("1 arguments, the kernel takes 5"));
  expect_mirrored(rig.kernel, 1);
}

TEST_F(OpenclLaunch, RejectsAnArgumentOfTheWrongSize) {
  const double factor = 1.0;
  std::array<VectisArgument, 5> arguments{};
  arguments[0] = arguments[1] = {VECTIS_ARGUMENT_MEMORY, in.get(), nullptr, 0};
  arguments[2] = arguments[3] = {VECTIS_ARGUMENT_VALUE, nullptr, &factor, sizeof factor};
  arguments[4] = {VECTIS_ARGUMENT_SHARED, nullptr, nullptr, sizeof(float)};
  const VectisLaunch launch{sizeof(VectisLaunch), {1, 1, 1}, {1, 1, 1}, arguments.data(), arguments.size()};
  const SlotResult result = call_slot(plugin().launch, rig.stream, rig.kernel, &launch);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("argument 2"));
}

// A driver whose kernels need so many registers that their work-groups have at most 8 work-items.
cl_int CL_API_CALL report_small_groups(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info parameter,
                                       std::size_t room, void* value, std::size_t* needed) {
  static const auto real = reinterpret_cast<decltype(&report_small_groups)>(
      dlsym(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), "clGetKernelWorkGroupInfo"));
  const cl_int code = real(kernel, device, parameter, room, value, needed);
  const std::size_t items = 8;
  if (code == CL_SUCCESS && parameter == CL_KERNEL_WORK_GROUP_SIZE) std::memcpy(value, &items, sizeof items);
  return code;
}

TEST(OpenclKernelLimit, ALargerWorkGroupIsRejectedByName) {
  Rig rig;
  rig.host.replaced["clGetKernelWorkGroupInfo"] = reinterpret_cast<void*>(&report_small_groups);
  rig.need_streams();
  rig.need_kernel();
  rig.need_memory();
  const auto launch = [&](std::uint32_t group) {
    return launch_mirror(rig.stream, rig.kernel, rig.memory, rig.other_memory, 1.0F, 100, group);
  };
  EXPECT_TRUE(succeeded(launch(8)));
  const SlotResult result = launch(9);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(result.text,
            "a work-group of 9 work-items exceeds the limit of 8 for kernel 'mirror' on this device; use smaller "
            "work-groups");
  EXPECT_TRUE(succeeded(launch(8)));
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

// --- The language ---------------------------------------------------------------------------------------------------

const char* stated_version = "";
const char* stated_extensions = "";
std::string built_with;

template <class Function>
Function* real_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), name));
}

cl_int CL_API_CALL describe_language(cl_device_id device, cl_device_info parameter, std::size_t room, void* value,
                                     std::size_t* needed) {
  static auto* const real = real_function<decltype(describe_language)>("clGetDeviceInfo");
  const char* text = parameter == CL_DEVICE_VERSION      ? stated_version
                     : parameter == CL_DEVICE_EXTENSIONS ? stated_extensions
                                                         : nullptr;
  if (text == nullptr) return real(device, parameter, room, value, needed);
  const std::size_t bytes = std::strlen(text) + 1;
  if (needed != nullptr) *needed = bytes;
  if (value != nullptr && room >= bytes) std::memcpy(value, text, bytes);
  return CL_SUCCESS;
}

cl_int CL_API_CALL record_options(cl_program program, cl_uint devices, const cl_device_id* list, const char* options,
                                  void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  static auto* const real = real_function<decltype(record_options)>("clBuildProgram");
  built_with = options;
  return real(program, devices, list, "", notify, data);
}

std::string options_of(const char* version, const char* extensions, const char* options) {
  stated_version = version;
  stated_extensions = extensions;
  Rig rig;
  rig.host.replaced["clGetDeviceInfo"] = reinterpret_cast<void*>(&describe_language);
  rig.host.replaced["clBuildProgram"] = reinterpret_cast<void*>(&record_options);
  rig.need_context();
  constexpr std::string_view text = "__kernel void nothing() {}";
  VectisProgram* program = nullptr;
  EXPECT_TRUE(succeeded(
      call_slot(plugin().program_create, rig.context, "opencl-c", text.data(), text.size(), options, &program)));
  plugin().program_destroy(program);
  return built_with;
}

TEST(OpenclLanguage, IsNewerForDotProductsAlone) {
  const char* const with = "cl_khr_fp64 cl_khr_integer_dot_product";
  EXPECT_EQ(options_of("OpenCL 3.0 NEO", with, "-cl-std=CL1.2"), "-cl-std=CL3.0");
  EXPECT_EQ(options_of("OpenCL 3.0 NEO", with, "-w -cl-std=CL1.2 -DX=1"), "-w -cl-std=CL3.0 -DX=1");
  EXPECT_EQ(options_of("OpenCL 3.0 NEO", "cl_khr_fp64", "-cl-std=CL1.2"), "-cl-std=CL1.2");
  EXPECT_EQ(options_of("OpenCL 2.1 NEO", with, "-cl-std=CL1.2"), "-cl-std=CL1.2");
  EXPECT_EQ(options_of("OpenCL 3.0 NEO", with, "-cl-std=CL2.0"), "-cl-std=CL2.0");
  EXPECT_EQ(options_of("OpenCL 3.0 NEO", with, ""), "");
}

std::vector<char> binary_of(VectisProgram* program) {
  std::size_t bytes = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, program, nullptr, &bytes)));
  EXPECT_GT(bytes, 0U);
  std::vector<char> binary(bytes);
  std::size_t little = bytes - 1;
  EXPECT_EQ(call_slot(plugin().program_binary, program, binary.data(), &little).status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(little, bytes - 1);
  EXPECT_TRUE(succeeded(call_slot(plugin().program_binary, program, binary.data(), &bytes)));
  EXPECT_EQ(bytes, binary.size());
  return binary;
}

TEST_F(OpenclLaunch, RunsFromACachedBinary) {
  const std::vector<char> binary = binary_of(rig.program);
  VectisProgram* again = nullptr;
  ASSERT_TRUE(succeeded(build(rig, "binary", {binary.data(), binary.size()}, &again)));
  VectisKernel* kernel = nullptr;
  ASSERT_TRUE(succeeded(call_slot(plugin().kernel_create, again, "mirror", &kernel)));
  expect_mirrored(kernel, 64);
  plugin().kernel_destroy(kernel);
  plugin().program_destroy(again);
}

TEST_F(OpenclLaunch, RejectsACorruptBinary) {
  VectisProgram* again = nullptr;
  const SlotResult result = build(rig, "binary", "not a binary at all", &again);
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT) << result;
  EXPECT_EQ(again, nullptr);
}

// Launches a shared kernel again and again, with arguments of this thread alone.
void launch_often(const Rig& rig, int thread, int rounds) {
  constexpr std::uint32_t count = 64;
  const std::vector<float> values = floats(count);
  constexpr std::size_t size = count * sizeof(float);
  const auto in = allocate(rig, size);
  const auto out = allocate(rig, size);
  VectisStream* stream = nullptr;
  ASSERT_TRUE(succeeded(call_slot(plugin().stream_create, rig.context, &stream)));
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_device, stream, in.get(), 0U, values.data(), size)));
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto factor = static_cast<float>(thread * rounds + round);
    std::vector<float> got(values.size());
    EXPECT_TRUE(succeeded(launch_mirror(stream, rig.kernel, in.get(), out.get(), factor, count, count)));
    EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, stream, got.data(), out.get(), 0U, size)));
    EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, stream)));
    if (got != mirror_oracle(values, factor, count)) ++wrong;
  }
  EXPECT_EQ(wrong, 0) << "of " << rounds << " launches in thread " << thread;
  plugin().stream_destroy(stream);
}

TEST(OpenclConcurrent, ThreadsShareAKernel) {
  Rig rig;
  rig.need_kernel();
  std::vector<std::thread> running(4);
  for (int thread = 0; thread < 4; ++thread) {
    running[static_cast<std::size_t>(thread)] = std::thread([&rig, thread] { launch_often(rig, thread, 2000); });
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace
}  // namespace vectis::test
