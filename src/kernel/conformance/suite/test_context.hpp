// Where cases are run: a context, a stream, and the way of a problem there and back.
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

// Views of the operands in `memories`, one each.
std::vector<View> views_of(std::span<const Operand> operands, std::span<const DeviceMemory> memories);

// One thread at a time.
class TestContext {
 public:
  explicit TestContext(const Device& device) : device_(device) { renew(); }
  explicit TestContext(const DeviceContext& context) : device_(context.device()), context_(context) { renew(); }

  [[nodiscard]] const DeviceContext& context() const { return *context_; }
  [[nodiscard]] Stream& stream() { return *stream_; }

  // Memory with the operands' bytes in it, on its way.
  [[nodiscard]] std::vector<DeviceMemory> upload(std::span<const Operand> operands);
  // The operands as they are in `memories` now.
  [[nodiscard]] std::vector<Operand> download(std::span<const Operand> like, std::span<const DeviceMemory> memories);
  // Uploads, runs the operation and downloads.
  [[nodiscard]] std::vector<Operand> run(const Subject& subject, const Problem& problem);
  // After a failure: a new stream, and a new context if that was lost.
  void renew();

 private:
  Device device_;
  std::optional<DeviceContext> context_;
  std::unique_ptr<Stream> stream_;
};

// Makes the problem of a case, runs it and judges the outcome. Throws what the device throws.
Verdict run_case(Runtime& runtime, TestContext& test, const Subject& subject, const Case& one, std::uint64_t seed);

// Whether the error means that the device does not offer the operation: Unsupported or NoCompiler.
bool is_not_offered(const Error& error) noexcept;
// Host and device bytes a case needs at once.
std::uint64_t bytes_needed(const Subject& subject, const Case& one);

}  // namespace vectis::inline v0_1::conformance
