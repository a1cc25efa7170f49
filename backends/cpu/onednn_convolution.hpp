// Convolutions by oneDNN. Only for builds with VECTIS_ONEDNN.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "backends/cpu/convolution.hpp"
#include "backends/cpu/onednn_library.hpp"

namespace vectis::cpu {

// Plans convolutions, keeps the plans of those used last, and runs them. Thread-safe.
class OneDnnConvolutions : private OneDnnLibrary {
 public:
  explicit OneDnnConvolutions(const OneDnnLibrary& library);
  OneDnnConvolutions(const OneDnnConvolutions&) = delete;
  OneDnnConvolutions& operator=(const OneDnnConvolutions&) = delete;
  ~OneDnnConvolutions();

  // OneDnn::convolution_workspace
  std::optional<std::uint64_t> workspace(const Convolution& convolution, std::uint32_t threads);
  // OneDnn::convolve
  bool run(const Convolution& convolution, const ConvolutionArrays& arrays, std::uint32_t threads);

 private:
  struct Operand;
  struct Plan;
  struct Descriptions;

  std::shared_ptr<Plan> plan(const Convolution& convolution, std::uint32_t threads);
  std::shared_ptr<Plan> make_plan(const Convolution& convolution);
  Descriptions describe(const Convolution& convolution, bool is_plain) const;
  OneDnnHandle<dnnl_primitive_desc_t> describe_primitive(const Convolution& convolution) const;
  void plan_operand(Operand& operand, const dnnl_memory_desc_t& plain, const dnnl_memory_desc_t& wanted) const;
  OneDnnHandle<dnnl_memory_t> make_memory(const dnnl_memory_desc_t& description) const;
  void execute(Plan& plan, const ConvolutionArrays& arrays);

  OneDnnHandle<dnnl_engine_t> engine_;
  OneDnnHandle<dnnl_stream_t> stream_;
  std::mutex mutex_;                        // guards plans_
  std::list<std::shared_ptr<Plan>> plans_;  // the one used last first
};

}  // namespace vectis::cpu
