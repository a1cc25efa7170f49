#include "compiler.hpp"

#include <sstream>
#include <vector>

namespace vectis::cuda_hip {

namespace {

// A program of the compiler, destroyed with its owner.
class CompilerJob {
 public:
  CompilerJob(const CompilerApi& api, const std::string& text) : api_(api) {
    check_compiler(api, api.CreateProgram(&program_, text.c_str(), "kernel", 0, nullptr, nullptr),
                   compiler_symbol_of_CreateProgram);
  }
  ~CompilerJob() { static_cast<void>(api_.DestroyProgram(&program_)); }
  CompilerJob(const CompilerJob&) = delete;
  CompilerJob& operator=(const CompilerJob&) = delete;

  [[nodiscard]] CompilerProgram get() const noexcept { return program_; }

 private:
  const CompilerApi& api_;
  CompilerProgram program_ = nullptr;
};

std::string code_text(const CompilerApi& api, CompilerCode code) {
  const char* text = api.GetErrorString(code);
  return std::string(text == nullptr ? "error" : text) + " (" + std::to_string(static_cast<int>(code)) + ")";
}

std::string compile_log(const CompilerApi& api, CompilerProgram program) {
  std::size_t bytes = 0;
  CompilerCode code = api.GetProgramLogSize(program, &bytes);
  std::string log(bytes, '\0');
  if (code == compiler_ok && bytes > 0) code = api.GetProgramLog(program, log.data());
  if (code != compiler_ok)
    return std::string("its log is not available: ") + compiler_symbol_of_GetProgramLog + " failed with " +
           code_text(api, code);
  log.erase(log.find_last_not_of(std::string_view(" \n\r\t\0", 5)) + 1);
  return log;
}

std::vector<std::string> split_options(const char* text) {
  std::vector<std::string> options;
  std::istringstream stream(text);
  for (std::string option; stream >> option;) options.push_back(std::move(option));
  return options;
}

// The user's option that names an architecture, or null.
const std::string* architecture_option(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    for (const char* prefix : {"--gpu-architecture", "-arch", "--offload-arch"}) {
      if (option.starts_with(prefix)) return &option;
    }
  }
  return nullptr;
}

// Loads a library; returns why it does not serve this driver, or an empty string.
std::string try_compiler(const Host& host, const std::string& library, int driver_version, CompilerApi& api) {
  if (std::string obstacle = load_compiler(host, library.c_str(), api); !obstacle.empty()) return obstacle;
  int major = 0;
  int minor = 0;
  const CompilerCode code = api.Version(&major, &minor);
  if (code != compiler_ok) return library + " does not report its version: " + code_text(api, code);
  const auto obstacle = version_obstacle(library, major, minor, driver_version);
  return obstacle ? library + ": " + *obstacle : "";
}

}  // namespace

Compiler find_compiler(const Host& host, int driver_version) {
  Compiler found;
  found.advice = compiler_advice(driver_version);
  if (const char* setting = host.setting("compiler"); setting != nullptr) {
    found.obstacle = try_compiler(host, setting, driver_version, found.api);
    return found;
  }
  const LibraryPlaces places = library_places();
  std::string first;
  for (const std::string& name : compiler_libraries(driver_version)) {
    for (const std::string& library : library_files(name, places)) {
      found.obstacle = try_compiler(host, library, driver_version, found.api);
      if (found.obstacle.empty()) return found;
      // An installed library that does not fit is a better explanation than one that is not installed.
      if (first.empty() || first.find("cannot be opened") != std::string::npos) first = found.obstacle;
    }
  }
  found.obstacle = first;
  if (!places.description.empty()) found.obstacle += "; searched: the loader's path, " + places.description;
  return found;
}

void check_compiler(const CompilerApi& compiler, CompilerCode code, const char* call) {
  if (code == compiler_ok) return;
  throw Failure(VECTIS_DRIVER_FAILURE, std::string(call) + " failed with " + code_text(compiler, code));
}

CompiledCode compile(const CompilerApi& compiler, const CompileTarget& target, std::string_view text,
                     const char* options) {
  std::vector<std::string> all_options = split_options(options);
  bool machine_code = target.machine_code;
  if (const std::string* named = architecture_option(all_options); named != nullptr) {
    machine_code = named->find("compute_") == std::string::npos;
  } else {
    all_options.insert(all_options.end(), target.options.begin(), target.options.end());
  }
  std::vector<const char*> arguments;
  arguments.reserve(all_options.size());
  for (const std::string& option : all_options) arguments.push_back(option.c_str());
  const CompilerJob job(compiler, std::string(text));
  const CompilerCode code = compiler.CompileProgram(job.get(), static_cast<int>(arguments.size()), arguments.data());
  if (code == compiler_rejects_text || code == compiler_rejects_options) {
    throw Failure(VECTIS_COMPILE_FAILED, std::string(compiler_title) + " failed with " + code_text(compiler, code) +
                                             ":\n" + compile_log(compiler, job.get()));
  }
  check_compiler(compiler, code, compiler_symbol_of_CompileProgram);
  return {compiled_code(compiler, job.get(), machine_code), compile_log(compiler, job.get())};
}

}  // namespace vectis::cuda_hip
