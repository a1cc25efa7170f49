#include "driver.hpp"

#include <algorithm>
#include <cstring>

#include "ptx.hpp"

namespace vectis::test_driver {

namespace {

constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int invalid_device = 101;
constexpr int invalid_context = 201;
constexpr int peer_unsupported = 217;
constexpr int invalid_handle = 400;
constexpr int not_found = 500;
constexpr int not_ready = 600;
constexpr int peer_enabled_already = 704;

thread_local std::vector<Context*> current_contexts;

// Whether the host waits for a copy from or to this pinned memory, null for pageable memory.
bool waits_for_copies(const std::shared_ptr<Allocation>& pinned) {
  return pinned == nullptr || Control::get().setting("pinned", 1) == 0;
}

}  // namespace

template <class Object>
Object* Handles<Object>::add(std::unique_ptr<Object> object) {
  Object* handle = object.get();
  live_[handle] = std::move(object);
  ++handle->context->objects;
  Control::get().count(kind_, 1);
  return handle;
}

template <class Object>
Object& Handles<Object>::get(const void* handle) const {
  const auto found = live_.find(handle);
  if (found == live_.end()) refuse(invalid_handle, std::string("a handle of no ") + name_);
  return *found->second;
}

template <class Object>
void Handles<Object>::remove(const void* handle) {
  --get(handle).context->objects;
  live_.erase(handle);
  Control::get().count(kind_, -1);
}

Driver& Driver::get() {
  static auto* driver = [] {
    auto* made = new Driver;  // never destroyed: it is asked until the process ends
    made->queue.set_order(Control::get().setting("order", 1));
    return made;
  }();
  return *driver;
}

// --- Devices and contexts -------------------------------------------------------------------------------------------

void Driver::initialize() { initialized_ = true; }

void Driver::need_initialized() const {
  if (!initialized_) refuse(not_initialized, "a call before the driver was initialized");
}

int Driver::device_count() { return static_cast<int>(Control::get().setting("devices", 1)); }

void Driver::need_device(int device) {
  if (device < 0 || device >= device_count()) refuse(invalid_device, "device " + std::to_string(device));
}

std::size_t Driver::device_bytes() { return Control::get().setting("memory", std::uint64_t{16} << 30U); }

int Driver::architecture() { return static_cast<int>(Control::get().setting("architecture", 90)); }

Context& Driver::context_of(int device) {
  need_device(device);
  Context& context = contexts_[device];
  context.device = device;
  return context;
}

Context& Driver::retain(int device) {
  Context& context = context_of(device);
  ++context.holders;
  Control::get().count(VECTIS_DRIVER_CONTEXTS, 1);
  return context;
}

void Driver::release(int device) {
  Context& context = context_of(device);
  if (context.holders == 0) refuse(invalid_context, "release of a context nobody holds");
  Control::get().count(VECTIS_DRIVER_CONTEXTS, -1);
  if (--context.holders > 0) return;
  if (context.objects != 0) {
    Control::get().violate("a context ends with " + std::to_string(context.objects) + " objects in it");
  }
  if (std::find(current_contexts.begin(), current_contexts.end(), &context) != current_contexts.end()) {
    Control::get().violate("a context ends while it is current on this thread");
  }
  context.failure = 0;
  context.peers.clear();
  for (auto& [other, reaching] : contexts_) reaching.peers.erase(device);
}

void Driver::push(Context& context) {
  if (context.holders == 0) refuse(invalid_context, "a context nobody holds is made current");
  current_contexts.push_back(&context);
}

Context* Driver::pop() {
  if (current_contexts.empty()) refuse(invalid_context, "no context is current");
  Context* context = current_contexts.back();
  current_contexts.pop_back();
  return context;
}

void Driver::choose_device(int device) { current_contexts.assign(1, &context_of(device)); }

int Driver::chosen_device() {
  if (current_contexts.empty()) choose_device(0);
  return current_contexts.back()->device;
}

Context& Driver::current() {
  need_initialized();
  if (current_contexts.empty()) refuse(invalid_context, "a call that needs a context, and none is current");
  Context& context = *current_contexts.back();
  if (context.failure != 0) throw Refusal{context.failure};
  return context;
}

void Driver::heal() {
  for (auto& [device, context] : contexts_) context.failure = 0;
}

// --- Memory ---------------------------------------------------------------------------------------------------------

std::uint64_t Driver::allocate(std::size_t bytes) {
  Context& context = current();
  const std::uint64_t address = memory_.allocate(context.device, bytes, device_bytes());
  ++context.objects;
  return address;
}

void Driver::free(std::uint64_t address) {
  Context* context = current_contexts.empty() ? nullptr : current_contexts.back();
  if (context == nullptr) refuse(invalid_context, "memory is freed and no context is current");
  memory_.free(context->device, address);
  --context->objects;
  if (context->failure != 0) throw Refusal{context->failure};
}

std::size_t Driver::free_bytes() {
  const int device = current().device;
  return device_bytes() - memory_.used(device);
}

void* Driver::pin(std::size_t bytes) {
  Context& context = current();
  void* address = pinned_.allocate(context.device, bytes);
  ++context.objects;
  return address;
}

void Driver::unpin(const void* address) {
  Context* context = current_contexts.empty() ? nullptr : current_contexts.back();
  if (context == nullptr) refuse(invalid_context, "pinned memory is freed and no context is current");
  --contexts_.at(pinned_.free(address)).objects;
  if (context->failure != 0) throw Refusal{context->failure};
}

std::shared_ptr<Allocation> Driver::pinned(const void* address, std::size_t bytes) {
  auto memory = pinned_.find(address, bytes);
  ++(memory == nullptr ? pageable_copies : pinned_copies);
  return memory;
}

// --- Streams --------------------------------------------------------------------------------------------------------

Stream& Driver::stream(const void* handle) {
  if (handle == nullptr) refuse(invalid_handle, "the default stream, which the plug-in never means");
  Stream& stream = streams_.get(handle);
  if (stream.context != &current()) refuse(invalid_handle, "a stream of another context than the current one");
  return stream;
}

Stream* Driver::create_stream() {
  auto made = std::make_unique<Stream>();
  made->context = &current();
  queue.add(*made);
  return streams_.add(std::move(made));
}

void Driver::destroy_stream(const void* handle) {
  Stream& stream = streams_.get(handle);
  const int failure = stream.context->failure;
  queue.remove(stream);
  streams_.remove(handle);
  if (failure != 0) throw Refusal{failure};
}

void Driver::synchronize_stream(const void* handle) {
  timeline.wait_until(timeline.end_of(handle));
  queue.finish(stream(handle));
  current();
}

void Driver::synchronize() {
  queue.finish(current());
  current();
}

void Driver::enqueue(const void* handle, Work work) { queue.push(stream(handle), std::move(work)); }

void Driver::copy_to_device(std::uint64_t target, const void* source, std::size_t bytes, const void* handle) {
  const auto memory = memory_.find(stream(handle).context->device, target, bytes, "target of a copy to the device");
  char* place = memory->host + (target - memory->address);
  const auto host = pinned(source, bytes);
  timeline.copy(handle, Timeline::Engine::copies_in, bytes, waits_for_copies(host));
  enqueue(handle, {[=] { std::memcpy(place, source, bytes); }, {memory, host}, nullptr, nullptr});
}

void Driver::copy_to_host(void* target, std::uint64_t source, std::size_t bytes, const void* handle) {
  const auto memory = memory_.find(stream(handle).context->device, source, bytes, "source of a copy to the host");
  const char* place = memory->host + (source - memory->address);
  const auto host = pinned(target, bytes);
  timeline.copy(handle, Timeline::Engine::copies_out, bytes, waits_for_copies(host));
  enqueue(handle, {[=] { std::memcpy(target, place, bytes); }, {memory, host}, nullptr, nullptr});
}

void Driver::copy_on_device(std::uint64_t target, std::uint64_t source, std::size_t bytes, const void* handle) {
  const int device = stream(handle).context->device;
  const auto to = memory_.find(device, target, bytes, "target of a copy on the device");
  const auto from = memory_.find(device, source, bytes, "source of a copy on the device");
  if (target < source + bytes && source < target + bytes) refuse(invalid_value, "a copy on the device overlaps itself");
  char* place = to->host + (target - to->address);
  const char* origin = from->host + (source - from->address);
  enqueue(handle, {[=] { std::memcpy(place, origin, bytes); }, {to, from}, nullptr, nullptr});
}

bool Driver::reaches(int device, int peer) {
  need_device(device);
  need_device(peer);
  return device != peer && Control::get().setting("peer", 1) != 0;
}

void Driver::enable_peer(Context& peer) {
  Context& context = current();
  if (!reaches(context.device, peer.device)) refuse(peer_unsupported, "access to a device that is out of reach");
  if (!context.peers.insert(peer.device).second) throw Refusal{peer_enabled_already};
}

void Driver::copy_from_peer(std::uint64_t target, Context& to, std::uint64_t source, Context& from, std::size_t bytes,
                            const void* handle) {
  const Context& own = *stream(handle).context;
  if (&own != &to) refuse(invalid_context, "a peer copy on a stream of another context than its target's");
  if (!own.peers.contains(from.device)) refuse(peer_unsupported, "a peer copy without access to the source's device");
  const auto memory = memory_.find(to.device, target, bytes, "target of a peer copy");
  const auto origin = memory_.find(from.device, source, bytes, "source of a peer copy");
  char* place = memory->host + (target - memory->address);
  const char* begin = origin->host + (source - origin->address);
  enqueue(handle, {[=] { std::memcpy(place, begin, bytes); }, {memory, origin}, nullptr, nullptr});
}

void Driver::fill(std::uint64_t target, unsigned char value, std::size_t bytes, const void* handle) {
  const auto memory = memory_.find(stream(handle).context->device, target, bytes, "target of a fill");
  char* place = memory->host + (target - memory->address);
  enqueue(handle, {[=] { std::memset(place, value, bytes); }, {memory}, nullptr, nullptr});
}

// --- Events ---------------------------------------------------------------------------------------------------------

Event& Driver::event(const void* handle) {
  Event& event = events_.get(handle);
  if (event.context != &current()) refuse(invalid_handle, "an event of another context than the current one");
  return event;
}

Event* Driver::create_event() {
  auto made = std::make_unique<Event>();
  made->context = &current();
  return events_.add(std::move(made));
}

void Driver::destroy_event(const void* handle) {
  const int failure = events_.get(handle).context->failure;
  events_.remove(handle);
  if (failure != 0) throw Refusal{failure};
}

void Driver::record(const void* handle, const void* stream_handle) {
  Event& recorded = event(handle);
  recorded.place = std::make_shared<Place>();
  recorded.place->due = timeline.end_of(stream_handle);
  enqueue(stream_handle, {nullptr, {}, nullptr, recorded.place});
}

void Driver::query(const void* handle) {
  Event& asked = event(handle);
  if (queue.random()() % 2 == 0) queue.pass_time();
  current();
  if (asked.place != nullptr && !asked.place->passed) throw Refusal{not_ready};
}

void Driver::synchronize_event(const void* handle) {
  Event& awaited = event(handle);
  if (awaited.place != nullptr) {
    queue.reach(*awaited.place);
    timeline.wait_until(awaited.place->due);
  }
  current();
}

void Driver::wait(const void* stream_handle, const void* handle) {
  const Event& awaited = events_.get(handle);  // of any context
  stream(stream_handle);
  if (awaited.place == nullptr) return;
  timeline.delay(stream_handle, awaited.place->due);
  enqueue(stream_handle, {nullptr, {}, awaited.place, nullptr});
}

float Driver::milliseconds(const void* begin, const void* end) {
  const Event& from = event(begin);
  const Event& to = event(end);
  if (from.place == nullptr || to.place == nullptr) refuse(invalid_handle, "the time of an event never recorded");
  if (!from.place->passed || !to.place->passed) throw Refusal{not_ready};
  return static_cast<float>((static_cast<double>(to.place->time) - static_cast<double>(from.place->time)) / 1e6);
}

// --- Modules --------------------------------------------------------------------------------------------------------

LoadedModule* Driver::load(const char* image, int driver_version) {
  auto made = std::make_unique<LoadedModule>();
  made->context = &current();
  made->module = is_ptx(image) ? load_ptx(image, architecture(), driver_version)
                               : std::make_shared<Module>(read_image(image), architecture());
  return modules_.add(std::move(made));
}

void Driver::unload(const void* handle) {
  const int failure = modules_.get(handle).context->failure;
  modules_.remove(handle);
  if (failure != 0) throw Refusal{failure};
}

Function* Driver::function(const void* handle, const char* name) {
  LoadedModule& module = modules_.get(handle);
  if (module.context != &current()) refuse(invalid_handle, "a module of another context than the current one");
  const VtdKernel* kernel = module.module->find(name);
  if (kernel == nullptr) throw Refusal{not_found};
  Function& made = module.functions[name];
  made = {&module, kernel};
  return &made;
}

const VtdKernel& Driver::kernel(const void* function) { return *static_cast<const Function*>(function)->kernel; }

void Driver::launch(const void* handle, VtdTriple grid, VtdTriple group, unsigned shared_bytes,
                    const void* stream_handle, void** parameters) {
  const auto& function = *static_cast<const Function*>(handle);
  Stream& given = stream(stream_handle);
  if (modules_.get(function.owner).context != given.context) refuse(invalid_handle, "a kernel of another context");
  Launch launch{function.owner->module, function.kernel, grid, group, shared_bytes, {}};
  const VtdKernel& kernel = *function.kernel;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || group.x == 0 || group.y == 0 || group.z == 0 || grid.x > INT32_MAX ||
      grid.y > Limits::grid_yz || grid.z > Limits::grid_yz || group.z > Limits::group_z ||
      std::uint64_t{group.x} * group.y * group.z > kernel.group_items_max) {
    refuse(invalid_value, std::string("a launch of ") + kernel.name + " beyond the limits");
  }
  const std::size_t static_shared = launch.module->get().kernel_count == 1 ? launch.module->shared_bytes() : 0;
  if (static_shared + shared_bytes > Limits::shared_bytes) {
    refuse(invalid_value, std::string(kernel.name) + " needs " + std::to_string(static_shared + shared_bytes) +
                              " bytes of shared memory");
  }
  Work work;
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    std::vector<std::byte> value(kernel.bytes[i]);
    std::memcpy(value.data(), parameters[i], value.size());
    if (kernel.is_pointer[i] != 0) {
      std::uint64_t address = 0;
      std::memcpy(&address, value.data(), sizeof address);
      const auto memory =
          memory_.find(given.context->device, address, 1, "argument " + std::to_string(i) + " of " + kernel.name);
      char* place = memory->host + (address - memory->address);
      std::memcpy(value.data(), &place, sizeof place);
      work.memories.push_back(memory);
    }
    launch.parameters.push_back(std::move(value));
  }
  work.run = [this, launch = std::move(launch)] { run_launch(launch, queue.random()); };
  timeline.kernel(stream_handle);
  enqueue(stream_handle, std::move(work));
}

void Driver::run_above(std::span<const VectisDriverRange> ranges, void (*run)(void*, char* const*),
                       const std::shared_ptr<void>& state, const void* handle) {
  Work work;
  std::vector<char*> places;
  for (const VectisDriverRange& range : ranges) {
    const auto memory =
        memory_.find(stream(handle).context->device, range.address, range.bytes, "memory of a library above");
    places.push_back(memory->host + (range.address - memory->address));
    work.memories.push_back(memory);
  }
  work.run = [=] { run(state.get(), places.data()); };
  enqueue(handle, std::move(work));
}

}  // namespace vectis::test_driver
