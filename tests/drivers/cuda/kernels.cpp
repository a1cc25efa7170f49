#include "kernels.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "control.hpp"
#include "fibers.hpp"
#include "memory.hpp"

namespace vectis::test_driver {

namespace {

constexpr const char* image_word = "VECTIS-TEST-IMAGE";
constexpr unsigned warp_lanes_max = 64;
constexpr unsigned char shared_dirt = 0xFF;  // NaN, and no sensible index

// One group's threads. A fiber runs threads one after the other for as long as none waits; a thread that waits keeps
// its fiber, and the next one gets another.
class GroupRunner {
 public:
  GroupRunner(const Launch& launch, std::mt19937_64& random)
      : launch_(launch),
        place_(*launch.module->get().place),
        random_(random),
        dynamic_(0, launch.dynamic_shared_bytes + 1, 0) {
    for (const auto& parameter : launch.parameters) {
      parameters_.push_back(const_cast<std::byte*>(parameter.data()));
    }
    threads_ = launch.group.x * launch.group.y * launch.group.z;
    place_.grid = launch.grid;
    place_.group = launch.group;
    place_.dynamic_shared = dynamic_.host;
    place_.barrier = wait_here;
    place_.collective = run_in_warp;
  }

  void run(VtdTriple group) {
    place_.block = group;
    const VtdModule& module = launch_.module->get();
    std::fill(module.shared_begin, module.shared_end, static_cast<char>(shared_dirt));
    std::memset(dynamic_.host, shared_dirt, dynamic_.bytes);
    next_ = 0;
    ended_ = 0;
    used_ = 0;
    first_ = static_cast<unsigned>(random_() % threads_);
    backwards_ = random_() % 2 == 0;
    while (next_ < threads_) start_fiber();
    while (waiting() > 0) {
      if (!run_collective()) pass_barrier();
    }
  }

 private:
  static thread_local GroupRunner* running_;

  static void wait_here(int line) { running_->wait(line); }

  void wait(int line) {
    waiting_.push_back(Fiber::running());
    pause(line);
  }

  // Lets others run, until somebody resumes the running fiber.
  void pause(int line) {
    Fiber* self = Fiber::running();
    self->line = line;
    self->thread = place_.thread;
    Fiber::yield_to_caller();
    place_.thread = self->thread;
  }

  using Compute = void (*)(void* const*);

  // The lanes of a warp that wait for the others to run an instruction together.
  struct WarpCall {
    std::array<Fiber*, warp_lanes_max> fibers{};
    std::array<void*, warp_lanes_max> own{};
    Compute compute = nullptr;
    unsigned lanes = 0;  // of the warp
    unsigned arrived = 0;
  };

  static void run_in_warp(int line, unsigned lanes, Compute compute, void* own) {
    running_->wait_for_warp(line, lanes, compute, own);
  }

  void wait_for_warp(int line, unsigned lanes, Compute compute, void* own) {
    const VtdTriple& thread = place_.thread;
    const VtdTriple& size = launch_.group;
    const unsigned number = thread.x + size.x * (thread.y + size.y * thread.z);
    WarpCall& call = warps_[number / lanes];
    call.fibers[number % lanes] = Fiber::running();
    call.own[number % lanes] = own;
    call.compute = compute;
    call.lanes = lanes;
    ++call.arrived;
    pause(line);
  }

  [[nodiscard]] std::size_t waiting() const {
    std::size_t count = waiting_.size();
    for (const auto& [warp, call] : warps_) count += call.arrived;
    return count;
  }

  // Runs the instruction of a warp whose lanes have all come to it. Whether there was one.
  bool run_collective() {
    const auto found = std::find_if(warps_.begin(), warps_.end(),
                                    [](const auto& one) { return one.second.arrived == one.second.lanes; });
    if (found == warps_.end()) return false;
    const WarpCall call = found->second;
    warps_.erase(found);
    const int line = call.fibers.front()->line;
    if (std::any_of(call.fibers.begin(), call.fibers.begin() + call.lanes,
                    [&](const Fiber* one) { return one->line != line; }))
      Control::get().violate(std::string("lanes of a warp at different instructions in ") + launch_.kernel->name);
    call.compute(call.own.data());
    const unsigned first = static_cast<unsigned>(random_() % call.lanes);
    for (unsigned i = 0; i < call.lanes; ++i) {
      running_ = this;
      call.fibers[(first + i) % call.lanes]->resume();
    }
    return true;
  }

  // Lanes that wait in vain for others of their warp: a violation, after which they go on.
  void abandon_collectives() {
    Control::get().violate(std::string("an instruction of a warp that not all lanes run in ") + launch_.kernel->name);
    for (const auto& [warp, call] : std::exchange(warps_, {})) {
      for (Fiber* fiber : call.fibers) {
        running_ = this;
        if (fiber != nullptr) fiber->resume();
      }
    }
  }

