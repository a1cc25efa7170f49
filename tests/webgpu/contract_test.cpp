// Memory, streams, events and launches through the backend contract, compared with results computed on the host, over
// Vulkan (lavapipe) and OpenGL (llvmpipe).
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "harness.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

Bytes noise(std::size_t size, std::uint64_t salt = 0) {
  std::mt19937_64 random(seed() + size + salt);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

std::vector<std::uint32_t> words_of(const Bytes& bytes) {
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

class Webgpu : public testing::TestWithParam<std::string> {
 protected:
  // New memory that holds `words`.
  Memory upload(const std::vector<std::uint32_t>& words) {
    Memory memory = rig.allocate(words.size() * 4);
    rig.upload(memory.get(), words.data(), words.size() * 4);
    return memory;
  }

  Rig rig{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(GraphicsApis, Webgpu, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(Webgpu, DescribesTheDevice) {
  EXPECT_THAT(rig.info.name, HasSubstr("llvmpipe"));
  EXPECT_THAT(rig.info.driver, HasSubstr(GetParam() == "gl" ? "OpenGL" : "Vulkan"));
  EXPECT_THAT(rig.info.driver, HasSubstr("wgpu-native 29"));
  EXPECT_EQ(rig.info.software, 1);
  EXPECT_STREQ(rig.info.dialects, "wgsl,glsl-webgpu");
  EXPECT_EQ(rig.info.group_items_max, 256U);
  EXPECT_GE(rig.info.shared_bytes_max, 16384U);
  EXPECT_GE(rig.info.allocation_bytes_max, std::uint64_t{128} << 20U);
  EXPECT_GT(rig.info.memory_bytes, 0U);
}

TEST_P(Webgpu, MemoryIsReadBackAsWritten) {
  for (const std::size_t size : {1U, 2U, 3U, 4U, 5U, 127U, 4096U, 1000003U, 40U << 20U}) {
    const Memory memory = rig.allocate(size);
    const Bytes sent = noise(size);
    rig.upload(memory.get(), sent.data(), size);
    EXPECT_EQ(rig.download(memory.get(), size), sent) << size;
  }
}

TEST_P(Webgpu, UnalignedCopiesAndFillsLeaveTheRestUnchanged) {
  std::mt19937_64 random(seed());
  constexpr std::size_t room = 700;
  const Memory memory = rig.allocate(room);
  const Memory other = rig.allocate(room);
  Bytes expected = noise(room, 1);
  Bytes source = noise(room, 2);
  rig.upload(memory.get(), expected.data(), room);
  rig.upload(other.get(), source.data(), room);
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = 1 + random() % (round % 3 == 0 ? 8 : 340);
    const std::size_t from = random() % (room / 2 - bytes + 1);
    const std::size_t to = random() % (room - bytes + 1);
    const std::size_t behind = room / 2 + random() % (room / 2 - bytes + 1);  // no overlap with `from`
    const auto value = static_cast<std::uint8_t>(random());
    switch (random() % 4) {
      case 0:
        rig.upload(memory.get(), source.data() + from, bytes, to);
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        break;
      case 1:
        ASSERT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, memory.get(), to, bytes, value)));
        std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(to), bytes, value);
        break;
      case 2:
        ASSERT_TRUE(
            succeeded(call_slot(plugin().copy_on_device, rig.stream, memory.get(), to, other.get(), from, bytes)));
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        break;
      default:
        ASSERT_TRUE(
            succeeded(call_slot(plugin().copy_on_device, rig.stream, memory.get(), behind, memory.get(), from, bytes)));
        std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected.begin() + static_cast<std::ptrdiff_t>(behind));
    }
    if (round % 10 == 0) {
      ASSERT_EQ(rig.download(memory.get(), bytes, to),
                Bytes(expected.begin() + static_cast<std::ptrdiff_t>(to),
                      expected.begin() + static_cast<std::ptrdiff_t>(to + bytes)))
          << "seed " << seed() << " round " << round;
    }
  }
  EXPECT_EQ(rig.download(memory.get(), room), expected) << "seed " << seed();
}

TEST_P(Webgpu, LargeCopiesInsideOneBufferAreWhole) {
  const std::size_t size = (std::size_t{36} << 20U) + 5;
  const Memory memory = rig.allocate(2 * size);
  const Bytes sent = noise(size);
  rig.upload(memory.get(), sent.data(), size);
  ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.stream, memory.get(), size, memory.get(), 0U, size)));
  EXPECT_EQ(rig.download(memory.get(), size, size), sent);
}

