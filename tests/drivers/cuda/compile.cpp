#include "compile.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>

#include "kernels.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every header set declares it

namespace vectis::test_driver {

namespace {

constexpr int group_items_max = 1024;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Two hashes of 64 bits, as a name.
std::string hash_of(const std::string& text) {
  std::uint64_t first = 0xcbf29ce484222325U;
  std::uint64_t second = 0x84222325cbf29ce4U;
  for (const char letter : text) {
    first = (first ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    second = (second ^ (first >> 29U)) * 0x9e3779b97f4a7c15U + static_cast<unsigned char>(letter);
  }
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(second));
  return name;
}

// All first groups of the matches of a pattern.
std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator one(text.begin(), text.end(), pattern), end; one != end; ++one) {
    found.push_back((*one)[1].str());
  }
  return found;
}

// A call of the function in warp_words.h that stands for an asm statement: its instruction, with dots as underscores,
// and for each operand, %0 and so on, the expression it stands for.
std::string call_of_instruction(const std::smatch& statement) {
  static const std::regex literals(R"re("([^"]*)")re");
  static const std::regex numbers(R"(%(\d+))");
  static const std::regex bound(R"re("[+=]?[rfh]"\s*\((\w+)\))re");
  std::string code;
  for (const std::string& part : matches(statement[1].str(), literals)) code += part;
  const std::vector<std::string> expressions = matches(statement[2].str(), bound);
  std::string call = code.substr(0, code.find(' '));
  std::replace(call.begin(), call.end(), '.', '_');
  call += "(__LINE__";
  for (const std::string& number : matches(code, numbers)) {
    const std::size_t operand = std::stoul(number);
    call += ", " + (operand < expressions.size() ? expressions[operand] : "missing_operand");
  }
  const std::string all = statement.str();
  return call + ");" + std::string(static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')), '\n');
}

// The text with calls in place of its asm statements.
std::string without_asm(const std::string& text) {
  static const std::regex statement(R"re(asm(?:\s+volatile)?\s*\(((?:\s*"[^"]*")+)\s*(:[^:;]*:[^:;]*)\)\s*;)re");
  std::string result;
  auto done = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), statement), end; found != end; ++found) {
    result.append(done, (*found)[0].first);
    result += call_of_instruction(*found);
    done = (*found)[0].second;
  }
  return result.append(done, text.end());
}

// The text with what a host compiler cannot say put in its words, and a table of its kernels behind it.
std::string host_text(const std::string& text) {
  static const std::regex dynamic_shared(R"(extern\s+__shared__\s+([\w ]+?)\s*(\w+)\s*\[\s*\]\s*;)");
  static const std::regex kernels(
      R"(__global__\s+(?:__launch_bounds__\s*\(\s*(\d+)[^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\(\s*(\d+)[^)]*\)\s*)?(\w+)\s*\()");
  std::string table;
  for (std::sregex_iterator found(text.begin(), text.end(), kernels), end; found != end; ++found) {
    const std::string bound = (*found)[1].matched ? (*found)[1].str() : (*found)[2].str();
    if (!table.empty()) table += ", ";
    table += "VTD_KERNEL(" + (*found)[3].str() + ", " + (bound.empty() ? std::to_string(group_items_max) : bound) + ")";
  }
  return std::regex_replace(without_asm(text), dynamic_shared,
                            "$1* $2 = reinterpret_cast<$1*>(vtd_place.dynamic_shared);") +
         (table.empty() ? "" : "\nVTD_MODULE(" + table + ")\n");
}

// No other process and no other thread has it: both may compile the same text at this moment.
std::string own_mark() {
  static std::atomic<unsigned> count = 0;
  return std::to_string(getpid()) + "." + std::to_string(count++);
}

int run(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::string> command(const std::vector<std::string>& definitions) {
  std::vector<std::string> words = {VECTIS_TEST_DRIVER_COMPILER,
                                    "-x",
                                    "c++",
                                    "-std=c++20",
                                    "-O1",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-fwrapv",
                                    "-ffp-contract=off",
                                    "-fno-strict-aliasing",
                                    "-fno-exceptions",
                                    "-fvisibility=hidden",
                                    "-nostdinc++",
                                    "-I",
                                    VECTIS_TEST_DRIVER_FOLDER,
                                    "-include",
                                    "device_words.h"};
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) words.insert(words.end(), {"-mfma", "-mavx2"});
  for (const std::string& definition : definitions) words.push_back("-D" + definition);
  return words;
}

}  // namespace

CompileResult compile_kernels(const std::string& text, const std::vector<std::string>& definitions) {
  const std::string folder = VECTIS_TEST_DRIVER_FOLDER;
  const std::string source_text = host_text(text);
  std::vector<std::string> words = command(definitions);
  std::string key = read_file(folder + "/device_words.h") + read_file(folder + "/kernel_abi.h") +
                    read_file(folder + "/warp_words.h") + source_text;
  for (const std::string& word : words) key += "\n" + word;
  CompileResult result;
  result.hash = hash_of(key);
  const std::string base = cache_folder() + "/" + result.hash;
  result.compiled = access((base + ".so").c_str(), R_OK) == 0;
  if (result.compiled) return result;

  mkdir(cache_folder().c_str(), 0755);
  const std::string own = base + "." + own_mark();
  std::ofstream(own + ".cpp", std::ios::binary) << source_text;
  words.insert(words.end(), {own + ".cpp", "-o", own + ".so", "-lm"});
  result.compiled = run(words, own + ".log") == 0;
  result.log = result.compiled ? "" : std::regex_replace(read_file(own + ".log"), std::regex(own + ".cpp"), "kernel");
  if (result.compiled) std::rename((own + ".so").c_str(), (base + ".so").c_str());
  for (const char* suffix : {".cpp", ".log"}) unlink((own + suffix).c_str());
  return result;
}

}  // namespace vectis::test_driver