  static void run_threads(void* argument) {
    GroupRunner& self = *static_cast<GroupRunner*>(argument);
    while (self.next_ < self.threads_) {
      const unsigned step = self.next_++;
      const unsigned turned = (self.first_ + step) % self.threads_;
      const unsigned number = self.backwards_ ? self.threads_ - 1 - turned : turned;
      const VtdTriple& size = self.launch_.group;
      self.place_.thread = {number % size.x, number / size.x % size.y, number / size.x / size.y};
      self.launch_.kernel->call(self.parameters_.data());
      ++self.ended_;
    }
  }

  void start_fiber() {
    running_ = this;
    if (used_ == fibers().size()) fibers().push_back(std::make_unique<Fiber>());
    Fiber& fiber = *fibers()[used_++];
    const std::size_t before = waiting();
    fiber.start(run_threads, this);
    if (waiting() == before) --used_;  // it ended
  }

  void pass_barrier() {
    if (!warps_.empty()) {
      abandon_collectives();
      return;
    }
    const int line = waiting_.front()->line;
    const bool same =
        std::all_of(waiting_.begin(), waiting_.end(), [&](const Fiber* fiber) { return fiber->line == line; });
    if (!same || ended_ > 0) {
      Control::get().violate(std::string("divergent barrier in ") + launch_.kernel->name + ": " +
                             std::to_string(waiting_.size()) + " of " + std::to_string(threads_) +
                             " threads wait at line " + std::to_string(line) + (same ? "" : " and others") + ", " +
                             std::to_string(ended_) + " have ended");
    }
    std::vector<Fiber*> going = std::move(waiting_);
    waiting_.clear();
    if (random_() % 2 == 0) std::reverse(going.begin(), going.end());
    for (Fiber* fiber : going) {
      running_ = this;
      fiber->resume();
    }
  }

  // Stacks are kept for the next group.
  static std::vector<std::unique_ptr<Fiber>>& fibers() {
    thread_local std::vector<std::unique_ptr<Fiber>> all;
    return all;
  }

  const Launch& launch_;
  VtdPlace& place_;
  std::mt19937_64& random_;
  Allocation dynamic_;  // a byte more than was asked for, and then no more
  std::vector<void*> parameters_;
  std::vector<Fiber*> waiting_;         // at a barrier
  std::map<unsigned, WarpCall> warps_;  // by number
  std::size_t used_ = 0;
  unsigned threads_ = 0;
  unsigned next_ = 0;
  unsigned ended_ = 0;
  unsigned first_ = 0;
  bool backwards_ = false;
};

thread_local GroupRunner* GroupRunner::running_ = nullptr;

}  // namespace

std::string image_text(const Image& image) {
  return std::string(image_word) + " " + image.form + " " + std::to_string(image.architecture) + " " + image.hash +
         "\n";
}

Image read_image(const char* text) {
  if (text == nullptr || std::strncmp(text, image_word, std::strlen(image_word)) != 0) throw Refusal{200};
  std::istringstream words(text);
  std::string first;
  Image image;
  words >> first >> image.form >> image.architecture >> image.hash;
  if (!words) throw Refusal{200};
  return image;
}

std::string cache_folder() {
  const char* folder = std::getenv("VECTIS_TEST_DRIVER_CACHE");
  return folder == nullptr ? VECTIS_TEST_DRIVER_CACHE : folder;
}

Module::Module(const Image& image, int architecture) {
  const bool fits = image.form == "ptx" ? image.architecture <= architecture : image.architecture == architecture;
  if (!fits) throw Refusal{209};
  const std::string file = cache_folder() + "/" + image.hash + ".so";
  library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw Refusal{200};
  module_ = static_cast<const VtdModule*>(dlsym(library_, VTD_MODULE_SYMBOL));
  if (module_ == nullptr) throw Refusal{200};
}

Module::~Module() {
  if (library_ != nullptr) dlclose(library_);
}

const VtdKernel* Module::find(const std::string& name) const {
  const VtdKernel* end = module_->kernels + module_->kernel_count;
  const VtdKernel* found =
      std::find_if(module_->kernels, end, [&](const VtdKernel& each) { return each.name == name; });
  return found == end ? nullptr : found;
}

void run_launch(const Launch& launch, std::mt19937_64& random) {
  GroupRunner runner(launch, random);
  const VtdTriple& grid = launch.grid;
  const std::uint64_t groups = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t first = random() % groups;
  const bool backwards = random() % 2 == 0;
  for (std::uint64_t step = 0; step < groups; ++step) {
    const std::uint64_t turned = (first + step) % groups;
    const std::uint64_t number = backwards ? groups - 1 - turned : turned;
    runner.run({static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)});
  }
}

}  // namespace vectis::test_driver