TEST_P(Webgpu, SlicesOfOneBufferAreInputAndOutput) {
  const Memory whole = rig.allocate(4 * rig.info.memory_alignment);
  const Memory in = rig.slice(whole, rig.info.memory_alignment, 16);
  const Memory out = rig.slice(whole, 3 * rig.info.memory_alignment, 15);
  const std::vector<std::uint32_t> values{5, 6, 7, 8};
  rig.upload(in.get(), values.data(), 16);
  const Kernel add = rig.kernel(add_text, "add");
  ASSERT_TRUE(succeeded(launch(rig.stream, add, {{in.get(), out.get()}, {100, 4}})));
  EXPECT_EQ(words_of(rig.download(out.get(), 16)), (std::vector<std::uint32_t>{105, 106, 107, 108}));
  EXPECT_EQ(words_of(rig.download(whole.get(), 16, 3 * rig.info.memory_alignment)),
            (std::vector<std::uint32_t>{105, 106, 107, 108}));
  ASSERT_TRUE(succeeded(launch(rig.stream, add, {{in.get(), in.get()}, {1, 4}})));
  EXPECT_EQ(words_of(rig.download(in.get(), 16)), (std::vector<std::uint32_t>{6, 7, 8, 9}));
}

TEST_P(Webgpu, ManyLaunchesKeepTheirOrderAndTheirScalars) {
  const Kernel add = rig.kernel(add_text, "add");
  const Memory a = upload(std::vector<std::uint32_t>(64, 0));
  const Memory b = rig.allocate(256);
  std::uint32_t total = 0;
  for (std::uint32_t round = 0; round < 1000; ++round) {
    const bool back = round % 2 == 1;
    ASSERT_TRUE(
        succeeded(launch(rig.stream, add, {{back ? b.get() : a.get(), back ? a.get() : b.get()}, {round, 64}})));
    total += round;
  }
  EXPECT_EQ(words_of(rig.download(a.get(), 256)), std::vector<std::uint32_t>(64, total));
}

TEST_P(Webgpu, FreedMemoryStaysForWorkInFlight) {
  const Bytes sent = noise(4096);
  const Memory kept = rig.allocate(4096);
  {
    const Memory memory = rig.allocate(4096);
    rig.upload(memory.get(), sent.data(), 4096);
    ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.stream, kept.get(), 0U, memory.get(), 0U, 4096U)));
  }
  EXPECT_EQ(rig.download(kept.get(), 4096), sent);
}

TEST_P(Webgpu, EventsOrderTwoStreams) {
  const auto event = rig.event();
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, event.get())));  // never recorded: passed
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, event.get())));
  const Kernel slow = rig.kernel(slow_text, "slow");
  const Memory result = rig.allocate(16);
  constexpr std::uint32_t rounds = 60000;
  ASSERT_TRUE(succeeded(launch(rig.stream, slow, {{result.get()}, {rounds, 0, 0, 0}, {1000, 1, 1}, {1, 1, 1}})));
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, event.get(), rig.stream)));
  ASSERT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.other_stream, event.get())));
  const Memory copy = rig.allocate(16);
  ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.other_stream, copy.get(), 0U, result.get(), 0U, 4U)));
  std::uint32_t expected = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) expected = expected * 1664525U + 1013904223U;
  std::uint32_t got = 0;
  ASSERT_TRUE(
      succeeded(call_slot(plugin().copy_to_host, rig.other_stream, static_cast<void*>(&got), copy.get(), 0U, 4U)));
  EXPECT_EQ(got, expected);
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, event.get())));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, event.get())));
}

TEST_P(Webgpu, InvalidLaunchesDoNotAffectTheStream) {
  const Kernel add = rig.kernel(add_text, "add");
  const Memory in = upload(std::vector<std::uint32_t>(64, 3));
  const Memory out = rig.allocate(256);
  const auto expect_invalid = [&](const Launch& wrong, std::string_view words) {
    ASSERT_TRUE(succeeded(launch(rig.stream, add, {{in.get(), out.get()}, {1, 64}})));
    const SlotResult result = launch(rig.stream, add, wrong);
    EXPECT_EQ(result.status, VECTIS_INVALID_INPUT) << result;
    EXPECT_THAT(result.text, HasSubstr(words));
    EXPECT_EQ(words_of(rig.download(out.get(), 256)), std::vector<std::uint32_t>(64, 4));
  };
  expect_invalid({{in.get()}, {1, 64}}, "add");
  expect_invalid({{in.get(), out.get(), in.get()}, {1, 64}}, "add");
  expect_invalid({{in.get(), out.get()}, {}}, "add");
  expect_invalid({{in.get(), out.get()}, {1, 64}, {70000, 1, 1}}, "65535");
  expect_invalid({{in.get(), out.get()}, {1, 64}, {1, 1, 1}, {32, 1, 1}}, "compiled for 64");
}

