#include "vectis/nn/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/random.hpp"
#include "vectis/base/random.hpp"

namespace vectis::nn {
namespace {

using Bytes = std::vector<std::byte>;

Checkpoint example() {
  array::Generator random(test::seed());
  Checkpoint checkpoint;
  StateDict state;
  const Tensor x = random.normal({3, 4}) * 50;
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int8, DType::uint8,
                           DType::int32, DType::int64, DType::boolean}) {
    state.add(std::string(vectis::name(type)), x.astype(type).transpose());
  }
  state.add("scalar", array::full({}, 7));
  state.add("empty", array::zeros({0, 5}));
  checkpoint.add("module", state);
  checkpoint.integers = {{"epoch", 3}, {"lowest", std::numeric_limits<std::int64_t>::min()}};
  checkpoint.numbers = {{"best", std::numeric_limits<double>::infinity()}, {"rate", 0.1}};
  checkpoint.texts = {{"note", "a \"text\"\n"}, {"nothing", ""}};
  return checkpoint;
}

Bytes saved(const Checkpoint& checkpoint) {
  MemoryWriter writer;
  save_checkpoint(writer, checkpoint);
  return {writer.bytes().begin(), writer.bytes().end()};
}
Checkpoint loaded(const Bytes& bytes) {
  MemoryReader reader(bytes);
  return load_checkpoint(reader);
}

TEST(CheckpointTest, LoadsWhatWasSaved) {
  const Checkpoint checkpoint = example();
  const Checkpoint copy = loaded(saved(checkpoint));
  EXPECT_EQ(copy.integers, checkpoint.integers);
  EXPECT_EQ(copy.numbers, checkpoint.numbers);
  EXPECT_EQ(copy.texts, checkpoint.texts);
  ASSERT_EQ(copy.tensors.size(), checkpoint.tensors.size());
  for (const auto& [name, value] : checkpoint.tensors) {
    const Tensor& other = copy.tensors.at(name);
    EXPECT_EQ(other.dtype(), value.dtype());
    EXPECT_EQ(other.shape(), value.shape());
    EXPECT_TRUE(all(equal(other, value)).item<bool>()) << name;
  }
  EXPECT_EQ(saved(copy), saved(checkpoint));
  EXPECT_EQ(copy.state("module").size(), 11U);
  EXPECT_EQ(copy.state("module").at("scalar").item(), 7);
  EXPECT_EQ(copy.state("modul").size(), 0U);
  EXPECT_EQ(copy.integer("epoch"), 3);
  EXPECT_ERROR(static_cast<void>(copy.integer("epochs")), ErrorCode::invalid_input, "epochs");
  EXPECT_ERROR(static_cast<void>(copy.number("epoch")), ErrorCode::invalid_input, "epoch");
  EXPECT_EQ(saved(loaded(saved(Checkpoint{}))), saved(Checkpoint{}));
}

TEST(CheckpointTest, EveryChangedByteIsFound) {
  const Bytes file = saved(example());
  Random random(test::seed());
  for (std::size_t at = 0; at < file.size(); ++at) {
    Bytes changed = file;
    changed[at] ^= static_cast<std::byte>(1 + random.below(255));
    try {
      static_cast<void>(loaded(changed));
      ADD_FAILURE() << "byte " << at;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
    }
  }
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_ERROR(static_cast<void>(loaded({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)})),
                 ErrorCode::corrupt_data);
  }
}

// A tensor that claims more elements than there are bytes.
TEST(CheckpointTest, AllocatesOnlyWhatTheFileHas) {
  for (const std::int64_t extent :
       {std::int64_t{1} << 40, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    Checkpoint checkpoint;
    checkpoint.tensors.add("x", array::zeros({1}));
    Bytes file = saved(checkpoint);
    const std::size_t begin = file.size() - 8 - 4 - 8;  // checksum, element, extent
    std::memcpy(file.data() + begin, &extent, sizeof(extent));
    EXPECT_ERROR(static_cast<void>(loaded(file)), ErrorCode::corrupt_data);
  }
}

TEST(CheckpointTest, FilesAreReplacedAsAWhole) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("run.ckpt");
  EXPECT_ERROR(static_cast<void>(load_checkpoint(path)), ErrorCode::io, "run.ckpt");
  Checkpoint checkpoint = example();
  save_checkpoint(path, checkpoint);
  checkpoint.texts["large"] = std::string((1 << 20) + 1, 'x');
  EXPECT_ERROR(save_checkpoint(path, checkpoint), ErrorCode::invalid_input, "large");
  EXPECT_EQ(saved(load_checkpoint(path)), saved(example()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1);
  std::ofstream(path, std::ios::app) << 'x';
  EXPECT_ERROR(static_cast<void>(load_checkpoint(path)), ErrorCode::corrupt_data, "run.ckpt", "bytes follow");
}

TEST(CheckpointTest, ReportsOtherFilesAndNewerFormats) {
  Bytes file = saved(example());
  file[8] = std::byte{2};
  EXPECT_ERROR(static_cast<void>(loaded(file)), ErrorCode::unsupported, "version 2");
  file[0] = std::byte{'v'};
  EXPECT_ERROR(static_cast<void>(loaded(file)), ErrorCode::corrupt_data, "save_checkpoint");
  Checkpoint long_name;
  long_name.integers[std::string(5000, 'n')] = 1;
  EXPECT_ERROR(static_cast<void>(saved(long_name)), ErrorCode::invalid_input, "5000");
}

TEST(GeneratorStateTest, ContinuesWithTheSameNumbers) {
  array::Generator random(test::seed());
  static_cast<void>(random.uniform({3}));
  array::Generator other;
  other.set_state(random.state());
  EXPECT_EQ(other.state(), random.state());
  EXPECT_EQ(other.normal({5}).to_cpu<float>(), random.normal({5}).to_cpu<float>());
}

}  // namespace
}  // namespace vectis::nn
