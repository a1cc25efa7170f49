#if VECTIS_ONEDNN
#include "backends/cpu/onednn_convolution.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace vectis::cpu {

namespace {

constexpr std::size_t plans_max = 128;   // a plan holds compiled code: tens of kilobytes
constexpr std::uint64_t alignment = 64;  // of parts of the workspace, in bytes: a cache line and an AVX-512 register
constexpr std::int64_t small_work = 1 << 19;  // multiply-adds which one thread finishes before others would wake

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::uint32_t threads_for(const Convolution& convolution, std::uint32_t threads) {
  std::int64_t work =
      convolution.batch * convolution.output_channels * (convolution.input_channels / convolution.groups);
  for (std::size_t i = 0; i < convolution.axes && work <= small_work; ++i) {
    work *= convolution.along[i].output * convolution.along[i].window;
  }
  return work <= small_work ? 1 : threads;
}

// The argument of each array, in the order input, weights, output, of the primitive that computes a target.
constexpr int argument_of[3][3] = {
    {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
};

// The position of the target among input, weights and output.
std::size_t position_of(ConvolutionTarget target) {
  if (target == ConvolutionTarget::output) return 2;
  return target == ConvolutionTarget::input ? 0 : 1;
}

}  // namespace

// The layouts of input, weights and output, in this order.
struct OneDnnConvolutions::Descriptions {
  std::array<dnnl_memory_desc_t, 3> of;
};

// An array of a convolution: as the caller has it, and in the layout that oneDNN chose, if that is another.
struct OneDnnConvolutions::Operand {
  OneDnnHandle<dnnl_memory_t> plain;
  OneDnnHandle<dnnl_memory_t> blocked;  // empty: the same layout
  OneDnnHandle<dnnl_primitive_t> reorder;
  std::uint64_t offset = 0;  // of `blocked` in the workspace
  bool is_target = false;

  [[nodiscard]] dnnl_memory_t used() const { return blocked.get() != nullptr ? blocked.get() : plain.get(); }
};

struct OneDnnConvolutions::Plan {
  Convolution convolution;
  std::uint32_t threads;
  OneDnnHandle<dnnl_primitive_t> primitive;  // empty: oneDNN has none
  std::array<Operand, 3> operands;           // input, weights, output
  OneDnnHandle<dnnl_memory_t> scratchpad;
  std::uint64_t workspace = 0;  // bytes; the scratchpad is at its start
};

OneDnnConvolutions::OneDnnConvolutions(const OneDnnLibrary& library)
    : OneDnnLibrary(library), engine_(dnnl_engine_destroy), stream_(dnnl_stream_destroy) {}

OneDnnConvolutions::~OneDnnConvolutions() = default;

std::optional<std::uint64_t> OneDnnConvolutions::workspace(const Convolution& convolution, std::uint32_t threads) {
  const std::shared_ptr<Plan> found = plan(convolution, threads);
  if (found->primitive.get() == nullptr) return std::nullopt;
  return found->workspace;
}

bool OneDnnConvolutions::run(const Convolution& convolution, const ConvolutionArrays& arrays, std::uint32_t threads) {
  const std::shared_ptr<Plan> found = plan(convolution, threads);
  if (found->primitive.get() == nullptr || arrays.workspace.size() < found->workspace) return false;
  const std::lock_guard lock(onednn_mutex());
  const OneDnnThreads scope(*this, found->threads);
  try {
    execute(*found, arrays);
  } catch (dnnl_status_t) {
    return false;
  }
  return true;
}

// The plan of a convolution: one that was made before, or a new one in place of the one not used for longest.
std::shared_ptr<OneDnnConvolutions::Plan> OneDnnConvolutions::plan(const Convolution& convolution,
                                                                   std::uint32_t threads) {
  const std::uint32_t used = threads_for(convolution, threads);
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      plans_, [&](const auto& plan) { return plan->threads == used && plan->convolution == convolution; });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  const OneDnnThreads scope(*this, used);  // which oneDNN plans for
  std::shared_ptr<Plan> made;
  try {
    made = make_plan(convolution);
  } catch (dnnl_status_t) {
    made = std::make_shared<Plan>();
    made->convolution = convolution;
  }
  made->threads = used;
  plans_.push_front(made);
  if (plans_.size() > plans_max) plans_.pop_back();
  return made;
}