// 128 MiB on these drivers; binding_test.cpp has the rest with a lowered limit.
TEST_P(Webgpu, ABufferAboveTheBindingLimitCanBeCopiedButNotBound) {
  const std::uint64_t limit = rig.info.binding_bytes_max;
  const Memory large = rig.allocate(limit + 1000);
  const Memory in = rig.allocate(256);
  const Bytes sent = noise(3001);
  rig.upload(large.get(), sent.data(), sent.size(), limit - 2003);
  ASSERT_TRUE(succeeded(
      call_slot(plugin().copy_on_device, rig.stream, large.get(), 5U, large.get(), limit - 2003, sent.size())));
  EXPECT_EQ(rig.download(large.get(), sent.size(), 5), sent);
  EXPECT_EQ(rig.download(large.get(), sent.size(), limit - 2003), sent);
  const SlotResult result = launch(rig.stream, rig.kernel(add_text, "add"), {{in.get(), large.get()}, {1, 64}});
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr(std::to_string(limit + 1000)));
  EXPECT_THAT(result.text, HasSubstr(std::to_string(limit)));
  const Memory part = rig.slice(large, limit / 2, limit / 4);
  EXPECT_TRUE(succeeded(launch(rig.stream, rig.kernel(add_text, "add"), {{in.get(), part.get()}, {1, 64}})));
}

TEST_P(Webgpu, ALostDeviceIsReportedByEverySlotOfItsContextAlone) {
  Rig other(GetParam());
  const Kernel add = rig.kernel(add_text, "add");
  const Memory memory = rig.allocate(256);
  const auto event = rig.event();
  ASSERT_TRUE(succeeded(launch(rig.stream, add, {{memory.get(), memory.get()}, {1, 64}})));
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, event.get(), rig.other_stream)));
  ASSERT_TRUE(succeeded(launch(rig.stream, add, {{memory.get(), memory.get()}, {1, 64}})));
  ASSERT_TRUE(succeeded(call_slot(plugin().configure, rig.state, "lose", "0")));
  std::array<std::byte, 16> bytes{};
  VectisMemory* made = nullptr;
  VectisStream* stream = nullptr;
  Kernel kernel;
  const std::vector answers{
      launch(rig.stream, add, {{memory.get(), memory.get()}, {1, 64}}),
      rig.synchronize(),
      call_slot(plugin().copy_to_device, rig.stream, memory.get(), 0U, static_cast<const void*>(bytes.data()), 16U),
      call_slot(plugin().copy_to_host, rig.stream, static_cast<void*>(bytes.data()), memory.get(), 0U, 16U),
      call_slot(plugin().copy_on_device, rig.stream, memory.get(), 0U, memory.get(), 64U, 16U),
      call_slot(plugin().fill, rig.stream, memory.get(), 0U, 16U, std::uint8_t{1}),
      call_slot(plugin().event_record, event.get(), rig.stream),
      call_slot(plugin().stream_wait_event, rig.stream, event.get()),
      call_slot(plugin().memory_allocate, rig.context, 64U, &made),
      call_slot(plugin().stream_create, rig.context, &stream),
      rig.compile(add_text, "add", &kernel)};
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].status, VECTIS_DEVICE_LOST) << i << answers[i];
  const Memory alive = other.allocate(16);
  other.upload(alive.get(), bytes.data(), 16);
  EXPECT_EQ(other.download(alive.get(), 16), Bytes(16, 0));
}

TEST_P(Webgpu, AShaderErrorStatesLineAndColumnFirst) {
  Kernel kernel;
  const std::string buffer = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n";
  const std::string begin = buffer + "@compute @workgroup_size(1)\nfn main() {\n";
  const SlotResult unknown = rig.compile(begin + "  y[0] = unknown;\n}\n", "main", &kernel);
  EXPECT_EQ(unknown.status, VECTIS_COMPILE_FAILED);
  EXPECT_THAT(unknown.text,
              testing::StartsWith("wgsl:4:10: error: no definition in scope for identifier: `unknown`\n"));
  const SlotResult invalid = rig.compile(begin + "  if (1u) { }\n}\n", "main", &kernel);
  EXPECT_THAT(invalid.text, testing::StartsWith("wgsl:4:7: error: Entry point main"));
  EXPECT_THAT(invalid.text.substr(0, invalid.text.find('\n')), HasSubstr("is not a boolean"));
}

