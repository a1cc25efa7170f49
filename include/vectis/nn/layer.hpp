// A layer of any class, and sequences of layers.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// A class that has a name for summaries: `static constexpr std::string_view kind = "Dense"`.
template <class M>
concept HasKind = requires {
  { M::kind } -> std::convertible_to<std::string_view>;
};

// Holds a module of any class with forward(x, mode), and is one itself. A value: copies are independent. An empty
// Layer, from which another was moved, may only be assigned to or destroyed.
class Layer {
 public:
  template <class M>
    requires(!std::same_as<M, Layer> && Module<M>)
  // NOLINTNEXTLINE(google-explicit-constructor): lists of layers are written as lists of modules.
  Layer(M module) : held_(std::make_unique<Holder<M>>(std::move(module))) {}
  Layer(const Layer& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}
  Layer& operator=(const Layer& other) {
    held_ = other.held_ ? other.held_->copy() : nullptr;
    return *this;
  }
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer&&) noexcept = default;
  ~Layer() = default;

  Tensor forward(const Tensor& x, const Mode& mode = {}) { return held_->forward(x, mode); }
  void visit(Visitor& visitor) { held_->visit(visitor); }
  // Returns the name of the module's class, "Module" when it has none.
  [[nodiscard]] std::string_view kind() const noexcept { return held_->kind(); }
  // Returns the module if it is an M, else null.
  template <class M>
  [[nodiscard]] M* get_if() noexcept {
    auto* const holder = dynamic_cast<Holder<M>*>(held_.get());
    return holder == nullptr ? nullptr : &holder->module;
  }
  template <class M>
  [[nodiscard]] const M* get_if() const noexcept {
    const auto* const holder = dynamic_cast<const Holder<M>*>(held_.get());
    return holder == nullptr ? nullptr : &holder->module;
  }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    [[nodiscard]] virtual std::unique_ptr<Base> copy() const = 0;
    virtual Tensor forward(const Tensor& x, const Mode& mode) = 0;
    virtual void visit(Visitor& visitor) = 0;
    [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
  };
  template <class M>
  struct Holder final : Base {
    explicit Holder(M held) : module(std::move(held)) {}
    [[nodiscard]] std::unique_ptr<Base> copy() const override { return std::make_unique<Holder>(module); }
    Tensor forward(const Tensor& x, const Mode& mode) override { return module.forward(x, mode); }
    void visit(Visitor& visitor) override { module.visit(visitor); }
    [[nodiscard]] std::string_view kind() const noexcept override {
      if constexpr (HasKind<M>) return M::kind;
      return "Module";
    }
    M module;
  };

  std::unique_ptr<Base> held_;
};

// Layers one after the other, named "0", "1" and so on. A value, and a module itself: sequences nest.
class VECTIS_API Sequential {
 public:
  static constexpr std::string_view kind = "Sequential";

  Sequential() = default;
  // Takes layers of any classes: Sequential{Dense(784, 512), Activation(ActivationFunction::ReLU), Dense(512, 10)}.
  Sequential(std::initializer_list<Layer> layers) : layers_(layers) {}

  // Appends a layer and returns this sequence.
  Sequential& add(Layer layer) {
    layers_.push_back(std::move(layer));
    return *this;
  }
  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }
  [[nodiscard]] std::vector<Layer>& layers() noexcept { return layers_; }
  [[nodiscard]] const std::vector<Layer>& layers() const noexcept { return layers_; }

  // Applies the layers in order; without layers returns `x`.
  Tensor forward(const Tensor& x, const Mode& mode = {});
  void visit(Visitor& visitor);

 private:
  std::vector<Layer> layers_;
};

}  // namespace vectis::inline v0_1::nn