std::shared_ptr<OneDnnConvolutions::Plan> OneDnnConvolutions::make_plan(const Convolution& convolution) {
  if (engine_.get() == nullptr) check(dnnl_engine_create(engine_.out(), dnnl_cpu, 0));
  if (stream_.get() == nullptr) check(dnnl_stream_create(stream_.out(), engine_.get(), dnnl_stream_default_flags));
  auto made = std::make_shared<Plan>();
  made->convolution = convolution;
  const OneDnnHandle<dnnl_primitive_desc_t> description = describe_primitive(convolution);
  const auto query = [&](int argument) -> const dnnl_memory_desc_t& {
    const dnnl_memory_desc_t* found = dnnl_primitive_desc_query_md(description.get(), dnnl_query_exec_arg_md, argument);
    if (found == nullptr) throw dnnl_unimplemented;
    return *found;
  };
  const dnnl_memory_desc_t& scratchpad = query(DNNL_ARG_SCRATCHPAD);
  made->scratchpad = make_memory(scratchpad);
  made->workspace = aligned(dnnl_memory_desc_get_size(&scratchpad));
  const Descriptions plain = describe(convolution, true);
  for (std::size_t i = 0; i < made->operands.size(); ++i) {
    Operand& operand = made->operands[i];
    const dnnl_memory_desc_t& wanted = query(argument_of[static_cast<std::size_t>(convolution.target)][i]);
    operand.is_target = i == position_of(convolution.target);
    operand.offset = made->workspace;
    plan_operand(operand, plain.of[i], wanted);
    if (operand.blocked.get() != nullptr) made->workspace += aligned(dnnl_memory_desc_get_size(&wanted));
  }
  OneDnnHandle<dnnl_primitive_t> primitive(dnnl_primitive_destroy);
  check(dnnl_primitive_create(primitive.out(), description.get()));
  made->primitive = std::move(primitive);
  return made;
}

// The arrays without gaps, or with layouts that oneDNN chooses.
OneDnnConvolutions::Descriptions OneDnnConvolutions::describe(const Convolution& convolution, bool is_plain) const {
  const dnnl_data_type_t type = convolution.type == VECTIS_FLOAT32 ? dnnl_f32 : dnnl_bf16;
  const auto describe_array = [&](std::initializer_list<std::int64_t> first, std::int64_t ConvolutionAxis::* extent) {
    dnnl_dims_t dims;
    int rank = 0;
    for (const std::int64_t dim : first) dims[rank++] = dim;
    for (std::size_t i = 0; i < convolution.axes; ++i) dims[rank++] = convolution.along[i].*extent;
    dnnl_dims_t strides;
    std::int64_t stride = 1;
    for (int i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
    dnnl_memory_desc_t result;
    check(is_plain ? dnnl_memory_desc_init_by_strides(&result, rank, dims, type, strides)
                   : dnnl_memory_desc_init_by_tag(&result, rank, dims, type, dnnl_format_tag_any));
    return result;
  };
  const std::int64_t groups = convolution.groups;
  const std::int64_t inputs = convolution.input_channels / groups;
  const std::int64_t outputs = convolution.output_channels / groups;
  return {{describe_array({convolution.batch, convolution.input_channels}, &ConvolutionAxis::input),
           groups == 1 ? describe_array({outputs, inputs}, &ConvolutionAxis::window)
                       : describe_array({groups, outputs, inputs}, &ConvolutionAxis::window),
           describe_array({convolution.batch, convolution.output_channels}, &ConvolutionAxis::output)}};
}

OneDnnHandle<dnnl_primitive_desc_t> OneDnnConvolutions::describe_primitive(const Convolution& convolution) const {
  const Descriptions any = describe(convolution, false);
  const auto& [input, weights, output] = any.of;
  dnnl_dims_t steps;
  dnnl_dims_t dilations;  // oneDNN counts the elements between: 0 for adjacent ones
  dnnl_dims_t padding;
  for (std::size_t i = 0; i < convolution.axes; ++i) {
    steps[i] = convolution.along[i].step;
    dilations[i] = convolution.along[i].dilation - 1;
    padding[i] = convolution.along[i].padding;
  }
  OneDnnHandle<dnnl_primitive_attr_t> attributes(dnnl_primitive_attr_destroy);
  check(dnnl_primitive_attr_create(attributes.out()));
  check(dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user));
  const auto create = [&](const dnnl_convolution_desc_t& operation, const_dnnl_primitive_desc_t forward) {
    OneDnnHandle<dnnl_primitive_desc_t> result(dnnl_primitive_desc_destroy);
    check(dnnl_primitive_desc_create(result.out(), &operation, attributes.get(), engine_.get(), forward));
    return result;
  };
  dnnl_convolution_desc_t operation;
  check(dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, dnnl_convolution_direct, &input,
                                                   &weights, nullptr, &output, steps, dilations, padding, padding));
  OneDnnHandle<dnnl_primitive_desc_t> forward = create(operation, nullptr);
  if (convolution.target == ConvolutionTarget::output) return forward;
  if (convolution.target == ConvolutionTarget::input) {
    check(dnnl_dilated_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct, &input, &weights,
                                                           &output, steps, dilations, padding, padding));
  } else {
    check(dnnl_dilated_convolution_backward_weights_desc_init(&operation, dnnl_convolution_direct, &input, &weights,
                                                              nullptr, &output, steps, dilations, padding, padding));
  }
  return create(operation, forward.get());
}