TEST_P(Webgpu, WorkgroupVariablesMustFitTheDevice) {
  const auto compile = [&](const std::string& type) {
    Kernel kernel;
    return rig.compile("var<workgroup> tile: " + type + ";\n@compute @workgroup_size(1) fn main() {}", "main", &kernel);
  };
  for (const char* type : {"array<u32, 64,>", "array<vec4<f32>, 64>", "array<atomic<u32>, 64>", "vec4<f32>",
                           "array<u32, 65536 / 1024>", "array<vec4<f32>, 65536 / 1024>"}) {
    EXPECT_TRUE(succeeded(compile(type))) << type;
  }
  for (const char* type : {"array<u32, 16384>", "array<vec4<f32>, 4096>", "array<atomic<u32>, 16384>",
                           "array<array<vec2<f32>, 64>, 128>"}) {
    const SlotResult result = compile(type);
    EXPECT_EQ(result.status, VECTIS_COMPILE_FAILED) << type << ": " << result;
    EXPECT_THAT(result.text, HasSubstr("the workgroup variables take 65536 bytes")) << type;
  }
}

TEST_P(Webgpu, TooMuchIsAnAllocationFailure) {
  VectisMemory* memory = nullptr;
  const SlotResult result = call_slot(plugin().memory_allocate, rig.context, std::uint64_t{1} << 62U, &memory);
  EXPECT_EQ(result.status, VECTIS_ALLOCATION);
  EXPECT_EQ(memory, nullptr);
  EXPECT_THAT(result.text, HasSubstr("4611686018427387904"));
}

class WebgpuConcurrent : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuConcurrent, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

// The errors of one thread are not reported to another.
TEST_P(WebgpuConcurrent, ThreadsWorkFailAndFreeConcurrently) {
  Rig rig(GetParam());
  const auto work = [&rig](VectisStream* stream, std::uint32_t number) {
    for (std::uint32_t round = 0; round < 30; ++round) {
      const Kernel add = rig.kernel(add_text, "add");
      Kernel none;
      EXPECT_EQ(rig.compile("fn wrong( {", "wrong", &none).status, VECTIS_COMPILE_FAILED);
      const Memory in = rig.allocate(64);
      const Memory out = rig.allocate(64);
      EXPECT_TRUE(succeeded(call_slot(plugin().fill, stream, in.get(), 0U, 64U, std::uint8_t{0})));
      EXPECT_TRUE(succeeded(launch(stream, add, {{in.get(), out.get()}, {number + round, 16}})));
      EXPECT_EQ(launch(stream, add, {{in.get()}, {1}}).status, VECTIS_INVALID_INPUT);
      std::array<std::uint32_t, 16> got{};
      EXPECT_TRUE(
          succeeded(call_slot(plugin().copy_to_host, stream, static_cast<void*>(got.data()), out.get(), 0U, 64U)));
      for (const std::uint32_t value : got) EXPECT_EQ(value, number + round);
    }
  };
  std::thread first(work, rig.stream, 1000);
  std::thread second(work, rig.other_stream, 2000);
  first.join();
  second.join();
}

// wgpu-native aborts the process when a destroyed device gets a submission or a mapping.
TEST_P(WebgpuConcurrent, ADeviceMayBeLostDuringTheWorkOfOtherThreads) {
  for (int round = 0; round < 4; ++round) {
    Rig rig(GetParam());
    const Kernel add = rig.kernel(add_text, "add");
    std::atomic<int> done{0};
    const auto work = [&](VectisStream* stream, const Memory& memory) {
      std::array<std::uint8_t, 999> bytes{};
      while (true) {
        const std::array answers{
            call_slot(plugin().copy_to_device, stream, memory.get(), 3U, static_cast<const void*>(bytes.data()), 999U),
            launch(stream, add, {{memory.get(), memory.get()}, {1, 64}}),
            call_slot(plugin().copy_to_host, stream, static_cast<void*>(bytes.data()), memory.get(), 1U, 999U)};
        ++done;
        for (const SlotResult& result : answers) {
          if (result.status == VECTIS_DEVICE_LOST) return;
          EXPECT_TRUE(succeeded(result));
        }
      }
    };
    std::thread first(work, rig.stream, rig.allocate(4096));
    std::thread second(work, rig.other_stream, rig.allocate(4096));
    while (done < 5 + round) std::this_thread::yield();
    EXPECT_TRUE(succeeded(call_slot(plugin().configure, rig.state, "lose", "0")));
    first.join();
    second.join();
  }
}

}  // namespace
}  // namespace vectis::test
