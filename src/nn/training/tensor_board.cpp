// Event files of TensorBoard: records (length, data, masked CRC32C of each) of the protocol buffer message
// tensorflow.Event, of which these fields are written: 1 wall_time, 2 step, 3 file_version, and 5 summary with values
// of 1 tag and 2 simple_value.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "base/crc32c.hpp"
#include "nn/training/epoch_text.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/time.hpp"
#include "vectis/nn/observer.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// Wire types of protocol buffers.
enum WireType : std::uint8_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

// A message of protocol buffers, built by appending fields.
class Message {
 public:
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    text_ += static_cast<char>(value);
  }
  void integer(unsigned field, std::int64_t value) {
    key(field, varint);
    put_varint(static_cast<std::uint64_t>(value));
  }
  void number(unsigned field, double value) {
    key(field, fixed64);
    raw(value);
  }
  void number(unsigned field, float value) {
    key(field, fixed32);
    raw(value);
  }
  void bytes(unsigned field, std::string_view value) {
    key(field, length_delimited);
    put_varint(value.size());
    text_ += value;
  }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  void key(unsigned field, WireType type) { put_varint((field << 3U) | type); }
  template <class T>
  void raw(T value) {
    const auto all = std::bit_cast<std::array<char, sizeof(T)>>(value);
    text_.append(all.data(), all.size());
  }

  std::string text_;
};

// Checksums are masked in files that checksums of their own cover (TFRecord).
std::uint32_t masked_crc(std::span<const std::byte> bytes) noexcept {
  const std::uint32_t crc = detail::crc32c(bytes);
  return std::rotr(crc, 15) + 0xa282ead8U;
}

void put_record(ByteWriter& writer, std::string_view data) {
  const std::uint64_t length = data.size();
  writer.put(length);
  writer.put(masked_crc(std::as_bytes(std::span(&length, 1))));
  writer.write(std::as_bytes(std::span(data)));
  writer.put(masked_crc(std::as_bytes(std::span(data))));
}

// TensorBoard reads files in the order of their names. The nanoseconds keep files of one second apart.
std::string event_path(const std::string& folder, const Os& os) {
  return fmt::format("{}/events.out.tfevents.{}.{}.vectis", folder, os.unix_seconds(), monotonic_nanoseconds());
}

}  // namespace

EventWriter::EventWriter(ByteWriter& writer, double unix_seconds) : writer_(writer) {
  Message event;
  event.number(1, unix_seconds);
  event.bytes(3, "brain.Event:2");
  put_record(writer_, event.text());
}

void EventWriter::scalar(std::string_view tag, std::int64_t step, double value, double unix_seconds) {
  Message scalar;
  scalar.bytes(1, tag);
  scalar.number(2, static_cast<float>(value));
  Message summary;
  summary.bytes(1, scalar.text());
  Message event;
  event.number(1, unix_seconds);
  event.integer(2, step);
  event.bytes(5, summary.text());
  put_record(writer_, event.text());
}

TensorBoardLog::TensorBoardLog(const std::string& folder, Os& os)
    : os_(os), file_(event_path(folder, os)), events_(file_, static_cast<double>(os.unix_seconds())) {
  file_.flush();
}

void TensorBoardLog::on_epoch(const Epoch& epoch, std::int64_t /*epochs*/) {
  const auto now = static_cast<double>(os_.unix_seconds());
  const auto write = [&](const std::string& tag, double value) { events_.scalar(tag, epoch.number, value, now); };
  write("loss/train", epoch.loss);
  for (const auto& [name, value] : epoch.metrics) write(name + "/train", value);
  if (epoch.val_loss) write("loss/validation", *epoch.val_loss);
  for (const auto& [name, value] : epoch.val_metrics) write(name + "/validation", value);
  write("learning_rate", epoch.learning_rate);
  write("seconds", epoch.seconds);
  file_.flush();
}

}  // namespace vectis::inline v0_1::nn