void OneDnnConvolutions::plan_operand(Operand& operand, const dnnl_memory_desc_t& plain,
                                      const dnnl_memory_desc_t& wanted) const {
  operand.plain = make_memory(plain);
  if (dnnl_memory_desc_equal(&plain, &wanted) != 0) return;
  operand.blocked = make_memory(wanted);
  const dnnl_memory_desc_t& from = operand.is_target ? wanted : plain;
  const dnnl_memory_desc_t& to = operand.is_target ? plain : wanted;
  OneDnnHandle<dnnl_primitive_desc_t> description(dnnl_primitive_desc_destroy);
  OneDnnHandle<dnnl_primitive_t> reorder(dnnl_primitive_destroy);
  check(dnnl_reorder_primitive_desc_create(description.out(), &from, engine_.get(), &to, engine_.get(), nullptr));
  check(dnnl_primitive_create(reorder.out(), description.get()));
  operand.reorder = std::move(reorder);
}

// An array whose memory is set at each run.
OneDnnHandle<dnnl_memory_t> OneDnnConvolutions::make_memory(const dnnl_memory_desc_t& description) const {
  OneDnnHandle<dnnl_memory_t> memory(dnnl_memory_destroy);
  check(dnnl_memory_create(memory.out(), &description, engine_.get(), DNNL_MEMORY_NONE));
  return memory;
}

// Requires the mutex of oneDNN, which also guards the memories of the plan.
void OneDnnConvolutions::execute(Plan& plan, const ConvolutionArrays& arrays) {
  const std::array<void*, 3> data = {arrays.input, arrays.weights, arrays.output};
  const auto reorder = [&](const Operand& operand) {
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_FROM, operand.is_target ? operand.blocked.get() : operand.plain.get()},
        {DNNL_ARG_TO, operand.is_target ? operand.plain.get() : operand.blocked.get()}};
    check(dnnl_primitive_execute(operand.reorder.get(), stream_.get(), 2, arguments));
  };
  std::array<dnnl_exec_arg_t, 4> arguments;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Operand& operand = plan.operands[i];
    check(dnnl_memory_set_data_handle(operand.plain.get(), data[i]));
    arguments[i] = {argument_of[static_cast<std::size_t>(plan.convolution.target)][i], operand.used()};
    if (operand.blocked.get() == nullptr) continue;
    check(dnnl_memory_set_data_handle(operand.blocked.get(), arrays.workspace.data() + operand.offset));
    if (!operand.is_target) reorder(operand);
  }
  check(dnnl_memory_set_data_handle(plan.scratchpad.get(), arrays.workspace.data()));
  arguments[3] = {DNNL_ARG_SCRATCHPAD, plan.scratchpad.get()};
  check(dnnl_primitive_execute(plan.primitive.get(), stream_.get(), static_cast<int>(arguments.size()),
                               arguments.data()));
  const Operand& target = plan.operands[position_of(plan.convolution.target)];
  if (target.blocked.get() != nullptr) reorder(target);
  check(dnnl_stream_wait(stream_.get()));
}

}  // namespace vectis::cpu
#endif
