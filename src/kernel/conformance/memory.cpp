#include <fmt/format.h>

#include <algorithm>

#include "kernel/conformance/suite/test_context.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Operands as buffers of the pool, which are parts of larger memory and have been used before.
std::vector<DeviceMemory> from_pool(MemoryPool& pool, const Device& device, std::span<const Operand> operands,
                                    std::vector<ManagedBuffer>& kept) {
  std::vector<DeviceMemory> memories;
  for (const Operand& operand : operands) {
    kept.push_back(pool.get_managed_buffer(device.id(), operand.bytes().size(), Precision::int8));
    memories.push_back(kept.back().memory());
  }
  return memories;
}

// All operands in one allocation, side by side.
std::vector<DeviceMemory> from_slices(const DeviceContext& context, std::span<const Operand> operands) {
  const std::uint64_t alignment = std::max<std::uint64_t>(context.device().info().limits.memory_alignment, 1);
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const Operand& operand : operands) {
    offsets.push_back(end);
    end += (operand.bytes().size() + alignment - 1) / alignment * alignment;
  }
  const DeviceMemory whole(context, end);
  std::vector<DeviceMemory> memories;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    memories.push_back(whole.slice(offsets[i], operands[i].bytes().size()));
  }
  return memories;
}

class MemoryCases {
 public:
  MemoryCases(Runtime& runtime, const Device& device, std::uint64_t seed)
      : runtime_(runtime), device_(device), seed_(seed) {}

  void run(const Subject& subject, const Case& one) {
    const Problem problem = make_problem(subject, one, seed_);
    {
      std::vector<ManagedBuffer> kept;
      check("buffers of the pool", subject, one, problem,
            from_pool(memory_pool(runtime_), device_, problem.operands, kept));
    }
    const DeviceContext context(device_);
    if (!DeviceMemory::can_slice(context)) return;
    check("slices of one allocation", subject, one, problem, from_slices(context, problem.operands));
  }

  BehaviorReport report;

 private:
  void check(const char* where, const Subject& subject, const Case& one, const Problem& problem,
             const std::vector<DeviceMemory>& memories) {
    ++report.cases;
    TestContext test(memories.front().context());
    for (std::size_t i = 0; i < memories.size(); ++i) {
      test.stream().copy_to_device(memories[i], 0, problem.operands[i].bytes());
    }
    const std::vector<View> views = views_of(problem.operands, memories);
    vectis::run(test.stream(), subject.operation, views, problem.parameters);
    const std::vector<Operand> after = test.download(problem.operands, memories);
    const Verdict verdict = judge(runtime_.executor(), subject, one, problem, after);
    if (verdict.failure.empty()) return;
    report.failures.push_back(fmt::format("{} {} on {}: {}", subject.operation, name(one), where, verdict.failure));
  }

  Runtime& runtime_;
  Device device_;
  std::uint64_t seed_;
};

BehaviorReport run_memory(Runtime& runtime, const Device& device, std::uint64_t seed, Coverage coverage) {
  MemoryCases cases(runtime, device, seed);
  for (const Subject& subject : whole_suite().subjects) {
    for (const TypeSet& types : subject.type_sets) {
      const Case one{&types, subject.medium, Layout::tight, subject.data.front(), subject.parameters.front()};
      cases.run(subject, one);
      if (coverage == Coverage::slice) break;
    }
  }
  return std::move(cases.report);
}

}  // namespace

void add_memory(Suite& suite) {
  suite.behaviors.push_back(
      {"memory", "operands may be buffers of the pool or slices of one allocation", 0, run_memory});
}

}  // namespace vectis::inline v0_1::conformance
