#include "tests/ir/runners.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernel/ir/printer.hpp"
#include "kernel/vm/compiled_function.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::test {

namespace {

std::size_t element_bytes(DType element) { return 4 / lanes(element); }

class CpuRunner final : public Runner {
 public:
  std::vector<Outputs> run(const std::vector<Case>& cases) override {
    std::vector<Outputs> all;
    for (const Case& one : cases) {
      Outputs outputs = empty_outputs(one);
      vm::HostBuffers buffers;
      for (const auto& input : one.data.inputs) buffers.inputs.push_back(input.data());
      for (std::size_t i = 0; i < one.data.tables.size(); ++i)
        buffers.tables.push_back(
            {one.data.tables[i].data(), one.data.tables[i].size() / element_bytes(one.function.tables[i])});
      for (auto& output : outputs) buffers.outputs.push_back(output.data());
      buffers.arguments = one.data.arguments;
      vm::CompiledFunction(one.function).run(*executor_, buffers, one.count);
      all.push_back(std::move(outputs));
    }
    return all;
  }

 private:
  std::shared_ptr<Executor> executor_ = make_thread_executor({.threads = 3});
};

class DeviceRunner final : public Runner {
 public:
  DeviceRunner(const std::string& backend, Dialect dialect) : dialect_(dialect), context_(find(runtime_, backend)) {}

  std::vector<Outputs> run(const std::vector<Case>& cases) override {
    std::vector<ir::Function> functions;
    for (const Case& one : cases) functions.push_back(one.function);
    std::vector<Outputs> all;
    if (dialect_ == Dialect::wgsl) {  // a module for each
      for (const Case& one : cases) all.push_back(launch(program_of({&one.function, 1}), one));
      return all;
    }
    const Program program = program_of(functions);
    for (const Case& one : cases) all.push_back(launch(program, one));
    return all;
  }
  [[nodiscard]] const ir::Accuracy& accuracy() const override { return ir::accuracy_of(dialect_); }

 private:
  static constexpr std::uint32_t group = 64;

  static Device find(Runtime& runtime, const std::string& backend) {
    const auto device = runtime.service<DeviceRegistry>().find(backend);
    if (!device) throw std::out_of_range("no device " + backend);
    return *device;
  }

  Program program_of(std::span<const ir::Function> functions) {
    return Program(context_, name(dialect_), ir::print_module(functions, dialect_, group));
  }

  DeviceMemory upload(const std::vector<std::byte>& bytes) {
    const DeviceMemory memory(context_, std::max<std::size_t>(bytes.size(), 4));
    stream_.copy_to_device(memory, 0, bytes);
    return memory;
  }

  Outputs launch(const Program& program, const Case& one) {
    Outputs outputs = empty_outputs(one);
    std::vector<LaunchArgument> arguments;
    std::vector<DeviceMemory> written;
    for (const auto& bytes : one.data.inputs) arguments.emplace_back(upload(bytes));
    for (const auto& bytes : one.data.tables) arguments.emplace_back(upload(bytes));
    for (const auto& bytes : outputs) arguments.emplace_back(written.emplace_back(upload(bytes)));
    arguments.emplace_back(static_cast<std::uint32_t>(one.count));
    for (std::size_t i = 0; i < one.data.tables.size(); ++i)
      arguments.emplace_back(
          static_cast<std::uint32_t>(one.data.tables[i].size() / element_bytes(one.function.tables[i])));
    for (const std::uint32_t bits : one.data.arguments) arguments.emplace_back(bits);
    const std::size_t each = std::size_t{group} * ir::elements_per_item(one.function);
    // A grid of two rows, with one work-group more than needed.
    const auto columns = static_cast<std::uint32_t>((one.count + each - 1) / each / 2 + 1);
    stream_.launch(EntryPoint(program, ir::entry_point(one.function)), {{columns, 2, 1}, {group, 1, 1}}, arguments);
    for (std::size_t o = 0; o < outputs.size(); ++o) stream_.copy_to_host(outputs[o], written[o], 0);
    stream_.synchronize();
    return outputs;
  }

  Dialect dialect_;
  Runtime runtime_;
  DeviceContext context_;
  Stream stream_{context_};
};

double stored(DType element, const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t raw = 0;
  std::memcpy(&raw, bytes.data() + at * element_bytes(element), element_bytes(element));
  switch (element) {
    case DType::float32:
      return static_cast<double>(std::bit_cast<float>(raw));
    case DType::int32:
      return std::bit_cast<std::int32_t>(raw);
    case DType::uint32:
      return raw;
    case DType::float16:
      return static_cast<double>(to_float(Half{static_cast<std::uint16_t>(raw)}));
    case DType::bfloat16:
      return static_cast<double>(to_float(Bfloat16{static_cast<std::uint16_t>(raw)}));
    default:
      break;
  }
  return static_cast<std::int8_t>(raw);
}

// The error of an f32 relative to its bound.
double share(const ir::BoundedValue& expected, double value) {
  if (!expected.known || !std::isfinite(expected.value) || !std::isfinite(value)) return 0;
  const double error = value - expected.value;
  const double bound = error > 0 ? expected.high - expected.value : expected.value - expected.low;
  return error == 0 ? 0 : std::fabs(error) / bound;
}

}  // namespace

Outputs empty_outputs(const Case& one) {
  Outputs outputs;
  for (const ir::Output& output : one.function.outputs) {
    const std::size_t words = (one.count + lanes(output.element) - 1) / lanes(output.element) + 1;
    outputs.emplace_back(words * 4, untouched);
  }
  return outputs;
}

std::unique_ptr<Runner> make_cpu_runner() { return std::make_unique<CpuRunner>(); }

std::vector<std::string> runner_names() {
  std::vector<std::string> names{"cpu"};
#if defined(VECTIS_HAS_OPENCL)
  names.emplace_back("opencl");
#endif
#if defined(VECTIS_HAS_WEBGPU)
  names.emplace_back("webgpu");
#endif
  return names;
}

std::unique_ptr<Runner> make_runner(const std::string& name) {
  if (name == "cpu") return make_cpu_runner();
  return std::make_unique<DeviceRunner>(name, name == "opencl" ? Dialect::opencl_c : Dialect::wgsl);
}

void judge(const Case& one, const Outputs& outputs, const ir::Accuracy& accuracy, Tally& tally) {
  const auto expected = ir::interpret_with_bounds(one.function, one.data.bindings(), one.count, accuracy);
  ++tally.programs;
  bool reported = false;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const DType element = one.function.outputs[o].element;
    for (std::size_t i = 0; i < one.count; ++i) {
      const ir::BoundedValue& bound = expected[o][i];
      const double value = stored(element, outputs[o], i);
      ++tally.elements;
      tally.exact += bound.known && ir::loaded_type(element) != DType::float32 ? 1U : 0U;
      tally.undecided += bound.known && bound.decided ? 0U : 1U;
      if (element == DType::float32) tally.worst = std::max(tally.worst, share(bound, value));
      if (ir::accepts(bound, element, value)) continue;
      ++tally.rejected;
      if (reported) continue;
      reported = true;
      ADD_FAILURE() << fmt::format("output {} element {} of {} is {:.9g}, not {:.9g} in [{:.9g}, {:.9g}]\n{}", o, i,
                                   one.count, value, bound.value, bound.low, bound.high, ir::to_text(one.function));
    }
    for (std::size_t byte = one.count * element_bytes(element); byte < outputs[o].size(); ++byte)
      ASSERT_EQ(outputs[o][byte], untouched)
          << "byte " << byte << " beyond output " << o << " of " << one.function.name;
  }
}

}  // namespace vectis::test
