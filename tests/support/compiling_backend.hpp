// A scripted backend with a run-time compiler: a program is its text, its binary is "binary of " and the text.
//
//   FakeOs os;
//   CompilingBackend::install(os);
//   Runtime runtime({.os = &os});
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/scripted_backend.hpp"

namespace vectis::test {

// One instance per process, since a C table has no state. Counters may be read by any thread.
class CompilingBackend {
 public:
  struct Counters {
    std::atomic<int> compiled;
    std::atomic<int> loaded;
    std::atomic<int> programs;  // alive
    std::atomic<int> contexts;  // alive
    std::atomic<int> contexts_made;
    std::atomic<int> orphans;  // programs destroyed after their last context
  };

  // A fresh backend "cuda" with one GPU that takes "opencl-c".
  static Script& install(FakeOs& os, const std::string& driver = "driver 1.0") {
    Script& script = Scripted::install(os, "cuda");
    VectisDeviceInfo info = gpu("H100");
    std::snprintf(info.driver, sizeof(info.driver), "%s", driver.c_str());
    std::snprintf(info.dialects, sizeof(info.dialects), "opencl-c");
    script.devices = {info};
    for (auto& [path, library] : os.libraries) {
      for (auto& [name, symbol] : library.symbols) symbol = reinterpret_cast<void*>(&entry);
    }
    counters.compiled = counters.loaded = counters.programs = counters.contexts = counters.orphans = 0;
    counters.contexts_made = 0;
    gives_binaries = true;
    refuses_binaries = false;
    compile_time = std::chrono::milliseconds(0);
    warning.clear();
    return script;
  }

  static inline Counters counters;
  static inline bool gives_binaries = true;
  static inline bool refuses_binaries = false;
  static inline std::chrono::milliseconds compile_time{0};
  static inline std::string warning;

 private:
  using Scripted = ScriptedBackend<100>;
  static constexpr std::string_view binary_mark = "binary of ";

  struct CompiledText {
    std::string text;
  };

  static VectisStatus say(VectisMessage* message, VectisStatus status, const std::string& text) {
    std::snprintf(message->text, message->capacity, "%s", text.c_str());
    return status;
  }

  static VectisStatus compile(VectisContext*, const char* dialect, const void* text, std::size_t bytes, const char*,
                              VectisProgram** program, VectisMessage* message) {
    std::string source(static_cast<const char*>(text), bytes);
    if (std::string_view(dialect) == "binary") {
      if (refuses_binaries || !source.starts_with(binary_mark)) {
        return say(message, VECTIS_DRIVER_FAILURE, "no binary of this driver");
      }
      source.erase(0, binary_mark.size());
      ++counters.loaded;
    } else {
      std::this_thread::sleep_for(compile_time);
      if (source.find("error") != std::string::npos) {
        return say(message, VECTIS_COMPILE_FAILED, "line one\nline two");
      }
      ++counters.compiled;
    }
    ++counters.programs;
    *program = reinterpret_cast<VectisProgram*>(new CompiledText{std::move(source)});
    return say(message, VECTIS_OK, warning);
  }

  static VectisStatus binary(VectisProgram* program, void* target, std::size_t* bytes, VectisMessage* message) {
    if (!gives_binaries) return say(message, VECTIS_UNSUPPORTED, "none");
    const std::string made = std::string(binary_mark) + reinterpret_cast<CompiledText*>(program)->text;
    if (target != nullptr) std::memcpy(target, made.data(), made.size());
    *bytes = made.size();
    return VECTIS_OK;
  }

  static const VectisBackend* entry() {
    VectisBackend& table = Scripted::table;
    Scripted::entry();
    table.context_create = [](VectisBackendState*, std::uint32_t, VectisContext** context, VectisMessage*) {
      ++counters.contexts;
      ++counters.contexts_made;
      *context = reinterpret_cast<VectisContext*>(new CompiledText{});
      return VectisStatus{VECTIS_OK};
    };
    table.context_destroy = [](VectisContext* context) {
      --counters.contexts;
      delete reinterpret_cast<CompiledText*>(context);
    };
    table.program_create = compile;
    table.program_destroy = [](VectisProgram* program) {
      --counters.programs;
      if (counters.contexts == 0) ++counters.orphans;
      delete reinterpret_cast<CompiledText*>(program);
    };
    table.program_binary = binary;
    table.kernel_create = [](VectisProgram*, const char* name, VectisKernel** kernel, VectisMessage* message) {
      if (std::string_view(name) == "missing") return say(message, VECTIS_INVALID_INPUT, "no such kernel");
      *kernel = reinterpret_cast<VectisKernel*>(new CompiledText{name});
      return VectisStatus{VECTIS_OK};
    };
    table.kernel_destroy = [](VectisKernel* kernel) { delete reinterpret_cast<CompiledText*>(kernel); };
    table.launch = [](auto...) { return VectisStatus{VECTIS_OK}; };
    return &table;
  }
};

}  // namespace vectis::test
