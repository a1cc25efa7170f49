#include "kernel/profiler/profiler_service.hpp"

#include <algorithm>
#include <exception>

#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// One submission or range, with the state of each recorder.
struct WorkToken {
  std::vector<std::pair<std::shared_ptr<Recorder>, WorkInFlight>> flights;
};
struct RangeToken {
  std::vector<std::pair<std::shared_ptr<Recorder>, std::uint64_t>> ranges;
};

// A failure inside a recorder (out of memory) drops the event, is counted, and never reaches the caller.
template <class Do>
void guarded(Recorder& recorder, const Do& act) noexcept {
  try {
    act();
  } catch (const std::exception&) {
    recorder.count_dropped();
  }
}

}  // namespace

ProfilerService::ProfilerService(Runtime& runtime) {
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    const auto& backend = device.core()->backend;
    if (std::ranges::find(backends_, backend) == backends_.end()) backends_.push_back(backend);
  }
}

ProfilerService::~ProfilerService() { install(nullptr); }

void ProfilerService::install(StreamObserver* observer) {
  for (const auto& backend : backends_) backend->observer.store(observer, std::memory_order_release);
}

void ProfilerService::add(const std::shared_ptr<Recorder>& recorder) {
  const std::lock_guard lock(mutex_);
  auto recorders = std::make_shared<Recorders>(*recorders_);
  if (std::ranges::find(*recorders, recorder) != recorders->end()) return;
  recorders->push_back(recorder);
  recorders_ = std::move(recorders);
  recorder->set_enabled(true);
  install(this);
}

void ProfilerService::remove(const std::shared_ptr<Recorder>& recorder) {
  const std::lock_guard lock(mutex_);
  auto recorders = std::make_shared<Recorders>(*recorders_);
  if (std::erase(*recorders, recorder) == 0) return;
  recorder->set_enabled(false);
  if (recorders->empty()) install(nullptr);
  recorders_ = std::move(recorders);
}

std::shared_ptr<const ProfilerService::Recorders> ProfilerService::recorders() const {
  const std::lock_guard lock(mutex_);
  return recorders_;
}

void* ProfilerService::before(const StreamCore& stream, const Work& work) noexcept {
  const auto all = recorders();
  auto* token = new (std::nothrow) WorkToken;
  for (const auto& recorder : *all) {
    guarded(*recorder, [&] {
      if (token == nullptr) throw std::bad_alloc();
      token->flights.emplace_back(recorder, recorder->before(stream, work));
    });
  }
  return token;
}

void ProfilerService::after(void* token, WorkOutcome outcome) noexcept {
  const std::unique_ptr<WorkToken> work(static_cast<WorkToken*>(token));
  if (work == nullptr) return;
  for (auto& [recorder, flight] : work->flights) {
    guarded(*recorder, [&] { recorder->after(flight, outcome); });
  }
}

void* ProfilerService::open(const NamedRange& range) noexcept {
  const auto all = recorders();
  auto* token = new (std::nothrow) RangeToken;
  for (const auto& recorder : *all) {
    guarded(*recorder, [&] {
      if (token == nullptr) throw std::bad_alloc();
      token->ranges.emplace_back(recorder, recorder->open(range));
    });
  }
  return token;
}

void ProfilerService::close(void* token) noexcept {
  const std::unique_ptr<RangeToken> range(static_cast<RangeToken*>(token));
  if (range == nullptr) return;
  for (const auto& [recorder, id] : range->ranges) {
    guarded(*recorder, [&] { recorder->close(id); });
  }
}

}  // namespace vectis::inline v0_1::detail
