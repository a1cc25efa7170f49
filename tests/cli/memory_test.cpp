// `vectis memory` on snapshots of a sample program, and on other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/cli/run.hpp"

namespace vectis {
namespace {

namespace fs = std::filesystem;

using test::run_vectis;
using testing::HasSubstr;
using testing::Not;

// The folder with the snapshot of the sample program, which runs once.
class MemoryCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // ctest runs the cases of this suite as processes side by side.
    folder = new fs::path(fs::path(testing::TempDir()) / ("vectis-memory-command-" + std::to_string(getpid())));
    fs::remove_all(*folder);
    const ProcessResult sample = real_os().run(
        {"/usr/bin/env", "HOME=/nonexistent", VECTIS_MEMORY_SAMPLE, folder->string()}, std::chrono::minutes(2));
    ASSERT_EQ(sample.code, 0) << sample.output << sample.error;
    ASSERT_EQ(sample.output, snapshot("html") + "\n");
  }
  static void TearDownTestSuite() {
    fs::remove_all(*folder);
    delete folder;
  }

  static std::string snapshot(const std::string& extension) {
    return (*folder / ("memory-cpu-0-1." + extension)).string();
  }
  static std::string write(const std::string& name, const std::string& text) {
    const fs::path path = *folder / name;
    std::ofstream(path) << text;
    return path.string();
  }

  static fs::path* folder;
};

fs::path* MemoryCommand::folder = nullptr;

TEST_F(MemoryCommand, WithoutAFileListsEveryDevice) {
  const ProcessResult result =
      run_vectis({"memory"}, {"VECTIS_BACKEND_PATH=" VECTIS_TEST_BACKENDS, "VECTIS_BACKENDS_NULL_DEVICES=2"});
  EXPECT_EQ(result.code, 0) << result.error;
  for (const char* word : {"device", "total", "free", "busy", "cpu:0", "null:0", "null:1", "GiB"}) {
    EXPECT_THAT(result.output, HasSubstr(word));
  }
}

TEST_F(MemoryCommand, ShowsASnapshotAsATable) {
  const ProcessResult result = run_vectis({"memory", snapshot("json")});
  EXPECT_EQ(result.code, 0) << result.error;
  for (const char* word : {"cpu:0", "in use", "cached", "limit       640.0 MiB", "weights", "activations",
                           "</script><b>search", "1 failures", "320.0 MiB could not be allocated", "advice"}) {
    EXPECT_THAT(result.output, HasSubstr(word));
  }
}

TEST_F(MemoryCommand, TurnsASnapshotIntoAPage) {
  const std::string page = (*folder / "page.html").string();
  const ProcessResult result = run_vectis({"memory", snapshot("json"), "--html", page});
  EXPECT_EQ(result.code, 0) << result.error;
  const auto text = [](const std::string& path) { return real_os().read_file(path).value_or("unreadable " + path); };
  EXPECT_TRUE(text(page) == text(snapshot("html"))) << "the page made from the JSON differs from the one beside it";
  EXPECT_EQ(run_vectis({"memory", snapshot("json"), "--html", snapshot("json") + "/page.html"}).code, 1);
}

