// Runs cases on a device: a context, a stream, and the copies of a problem to the device and back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/conformance/suite/suite.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::conformance {

// Returns a view of each operand in the device memory with the same index, with its type, shape, offset and stride.
// Requires as many memories as operands. Checks nothing; vectis::run() throws InvalidInput for a view that does not
// fit into its memory.
std::vector<View> views_of(std::span<const Operand> operands, std::span<const DeviceMemory> memories);

// A device context and a stream on which cases run. One thread at a time.
class TestContext {
 public:
  // Creates a context of the device and a stream. Throws what creating them throws, such as DeviceLost.
  explicit TestContext(const Device& device) : device_(device) { renew(); }
  // Creates a stream in an existing context. Throws what creating a stream throws, such as DeviceLost.
  explicit TestContext(const DeviceContext& context) : device_(context.device()), context_(context) { renew(); }

  [[nodiscard]] const DeviceContext& context() const { return *context_; }
  [[nodiscard]] Stream& stream() { return *stream_; }

  // Allocates device memory for each operand and enqueues copies of the operands' bytes; does not wait for them. The
  // operands must live until the stream is synchronized. Throws Allocation if the device is out of memory,
  // InvalidInput for an operand over the device's limit, and DeviceLost.
  [[nodiscard]] std::vector<DeviceMemory> upload(std::span<const Operand> operands);
  // Waits for the stream and returns the operands `like` with their bytes from `memories`. Requires one memory per
  // operand (not checked). Throws InvalidInput if a memory is smaller than its operand or of another context, the
  // error of earlier work on the stream, or DeviceLost.
  [[nodiscard]] std::vector<Operand> download(std::span<const Operand> like, std::span<const DeviceMemory> memories);
  // Uploads the problem's operands, runs the subject's operation and returns the operands after it. Throws what the
  // device throws, such as Unsupported, NoCompiler, Allocation or DeviceLost; call renew() afterwards.
  [[nodiscard]] std::vector<Operand> run(const Subject& subject, const Problem& problem);
  // Replaces the stream after a failure, and the context too if the device was lost. Memory of a lost context becomes
  // unusable. Throws what creating a context or stream throws.
  void renew();

 private:
  Device device_;
  std::optional<DeviceContext> context_;
  std::unique_ptr<Stream> stream_;
};

// Makes the problem of a case from `seed`, runs it on the device and compares the outcome with the reference (512
// rows of each output if the case needs more than 2^31 bytes). Returns a Verdict with the failure as text for wrong
// results; throws what the device throws, such as Unsupported, NoCompiler or Allocation. Requires a case of
// `subject`.
Verdict run_case(Runtime& runtime, TestContext& test, const Subject& subject, const Case& one, std::uint64_t seed);

// Returns whether the error means that the device does not offer the operation: Unsupported or NoCompiler.
bool is_not_offered(const Error& error) noexcept;
// Returns the bytes of host and device memory that run_case() needs at once for a case: three times bytes_of()
// (before, on the device, after). Requires a case of the subject.
std::uint64_t bytes_needed(const Subject& subject, const Case& one);

}  // namespace vectis::inline v0_1::conformance
