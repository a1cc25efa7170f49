#include "vectis/nn/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/nn/observer.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Epoch epoch(std::int64_t number) {
  const double x = static_cast<double>(number);
  return {.number = number,
          .loss = 2.5 - x,
          .metrics = {{"accuracy", 0.5 + x / 10}},
          .val_loss = 3 - x,
          .val_metrics = {{"accuracy", 0.25}},
          .learning_rate = 0.001,
          .seconds = 1.5};
}

TEST(HistoryTest, IsListsAndEpochs) {
  History history;
  for (int i = 0; i < 3; ++i) history.add(epoch(i));
  EXPECT_THAT(history.loss, ElementsAre(2.5, 1.5, 0.5));
  EXPECT_THAT(history.val_metrics["accuracy"], ElementsAre(0.25, 0.25, 0.25));
  EXPECT_EQ(history.epoch(2).val_loss, 1);
  EXPECT_ERROR(static_cast<void>(history.epoch(3)), ErrorCode::invalid_input, "epoch 3");
  Epoch other = epoch(3);
  other.val_loss.reset();
  EXPECT_ERROR(history.add(other), ErrorCode::invalid_input, "other metrics");
  EXPECT_EQ(history.size(), 3U);
}

TEST(HistoryTest, IsWrittenAsCsvAndJson) {
  History history;
  Epoch first = epoch(0);
  first.metrics = {{"top \"5\", in %", 1}};
  first.loss = std::numeric_limits<double>::quiet_NaN();
  history.add(first);
  std::ostringstream csv;
  write_csv(csv, history);
  EXPECT_EQ(csv.str(),
            "epoch,loss,\"top \"\"5\"\", in %\",val_loss,val_accuracy,learning_rate,seconds\n"
            "0,nan,1,3,0.25,0.001,1.5\n");
  std::ostringstream json;
  write_jsonl(json, history);
  EXPECT_EQ(json.str(),
            "{\"epoch\": 0, \"loss\": null, \"top \\\"5\\\", in %\": 1, \"val_loss\": 3, \"val_accuracy\": 0.25, "
            "\"learning_rate\": 0.001, \"seconds\": 1.5}\n");
}

TEST(HistoryTest, LogsEqualTheHistory) {
  std::ostringstream csv_log;
  std::ostringstream json_log;
  CsvLog csv(csv_log);
  JsonLog json(json_log);
  History history;
  for (int i = 0; i < 3; ++i) {
    history.add(epoch(i));
    csv.on_epoch(epoch(i), 3);
    json.on_epoch(epoch(i), 3);
  }
  std::ostringstream csv_all;
  write_csv(csv_all, history);
  std::ostringstream json_all;
  write_jsonl(json_all, history);
  EXPECT_EQ(csv_log.str(), csv_all.str());
  EXPECT_EQ(json_log.str(), json_all.str());
}

TEST(HistoryTest, IsDrawn) {
  History history;
  for (int i = 0; i < 3; ++i) history.add(epoch(i));
  history.add(
      {.number = 3, .loss = INFINITY, .metrics = {{"accuracy", 0}}, .val_loss = NAN, .val_metrics = {{"accuracy", 0}}});
  const std::string svg = history.to_svg();
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, HasSubstr(">val_loss</text>"));
  EXPECT_THAT(svg, HasSubstr(">val_accuracy</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  std::ostringstream plot;
  history.plot(plot, 7, 4);
  EXPECT_EQ(plot.str(),
            "         3 |oo     \n"
            "           |**oo   \n"
            "           |  **oo \n"
            "       0.5 |    ** \n"
            "           +-------\n"
            "            * loss  o val_loss  over 4 epochs\n");
  std::ostringstream empty;
  History{}.plot(empty, 10, 3);
  EXPECT_THAT(empty.str(), HasSubstr("over 0 epochs"));
  EXPECT_ERROR(history.plot(empty, 1, 4), ErrorCode::invalid_input, "1 columns");
}

TEST(ProgressBarTest, OverwritesTheRunningEpochOnly) {
  std::ostringstream out;
  ProgressBar bar(out);
  bar.on_batch({.epoch = 0, .epochs = 2, .batch = 1, .batches = 4, .seconds = 1});
  bar.on_batch({.epoch = 0, .epochs = 2, .batch = 2, .batches = 4, .seconds = 1.01});  // too early to draw
  EXPECT_EQ(out.str(), "\repoch 1/2 [=======>                      ] 1/4  3 s left");
  bar.on_epoch(epoch(0), 2);
  EXPECT_THAT(out.str(), HasSubstr("\repoch 1/2  1.5 s  loss 2.5  accuracy 0.5  val_loss 3  val_accuracy 0.25"));
  EXPECT_TRUE(out.str().ends_with('\n'));
  std::ostringstream file;
  ProgressBar log(file, false);
  log.on_batch({.epoch = 0, .epochs = 2, .batch = 1, .batches = 4, .seconds = 1});
  log.on_epoch(epoch(0), 2);
  EXPECT_EQ(file.str(),
            "epoch 1/2  1.5 s  loss 2.5  accuracy 0.5  val_loss 3  val_accuracy 0.25  learning_rate 0.001\n");
}

// CRC32C bit by bit, masked as TFRecord does.
std::uint32_t masked(std::string_view data) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
}

template <class T>
T number_at(std::string_view text, std::size_t at) {
  T value{};
  std::memcpy(&value, text.substr(at, sizeof(T)).data(), sizeof(T));
  return value;
}

// The messages of an event file, whose checksums must be right.
std::vector<std::string> records(std::string_view file) {
  std::vector<std::string> messages;
  while (!file.empty()) {
    const auto length = number_at<std::uint64_t>(file, 0);
    EXPECT_EQ(number_at<std::uint32_t>(file, 8), masked(file.substr(0, 8)));
    EXPECT_EQ(number_at<std::uint32_t>(file, 12 + length), masked(file.substr(12, length)));
    messages.emplace_back(file.substr(12, length));
    file.remove_prefix(16 + length);
  }
  return messages;
}

TEST(EventWriterTest, WritesTheBytesOfTensorFlow) {
  MemoryWriter writer;
  EventWriter events(writer, 1.5);
  events.scalar("loss", 300, 0.25, 2);
  const std::vector<std::string> messages =
      records({reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()});
  using std::string_literals::operator""s;
  // What tensorflow.Event(...).SerializeToString() gives for these fields.
  EXPECT_THAT(messages, ElementsAre("\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0d"
                                    "brain.Event:2"s,
                                    "\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e"s));
}

TEST(TensorBoardLogTest, WritesEachNumberOfAnEpochAtOnce) {
  const test::TemporaryFolder folder;
  TensorBoardLog log(folder.folder().string());
  log.on_epoch(epoch(0), 2);
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1);
  const std::string path = std::filesystem::directory_iterator(folder.folder())->path().string();
  EXPECT_THAT(path, HasSubstr("/events.out.tfevents."));
  const std::vector<std::string> messages = records(real_os().read_file(path).value());
  ASSERT_EQ(messages.size(), 7U);
  EXPECT_THAT(messages[1], HasSubstr("loss/train"));
  EXPECT_THAT(messages[4], HasSubstr("accuracy/validation"));
  EXPECT_ERROR(TensorBoardLog("/nowhere"), ErrorCode::io, "/nowhere");
}

}  // namespace
}  // namespace vectis::nn