TEST_F(MemoryCommand, FollowingIntoAPipeWritesNoEscapeSequences) {
  const ProcessResult result = run_vectis({"memory", "--follow", snapshot("json"), "--count", "2"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
  const std::size_t first = result.output.find("weights");
  ASSERT_NE(first, std::string::npos);
  EXPECT_THAT(result.output.substr(first + 1), HasSubstr("weights")) << "only one was shown";
}

TEST_F(MemoryCommand, FollowingOnATerminalClearsTheScreenForEachRefresh) {
  const std::string command =
      "HOME=/nonexistent " VECTIS_PROGRAM " memory --follow '" + snapshot("json") + "' --count 2";
  const ProcessResult result =
      real_os().run({"script", "--quiet", "--return", "--command", command, "/dev/null"}, std::chrono::minutes(2));
  EXPECT_EQ(result.code, 0) << result.error;
  const std::size_t first = result.output.find("\x1b[2J");
  ASSERT_NE(first, std::string::npos);
  const std::size_t second = result.output.find("\x1b[2J", first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(result.output.find("\x1b[2J", second + 1), std::string::npos);
  EXPECT_THAT(result.output.substr(second), HasSubstr("weights"));
}

TEST_F(MemoryCommand, ShowsEveryLiveSnapshotOfAFolder) {
  const fs::path live = *folder / "live";
  fs::create_directories(live);
  EXPECT_THAT(run_vectis({"memory", live.string()}).error, HasSubstr("VECTIS_MEMORY_LIVE=" + live.string()));
  fs::copy_file(snapshot("json"), live / "live-cpu-0.json");
  fs::copy_file(snapshot("json"), live / "live-cpu-1.json");
  const ProcessResult result = run_vectis({"memory", live.string()});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output.substr(result.output.find("cpu:0") + 1), HasSubstr("cpu:0")) << "only one was shown";
}

TEST_F(MemoryCommand, RejectsOtherFilesAndNamesThem) {
  const std::string cut = write("cut.json", real_os().read_file(snapshot("json")).value().substr(0, 2000));
  struct Case {
    std::string path;
    std::string reason;
  };
  for (const Case& one : {Case{"/nonexistent/x.json", "cannot be opened"}, Case{cut, "not JSON, or is truncated"},
                          Case{write("other.json", "{\"format\": 3}"), "no snapshot of a memory pool"},
                          Case{snapshot("html"), "not JSON"}}) {
    const ProcessResult result = run_vectis({"memory", one.path});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.error, HasSubstr(one.path));
    EXPECT_THAT(result.error, HasSubstr(one.reason));
    EXPECT_EQ(result.output, "");
  }
}

TEST_F(MemoryCommand, EscapesControlCharacters) {
  std::string text = real_os().read_file(snapshot("json")).value();
  const std::size_t name = text.find("\"device\": \"") + 11;
  text.insert(name, "\\u001b]0;owned\\u0007");
  const ProcessResult result = run_vectis({"memory", write("control.json", text)});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("?]0;owned?"));
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
}

TEST_F(MemoryCommand, EscapesControlCharactersOfUtf8AndOfErrors) {
  const std::string text = real_os().read_file(snapshot("json")).value();
  const auto with = [&](const std::string& key, const std::string& value) {
    const std::size_t begin = text.find('"', text.find('"' + key + "\":") + key.size() + 3) + 1;  // of the first value
    const std::size_t end = text.find('"', begin);
    return run_vectis({"memory", write("control.json", text.substr(0, begin) + value + text.substr(end))});
  };
  // CSI as one character, and a mark that reverses the direction of text.
  const ProcessResult name = with("device", "x\\u009b2Jy\\u202ez\\u00e9");
  EXPECT_EQ(name.code, 0) << name.error;
  EXPECT_THAT(name.output, HasSubstr("x?2Jy?z\u00e9,"));
  const ProcessResult state = with("state", "\\u001b]0;owned\\u0007\\u001b[2J");
  EXPECT_EQ(state.code, 1);
  EXPECT_THAT(state.error, HasSubstr("unknown value `?]0;owned??[2J`"));
  EXPECT_THAT(state.error, Not(HasSubstr("\x1b")));
}

TEST_F(MemoryCommand, NamesOptionsThatNeedAFile) {
  EXPECT_NE(run_vectis({"memory", "--follow"}).code, 0);
  EXPECT_NE(run_vectis({"memory", snapshot("json"), "--count", "2"}).code, 0);
  EXPECT_NE(run_vectis({"memory", snapshot("json"), "--follow", "--html", "x.html"}).code, 0);
}

}  // namespace
}  // namespace vectis
