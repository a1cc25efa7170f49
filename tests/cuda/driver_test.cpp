// The violations that the test driver detects, provoked through CUDA's functions.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/cuda/embedded_texts.hpp"
#include "tests/cuda/steering.hpp"
#include "tests/support/seed.hpp"

struct _nvrtcProgram;  // NVRTC's own name for it

namespace vectis::test {
namespace {

using testing::HasSubstr;

template <class Function>
Function symbol(const char* variable, const char* name) {
  void* library = dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL);
  void* address = library == nullptr ? nullptr : dlsym(library, name);
  if (address == nullptr) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function>(address);
}

#define DRIVER(function) symbol<decltype(&::function)>("VECTIS_BACKENDS_CUDA_DRIVER", #function)
#define COMPILER(type, function) symbol<type>("VECTIS_BACKENDS_CUDA_COMPILER", #function)

std::string compiled(const char* text, const char* definition = "-DVECTIS") {
  using Handle = _nvrtcProgram*;
  Handle program = nullptr;
  const auto create = COMPILER(int (*)(Handle*, const char*, const char*, int, const char* const*, const char* const*),
                               nvrtcCreateProgram);
  create(&program, text, "", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=sm_90", definition};
  EXPECT_EQ(COMPILER(int (*)(Handle, int, const char* const*), nvrtcCompileProgram)(program, 2, options), 0);
  std::size_t bytes = 0;
  COMPILER(int (*)(Handle, std::size_t*), nvrtcGetCUBINSize)(program, &bytes);
  std::string image(bytes, '\0');
  COMPILER(int (*)(Handle, char*), nvrtcGetCUBIN)(program, image.data());
  COMPILER(int (*)(Handle*), nvrtcDestroyProgram)(&program);
  return image;
}

// A context, a stream and some memory.
class TestDriver : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 4096;

  TestDriver() {
    DRIVER(cuInit)(0);
    DRIVER(cuDevicePrimaryCtxRetain)(&context, 0);
    DRIVER(cuCtxPushCurrent_v2)(context);
    DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    DRIVER(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING);
    DRIVER(cuEventCreate)(&event, 0);
    DRIVER(cuMemAlloc_v2)(&memory, bytes);
    driver.set_order(seed() | 1U);
  }
  ~TestDriver() override {
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    if (memory != 0) DRIVER(cuMemFree_v2)(memory);
    DRIVER(cuEventDestroy_v2)(event);
    DRIVER(cuStreamDestroy_v2)(stream);
    DRIVER(cuStreamDestroy_v2)(other);
    DRIVER(cuCtxPopCurrent_v2)(&context);
    DRIVER(cuDevicePrimaryCtxRelease_v2)(0);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }

  // `careless` is found, and said in these words.
  void expect_found(const std::function<void()>& careless, const std::string& words) {
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
    careless();
    EXPECT_GT(driver.violations(), 0) << words;
    EXPECT_THAT(driver.last_violation(), HasSubstr(words));
    driver.forgive();
  }
  void fill(CUstream on, unsigned char value) { DRIVER(cuMemsetD8Async)(memory, value, bytes, on); }
  unsigned char first_byte(CUstream on) {
    unsigned char value = 0;
    DRIVER(cuMemcpyDtoHAsync_v2)(&value, memory, 1, on);
    DRIVER(cuStreamSynchronize)(on);
    return value;
  }
  void launch(const char* text, const char* name, unsigned threads, const char* definition = "-DVECTIS") {
    const std::string image = compiled(text, definition);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    ASSERT_EQ(DRIVER(cuModuleLoadData)(&module, image.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&function, module, name), CUDA_SUCCESS);
    void* parameters[] = {&memory};
    EXPECT_EQ(DRIVER(cuLaunchKernel)(function, 2, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    DRIVER(cuModuleUnload)(module);
  }

  const VectisTestDriver& driver = driver_of("cuda");
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUstream other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
};

TEST_F(TestDriver, RunsEmbeddedPtxFromItsText) {
  const std::vector<EmbeddedText> texts = embedded_texts();
  if (texts.empty()) GTEST_SKIP() << "the CUDA plug-in was built without NVRTC";
  const std::string& ptx = texts.front().ptx;
  const auto load = [&](const std::string& image) {
    CUmodule module = nullptr;
    const CUresult code = DRIVER(cuModuleLoadDataEx)(&module, image.c_str(), 0, nullptr, nullptr);
    if (code == CUDA_SUCCESS) DRIVER(cuModuleUnload)(module);
    return code;
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string image = ptx;
    return image.replace(image.find(from), from.size(), to);
  };
  EXPECT_EQ(load(ptx), CUDA_SUCCESS);
  EXPECT_EQ(load(changed(".version 7.2", ".version 99.0")), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(load(changed(".target sm_7", ".target sm_97")), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(changed("// vectis text ", "// vectis text 0123456789abcdef\n")), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(ptx.substr(ptx.find('\n') + 1)), CUDA_ERROR_INVALID_PTX) << "of no text that is known";
  EXPECT_EQ(load("// no PTX"), CUDA_ERROR_INVALID_PTX);
  driver.set("version", 11010);
  EXPECT_EQ(load(ptx), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  driver.set("version", CUDA_VERSION);
  expect_found([&] { load(changed(".entry ", ".entry other_")); }, "are not those of the text");
  expect_found([&] { load(changed(".param .u32 ", ".param .u64 ")); }, "are not those of the text");
}

TEST_F(TestDriver, DetectsWrongRanges) {
  std::vector<char> host(bytes + 1);
  expect_found([&] { DRIVER(cuMemcpyHtoDAsync_v2)(memory, host.data(), bytes + 1, stream); }, "4097 bytes at 0");
  expect_found([&] { DRIVER(cuMemcpyDtoHAsync_v2)(host.data(), memory + 1, bytes, stream); }, "4096 bytes at 1");
  expect_found([&] { DRIVER(cuMemsetD8Async)(memory + bytes, 0, 1, stream); }, "1 bytes at 4096");
  expect_found([&] { DRIVER(cuMemsetD8Async)(1234, 0, 1, stream); }, "is no address of the device");
  expect_found([&] { DRIVER(cuMemcpyDtoDAsync_v2)(memory + 10, memory, 20, stream); }, "overlaps");
}

TEST_F(TestDriver, DetectsWrongFrees) {
  expect_found([&] { DRIVER(cuMemFree_v2)(memory + 4); }, "is no allocation");
  driver.set_order(2);
  for (int i = 0; i < 20; ++i) fill(stream, 1);
  expect_found([&] { DRIVER(cuMemFree_v2)(memory); }, "pieces of queued work use it");
  expect_found([&] { DRIVER(cuMemFree_v2)(memory); }, "freed already");
  expect_found([&] { fill(stream, 1); }, "freed memory");
  memory = 0;
}

TEST_F(TestDriver, DetectsAMissingContextAndWrongHandles) {
  std::thread([&] {
    CUdeviceptr address = 0;
    expect_found([&] { DRIVER(cuMemAlloc_v2)(&address, 16); }, "none is current");
    expect_found([&] { DRIVER(cuStreamSynchronize)(stream); }, "none is current");
  }).join();
  CUcontext second = nullptr;
  DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
  DRIVER(cuCtxPushCurrent_v2)(second);
  expect_found([&] { DRIVER(cuStreamSynchronize)(stream); }, "a stream of another context");
  expect_found([&] { DRIVER(cuEventQuery)(event); }, "an event of another context");
  DRIVER(cuCtxPopCurrent_v2)(&second);
  DRIVER(cuDevicePrimaryCtxRelease_v2)(1);
  expect_found([&] { DRIVER(cuCtxPushCurrent_v2)(second); }, "nobody holds");
  expect_found([&] { DRIVER(cuEventDestroy_v2)(reinterpret_cast<CUevent>(stream)); }, "a handle of no event");
  expect_found([&] { DRIVER(cuStreamSynchronize)(nullptr); }, "the default stream");
}

TEST_F(TestDriver, DetectsObjectsLeftInAContext) {
  CUcontext second = nullptr;
  CUdeviceptr forgotten = 0;
  DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
  DRIVER(cuCtxPushCurrent_v2)(second);
  expect_found([&] { DRIVER(cuDevicePrimaryCtxRelease_v2)(1); }, "ends while it is current");
  DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
  DRIVER(cuMemAlloc_v2)(&forgotten, 100);
  DRIVER(cuCtxPopCurrent_v2)(&second);
  expect_found([&] { DRIVER(cuDevicePrimaryCtxRelease_v2)(1); }, "ends with 1 objects");
  DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
  DRIVER(cuCtxPushCurrent_v2)(second);
  DRIVER(cuMemFree_v2)(forgotten);
  DRIVER(cuCtxPopCurrent_v2)(&second);
  DRIVER(cuDevicePrimaryCtxRelease_v2)(1);
}

TEST_F(TestDriver, DetectsPeerCopiesWithoutAccess) {
  CUcontext second = nullptr;
  CUdeviceptr there = 0;
  DRIVER(cuDevicePrimaryCtxRetain)(&second, 1);
  DRIVER(cuCtxPushCurrent_v2)(second);
  DRIVER(cuMemAlloc_v2)(&there, bytes);
  DRIVER(cuCtxPopCurrent_v2)(&second);
  const auto copy = [&](CUdeviceptr target, CUdeviceptr source, std::size_t count) {
    DRIVER(cuMemcpyPeerAsync)(target, context, source, second, count, stream);
  };
  expect_found([&] { copy(memory, there, 1); }, "without access");
  driver.set("peer", 0);
  int reaches = 1;
  EXPECT_EQ(DRIVER(cuDeviceCanAccessPeer)(&reaches, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(reaches, 0);
  expect_found([&] { DRIVER(cuCtxEnablePeerAccess)(second, 0); }, "out of reach");
  driver.set("peer", 1);
  expect_found([&] { DRIVER(cuCtxEnablePeerAccess)(context, 0); }, "out of reach");
  EXPECT_EQ(DRIVER(cuCtxEnablePeerAccess)(second, 0), CUDA_SUCCESS);
  EXPECT_EQ(DRIVER(cuCtxEnablePeerAccess)(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  expect_found([&] { copy(memory, there + 1, bytes); }, "source of a peer copy: 4096 bytes at 1");
  expect_found([&] { copy(memory + 1, there, bytes); }, "target of a peer copy: 4096 bytes at 1");
  expect_found([&] { copy(there, memory, bytes); }, "memory of another device");
  copy(memory, there, bytes);
  DRIVER(cuStreamSynchronize)(stream);
  DRIVER(cuCtxPushCurrent_v2)(second);
  DRIVER(cuMemFree_v2)(there);
  DRIVER(cuCtxPopCurrent_v2)(&second);
  DRIVER(cuDevicePrimaryCtxRelease_v2)(1);
  expect_found([&] { DRIVER(cuCtxEnablePeerAccess)(second, 0); }, "nobody holds");
}

TEST_F(TestDriver, DetectsMisuseOfPinnedMemory) {
  void* pinned = nullptr;
  expect_found([&] { DRIVER(cuMemHostAlloc)(&pinned, bytes, 0); }, "one context alone");
  ASSERT_EQ(DRIVER(cuMemHostAlloc)(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  const std::int64_t before = driver.pinned_copies();
  DRIVER(cuMemcpyDtoHAsync_v2)(static_cast<char*>(pinned) + 1, memory, bytes - 1, stream);
  EXPECT_EQ(driver.pinned_copies(), before + 1);
  expect_found([&] { DRIVER(cuMemcpyDtoHAsync_v2)(static_cast<char*>(pinned) + 1, memory, bytes, stream); },
               "reaches beyond pinned memory");
  driver.set_order(2);
  for (int i = 0; i < 20; ++i) DRIVER(cuMemcpyDtoHAsync_v2)(pinned, memory, bytes, stream);
  expect_found([&] { DRIVER(cuMemFreeHost)(pinned); }, "pieces of queued work use it");
  DRIVER(cuStreamSynchronize)(stream);
  expect_found([&] { DRIVER(cuMemFreeHost)(pinned); }, "freed already");
  expect_found([&] { DRIVER(cuMemcpyDtoHAsync_v2)(pinned, memory, 1, stream); }, "pinned memory that is freed");
  int ordinary = 0;
  expect_found([&] { DRIVER(cuMemFreeHost)(&ordinary); }, "not pinned");
}

// With every seed, code that waits reads what was written.
TEST_F(TestDriver, KeepsTheOrderOfStreamsAndEvents) {
  for (unsigned round = 0; round < 200; ++round) {
    const auto value = static_cast<unsigned char>(round);
    fill(stream, value);
    DRIVER(cuEventRecord)(event, stream);
    DRIVER(cuStreamWaitEvent)(other, event, 0);
    ASSERT_EQ(first_byte(other), value);
    ASSERT_EQ(DRIVER(cuEventQuery)(event), CUDA_SUCCESS);
    DRIVER(cuEventRecord)(event, other);
    DRIVER(cuStreamWaitEvent)(stream, event, 0);
  }
}

// Code that does not wait reads old bytes within a few rounds.
TEST_F(TestDriver, DetectsAForgottenWait) {
  unsigned wrong_across = 0;
  unsigned wrong_host = 0;
  unsigned not_ready = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const auto value = static_cast<unsigned char>(round + 1);
    fill(stream, value);
    DRIVER(cuEventRecord)(event, stream);
    if (DRIVER(cuEventQuery)(event) == CUDA_ERROR_NOT_READY) ++not_ready;
    if (first_byte(other) != value) ++wrong_across;
    DRIVER(cuStreamSynchronize)(stream);
    unsigned char early = 0;
    DRIVER(cuMemcpyDtoHAsync_v2)(&early, memory, 1, stream);
    if (early != value) ++wrong_host;
    DRIVER(cuStreamSynchronize)(stream);
  }
  EXPECT_GT(wrong_across, 5U);
  EXPECT_GT(wrong_host, 30U);
  EXPECT_GT(not_ready, 30U);
}

TEST_F(TestDriver, RunsKernelsAndDetectsDivergentBarriers) {
  launch(R"(extern "C" __global__ void reversed(unsigned* out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    unsigned sum = 0;
    for (unsigned step = 0; step < 3; ++step) {
      sum += tile[63 - threadIdx.x];
      __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum + blockIdx.x;
  })",
         "reversed", 64);
  std::vector<unsigned> out(128);
  DRIVER(cuMemcpyDtoHAsync_v2)(out.data(), memory, 512, stream);
  DRIVER(cuStreamSynchronize)(stream);
  for (unsigned i = 0; i < 128; ++i) ASSERT_EQ(out[i], 3 * (63 - i % 64) + i / 64) << i;
  expect_found(
      [&] {
        launch(
            R"(extern "C" __global__ void some(unsigned* out) { if (threadIdx.x < 3) __syncthreads(); out[0] = 1; })",
            "some", 8);
      },
      "divergent barrier in some: 3 of 8 threads");
  expect_found(
      [&] {
        launch(
            "extern \"C\" __global__ void apart(unsigned* out) {\n if (threadIdx.x < 3) {\n __syncthreads();\n }\n"
            "else {\n __syncthreads();\n }\n out[0] = 1; }",
            "apart", 8);
      },
      "divergent barrier in apart");
}

// The product of two matrices of ones, by two warps, and by a part of one.
TEST_F(TestDriver, RunsInstructionsOfWarps) {
  const std::string statements = R"(
      int c0 = 1, c1 = 2;
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(c0), "+r"(c1)
                   : "r"(a), "r"(b));
      out[threadIdx.x] = 100 * c0 + c1;)";
  const std::string head = "(unsigned* out) { unsigned a = 0x01010101u, b = 0xffffffffu; ";
  launch(("extern \"C\" __global__ void ones" + head + statements + "}").c_str(), "ones", 64);
  std::vector<unsigned> out(64);
  DRIVER(cuMemcpyDtoHAsync_v2)(out.data(), memory, 256, stream);
  DRIVER(cuStreamSynchronize)(stream);
  for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(static_cast<int>(out[i]), 100 * (1 - 16) + 2 - 16) << i;
  expect_found(
      [&] {
        launch(("extern \"C\" __global__ void few" + head + "if (threadIdx.x < 3) {" + statements + "} }").c_str(),
               "few", 64);
      },
      "an instruction of a warp that not all lanes run in few");
}

// AMD's instructions, which are the same functions on CUDA's driver once the macro of an architecture is defined: row i
// of `a` holds i, column j of `b` holds -j, in two waves of 64 lanes, and in a half of one.
TEST_F(TestDriver, RunsInstructionsOfWaves) {
  struct Shape {
    const char* definition;
    std::string call;
    int depth;
  };
  for (const Shape& shape :
       {Shape{"-D__gfx90a__", "__builtin_amdgcn_mfma_i32_16x16x16i8((int)a, (int)b, c, 0, 0, 0)", 16},
        Shape{"-D__gfx942__", "__builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0)", 32}}) {
    const std::string statements =
        "typedef int Four __attribute__((vector_size(16))); Four c = {5, 6, 7, 8};"
        "long long a = threadIdx.x % 16 * 0x0101010101010101ll, b = 0;"
        "for (int i = 0; i < 8; ++i) ((signed char*)&b)[i] = (signed char)-(int)(threadIdx.x % 16);"
        "c = " +
        shape.call + "; out[threadIdx.x] = c[0]; out[128 + threadIdx.x] = c[3];";
    launch(("extern \"C\" __global__ void waves(int* out) {" + statements + "}").c_str(), "waves", 128,
           shape.definition);
    std::vector<int> out(256);
    DRIVER(cuMemcpyDtoHAsync_v2)(out.data(), memory, 1024, stream);
    DRIVER(cuStreamSynchronize)(stream);
    for (int item = 0; item < 128; ++item) {
      const int row = item % 64 / 16 * 4;
      const int column = item % 16;
      ASSERT_EQ(out[static_cast<std::size_t>(item)], 5 - shape.depth * row * column) << item;
      ASSERT_EQ(out[static_cast<std::size_t>(128 + item)], 8 - shape.depth * (row + 3) * column) << item;
    }
    expect_found(
        [&] {
          launch(("extern \"C\" __global__ void half(int* out) { if (threadIdx.x < 32) {" + statements + "} }").c_str(),
                 "half", 64, shape.definition);
        },
        "an instruction of a warp that not all lanes run in half");
  }
}

TEST_F(TestDriver, DetectsAMissingBarrier) {
  unsigned wrong = 0;
  for (int round = 0; round < 20; ++round) {
    launch(R"(extern "C" __global__ void racing(unsigned* out) {
      __shared__ unsigned tile[64];
      tile[threadIdx.x] = threadIdx.x;
      out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    })",
           "racing", 64);
    std::vector<unsigned> out(64);
    DRIVER(cuMemcpyDtoHAsync_v2)(out.data(), memory, 256, stream);
    DRIVER(cuStreamSynchronize)(stream);
    for (unsigned i = 0; i < 64; ++i) wrong += out[i] != 63 - i ? 1U : 0U;
  }
  EXPECT_GT(wrong, 0U);
}

}  // namespace
}  // namespace vectis::test
