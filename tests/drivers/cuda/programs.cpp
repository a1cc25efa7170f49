#include "programs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "compile.hpp"
#include "control.hpp"
#include "kernels.hpp"

namespace vectis::test_driver {

namespace {

struct Programs {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Program>> live;

  static Programs& get() {
    static auto* all = new Programs;  // never destroyed: it is asked until the process ends
    return *all;
  }
};

}  // namespace

const void* create_program(const char* text, int headers) {
  if (text == nullptr || headers != 0) refuse(compiler_invalid_input, "a program without a text, or with headers");
  auto made = std::make_unique<Program>();
  made->text = text;
  Programs& all = Programs::get();
  const std::lock_guard lock(all.mutex);
  const void* handle = made.get();
  all.live[handle] = std::move(made);
  Control::get().count(VECTIS_DRIVER_PROGRAMS, 1);
  return handle;
}

void destroy_program(const void* handle) {
  program(handle);
  Programs& all = Programs::get();
  const std::lock_guard lock(all.mutex);
  all.live.erase(handle);
  Control::get().count(VECTIS_DRIVER_PROGRAMS, -1);
}

Program& program(const void* handle) {
  Programs& all = Programs::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.live.find(handle);
  if (found == all.live.end()) refuse(compiler_invalid_program, "a handle of no program");
  return *found->second;
}

void compile_program(Program& one, const std::vector<std::string>& options, const std::vector<std::string>& known,
                     const std::vector<std::string>& definitions, const std::string& form, int architecture) {
  std::vector<std::string> all = definitions;
  for (const std::string& option : options) {
    if (option.starts_with("-D")) {
      all.push_back(option.substr(2));
    } else if (std::none_of(known.begin(), known.end(), [&](const auto& word) { return option.starts_with(word); })) {
      one.log = "error: unrecognized option '" + option + "'\n";
      throw Refusal{compiler_invalid_option};
    }
  }
  const CompileResult result = compile_kernels(one.text, all);
  one.log = result.log;
  if (!result.compiled) throw Refusal{compiler_failed};
  one.image = image_text({form, architecture, result.hash});
}

void give_text(const std::string& text, char* target) { std::memcpy(target, text.c_str(), text.size() + 1); }

const char* compiler_code_text(int code) {
  constexpr std::array texts = {"SUCCESS",
                                "ERROR_OUT_OF_MEMORY",
                                "ERROR_PROGRAM_CREATION_FAILURE",
                                "ERROR_INVALID_INPUT",
                                "ERROR_INVALID_PROGRAM",
                                "ERROR_INVALID_OPTION",
                                "ERROR_COMPILATION"};
  return code >= 0 && code < static_cast<int>(texts.size()) ? texts[static_cast<std::size_t>(code)] : "ERROR unknown";
}

}  // namespace vectis::test_driver
