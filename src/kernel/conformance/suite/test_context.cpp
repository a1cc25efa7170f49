#include "kernel/conformance/suite/test_context.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t copies_at_once = 3;  // before, on the device, after
constexpr std::uint64_t huge_bytes = 1ULL << 31;
constexpr std::uint64_t rows_checked_when_huge = 512;

}  // namespace

std::vector<View> views_of(std::span<const Operand> operands, std::span<const DeviceMemory> memories) {
  std::vector<View> views;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    views.emplace_back(memories[i], operand.type(), operand.rows(), operand.columns(), operand.offset(),
                       operand.stride());
  }
  return views;
}

std::vector<DeviceMemory> TestContext::upload(std::span<const Operand> operands) {
  std::vector<DeviceMemory> memories;
  for (const Operand& operand : operands) {
    memories.emplace_back(*context_, operand.bytes().size());
    stream_->copy_to_device(memories.back(), 0, operand.bytes());
  }
  return memories;
}

std::vector<Operand> TestContext::download(std::span<const Operand> like, std::span<const DeviceMemory> memories) {
  std::vector<Operand> after(like.begin(), like.end());
  for (std::size_t i = 0; i < after.size(); ++i) stream_->copy_to_host(after[i].bytes(), memories[i], 0);
  stream_->synchronize();
  return after;
}

std::vector<Operand> TestContext::run(const Subject& subject, const Problem& problem) {
  const std::vector<DeviceMemory> memories = upload(problem.operands);
  const std::vector<View> views = views_of(problem.operands, memories);
  vectis::run(*stream_, subject.operation, views, problem.parameters);
  return download(problem.operands, memories);
}

void TestContext::renew() {
  stream_.reset();
  if (!context_ || context_->lost()) context_.emplace(device_);
  stream_ = std::make_unique<Stream>(*context_);
}

Verdict run_case(Runtime& runtime, TestContext& test, const Subject& subject, const Case& one, std::uint64_t seed) {
  const Problem problem = make_problem(subject, one, seed);
  const std::vector<Operand> after = test.run(subject, problem);
  const bool huge = bytes_needed(subject, one) > huge_bytes;
  return judge(runtime.executor(), subject, one, problem, after,
               huge ? rows_checked_when_huge : std::numeric_limits<std::uint64_t>::max());
}

bool is_not_offered(const Error& error) noexcept {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::no_compiler;
}

std::uint64_t bytes_needed(const Subject& subject, const Case& one) { return copies_at_once * bytes_of(subject, one); }

}  // namespace vectis::inline v0_1::conformance
