// Fuzzes load_checkpoint, and saves every checkpoint it accepts.
#include <optional>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/checkpoint.hpp"

namespace vectis::fuzz {

namespace {

Bytes saved_checkpoint(const nn::Checkpoint& checkpoint) {
  MemoryWriter writer;
  nn::save_checkpoint(writer, checkpoint);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// An accepted checkpoint is saved as the same bytes.
void use(const nn::Checkpoint& checkpoint, BytesView read) noexcept {
  expect(std::ranges::equal(saved_checkpoint(checkpoint), read));
  expect(checkpoint.state("module").size() <= checkpoint.tensors.size());
}

void read_and_use(BytesView file) {
  MemoryReader reader(file);
  const nn::Checkpoint checkpoint = nn::load_checkpoint(reader);
  use(checkpoint, file.first(file.size() - reader.remaining()));
}

// The offsets at which blocks begin and end are those of the reader.
class Blocks {
 public:
  explicit Blocks(Bytes& file) : file_(file) {}

  bool fix() {
    constexpr std::size_t header_begin = 8 + 4;
    constexpr std::size_t header_end = header_begin + 48;
    if (header_end + 8 > file_.size()) return false;
    at_ = write_checksum(file_, header_begin, header_end, header_end);
    const auto count = [&](std::size_t i) { return value_at<std::uint64_t>(file_, header_begin + 16 + 8 * i); };
    const std::size_t begin = at_;
    if (!repeat(count(0), [&] { return text() && skip(8); }) || !repeat(count(1), [&] { return text() && skip(8); }) ||
        !repeat(count(2), [&] { return text() && text(); }) || !close(begin)) {
      return false;
    }
    return repeat(count(3), [&] { return tensor(); });
  }

 private:
  template <class F>
  static bool repeat(std::uint64_t times, F step) {
    for (std::uint64_t i = 0; i < times; ++i) {
      if (!step()) return false;
    }
    return true;
  }
  bool skip(std::uint64_t bytes) {
    if (bytes > file_.size() - at_) return false;
    at_ += bytes;
    return true;
  }
  bool text() {
    const std::size_t begin = at_;
    return skip(8) && skip(value_at<std::uint64_t>(file_, begin));
  }
  bool close(std::size_t begin) {
    const std::size_t end = at_;
    if (!skip(8)) return false;
    write_checksum(file_, begin, end, end);
    return true;
  }
  bool tensor() {
    const std::size_t begin = at_;
    if (!text() || !skip(2)) return false;
    const auto type = static_cast<DType>(file_[at_ - 2]);
    const auto rank = std::to_integer<std::size_t>(file_[at_ - 1]);
    const std::size_t extents = at_;
    if (!skip(8 * rank)) return false;
    std::uint64_t bytes = size_of(type);
    for (std::size_t axis = 0; axis < rank; ++axis) bytes *= value_at<std::uint64_t>(file_, extents + 8 * axis);
    return skip(bytes) && close(begin);
  }

  Bytes& file_;
  std::size_t at_ = 0;
};

bool fix_checksums(Bytes& file) { return Blocks(file).fix(); }

std::vector<Bytes> seeds() {
  std::vector<Bytes> files = {saved_checkpoint({})};
  nn::Checkpoint checkpoint;
  checkpoint.integers = {{"epoch", 3}, {"step", 70}};
  checkpoint.numbers = {{"best_loss", 0.5}};
  checkpoint.texts = {{"note", "text"}};
  files.push_back(saved_checkpoint(checkpoint));
  checkpoint.tensors.add("module.weight", array::ones({2, 3}));
  checkpoint.tensors.add("optimizer.weight.step", array::full({}, 7, DType::int64));
  checkpoint.tensors.add("mask", array::ones({3}, DType::boolean));
  checkpoint.tensors.add("half", array::zeros({0, 4}, DType::bfloat16));
  files.push_back(saved_checkpoint(checkpoint));
  return files;
}

}  // namespace

const Target target{seeds, fix_checksums, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
