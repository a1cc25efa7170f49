// Runs IR functions on the VM or a device and compares the results with the interpreter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel/ir/error_bounds.hpp"
#include "kernel/ir/random_program.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::test {

// A function and its input data.
struct Case {
  ir::Function function;
  ir::ProgramData data;
  std::size_t count = 0;
};

// The bytes of each output: whole words for the elements and one word more, initialized with `untouched`.
using Outputs = std::vector<std::vector<std::byte>>;
inline constexpr std::byte untouched{0xa5};
Outputs empty_outputs(const Case& one);

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;
  // Requires distinct names of the cases.
  virtual std::vector<Outputs> run(const std::vector<Case>& cases) = 0;
  // The accuracy that the language of the kernels promises.
  [[nodiscard]] virtual const ir::Accuracy& accuracy() const { return ir::default_accuracy(); }
};

// The CPU vector VM with three threads.
std::unique_ptr<Runner> make_cpu_runner();
// The devices that run IR functions: "cpu", and "opencl" and "webgpu" if they were built.
std::vector<std::string> runner_names();
// Runs kernels printed as OpenCL C, all cases in one program, or as WGSL.
std::unique_ptr<Runner> make_runner(const std::string& name);

struct Tally {
  std::size_t programs = 0;
  std::size_t elements = 0;  // of all outputs
  std::size_t exact = 0;     // integers among them, which must be equal
  std::size_t undecided = 0;
  std::size_t rejected = 0;
  double worst = 0;  // the largest share of an error in its bound
};

// Adds the comparison to the tally. Reports the first rejected element, and any byte written beyond the count, as a
// failure of the running test with the function's text.
void judge(const Case& one, const Outputs& outputs, const ir::Accuracy& accuracy, Tally& tally);

}  // namespace vectis::test
