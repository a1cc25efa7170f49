// One index that two threads use at once, and the statements that hold whatever they do.
//
// Ids say what is known of them:
//   stable      nobody changes them: exact searches always find them
//   changing    their thread replaces, removes and adds them again, always with one of `versions` vectors
//   dying       their thread removes them, once
//   fresh       their thread adds them, once
//   appended    ids that the index chose
#pragma once

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/indexes/kinds.hpp"

namespace vectis::test {

inline constexpr std::uint64_t versions = 4;  // vectors of a changing id, and of the appended ids of a thread
inline constexpr std::size_t changing_ids = 24;
inline constexpr std::size_t dying_ids = 120;

// The range of each group of ids; those of thread t begin at the group's first id + t * 2^20.
enum class IdGroup : std::uint8_t { stable, changing, dying, fresh, appended };
inline constexpr std::uint64_t changing_begin = std::uint64_t{1} << 45;
inline constexpr std::uint64_t dying_begin = std::uint64_t{1} << 46;
inline constexpr std::uint64_t fresh_begin = std::uint64_t{1} << 47;
inline constexpr std::uint64_t anchor_id = std::uint64_t{1} << 60;  // stable; appended ids follow it

inline std::uint64_t first_of(std::uint64_t group_begin, std::size_t thread) { return group_begin + (thread << 20U); }

struct KnownId {
  IdGroup group;
  std::size_t thread = 0;
  std::uint64_t number = 0;  // within the group and thread
};

inline KnownId known_id(std::uint64_t id) {
  const auto in = [&](IdGroup group, std::uint64_t begin) {
    return KnownId{group, static_cast<std::size_t>((id - begin) >> 20U), (id - begin) & 0xF'FFFFU};
  };
  if (id > anchor_id) return {IdGroup::appended, 0, id - anchor_id};
  if (id == anchor_id || id < changing_begin) return {IdGroup::stable, 0, id};
  if (id < dying_begin) return in(IdGroup::changing, changing_begin);
  return id < fresh_begin ? in(IdGroup::dying, dying_begin) : in(IdGroup::fresh, fresh_begin);
}

// The vector that an id has in a version, for ever.
inline Floats scene_vector(std::size_t dim, std::uint64_t id, std::uint64_t version = 0) {
  Random random(id * 977 + version * 0x9E37'79B9'7F4AULL + 3);
  Floats vector(dim);
  for (float& x : vector) x = static_cast<float>(random.unit() * 2 - 1);
  return vector;
}
inline Floats appended_vector(std::size_t dim, std::uint64_t version) { return scene_vector(dim, ~version); }

// What a run needs to know to be repeated.
struct SceneShape {
  std::size_t dim = 8;
  Metric metric = Metric::l2;
  std::size_t stable = 100;
  bool sparse_ids = false;   // stable ids are multiples of 2^32, else dense
  bool lossy = false;        // one of the operations drops full precision
  bool requantized = false;  // and the other rounds what is left again
};

// What one thread knows of its own ids. Only that thread uses it.
struct Actor {
  Actor(std::size_t number, std::uint64_t seed) : thread(number), random(seed) {}

  std::size_t thread;
  Random random;
  std::map<std::uint64_t, std::uint64_t> changing;  // version of those that exist, by id
  std::set<std::uint64_t> appended;
  std::uint64_t fresh = 0;  // ids below were added
  std::uint64_t dead = 0;   // dying ids below were removed
  // Hits of stable ids in a lossy run: the query's stable id, the hit, its distance.
  struct Seen {
    std::uint64_t query;
    Hit hit;
  };
  std::vector<Seen> seen;
};

// Not copyable; the calls are thread-safe, each thread with its own Actor.
class Scene {
 public:
  Scene(const IndexKind& index_kind, const SceneShape& scene_shape, std::unique_ptr<Index> made_index,
        Runtime& index_runtime)
      : kind(index_kind), shape(scene_shape), index(std::move(made_index)), runtime(index_runtime) {
    for (std::size_t i = 0; i < shape.stable; ++i) stable_ids.push_back(stable_id(shape, i));
    stable_ids.push_back(anchor_id);
    for (const std::uint64_t id : stable_ids) stable_vectors.push_back(scene_vector(shape.dim, id));
    for (auto& side : sides_) side.live = changing_ids + dying_ids;
  }

  static std::uint64_t stable_id(const SceneShape& shape, std::size_t i) {
    return shape.sparse_ids ? std::uint64_t{i} << 32U : i;
  }
  // The ids and vectors that a new scene has.
  static std::pair<Ids, Floats> first_rows(const SceneShape& shape) {
    Ids ids;
    for (std::size_t i = 0; i < shape.stable; ++i) ids.push_back(stable_id(shape, i));
    ids.push_back(anchor_id);
    for (std::size_t thread = 0; thread < 2; ++thread) {
      for (std::size_t i = 0; i < changing_ids; ++i) ids.push_back(first_of(changing_begin, thread) + i);
      for (std::size_t i = 0; i < dying_ids; ++i) ids.push_back(first_of(dying_begin, thread) + i);
    }
    Floats vectors;
    for (const std::uint64_t id : ids) {
      const Floats one = scene_vector(shape.dim, id);
      vectors.insert(vectors.end(), one.begin(), one.end());
    }
    return {std::move(ids), std::move(vectors)};
  }
  Actor actor(std::size_t thread, std::uint64_t seed) const {
    Actor made(thread, seed);
    for (std::size_t i = 0; i < changing_ids; ++i) made.changing[first_of(changing_begin, thread) + i] = 0;
    return made;
  }

  // Records the first failure.
  void fail(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = text;
    failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  // Brackets a change of the thread after which it has `live` vectors.
  void begin_change(const Actor& actor, std::size_t live) {
    Side& side = sides_[actor.thread];
    side.live_next = live;
    ++side.changes;
  }
  void end_change(const Actor& actor) {
    Side& side = sides_[actor.thread];
    side.live = side.live_next.load();
    ++side.changes;
  }
  void publish_dead(const Actor& actor) { sides_[actor.thread].dead = actor.dead; }
  [[nodiscard]] std::uint64_t dead(std::size_t thread) const { return sides_[thread].dead; }
  [[nodiscard]] std::size_t live(const Actor& actor) const { return sides_[actor.thread].live; }

  // Fails unless `count()`, the number of vectors, is one that the index has during the call. Knows nothing when the
  // other thread began or ended a change meanwhile.
  template <class Count>
  void expect_count(const Actor& actor, const char* what, const Count& count) {
    const Side& other = sides_[1 - actor.thread];
    const std::uint64_t changes = other.changes;
    const std::uint64_t before = other.live;
    const std::uint64_t after = changes % 2 == 0 ? before : other.live_next.load();
    const std::uint64_t counted = count();
    if (other.changes != changes) return;
    const std::uint64_t own = stable_ids.size() + sides_[actor.thread].live;
    if (counted == own + before || counted == own + after) return;
    fail(std::string(what) + " is " + std::to_string(counted) + ", not " + std::to_string(own + before) + " or " +
         std::to_string(own + after));
  }

  const IndexKind kind;
  const SceneShape shape;
  const std::unique_ptr<Index> index;
  Runtime& runtime;
  Ids stable_ids;
  std::vector<Floats> stable_vectors;

 private:
  struct Side {
    std::atomic<std::uint64_t> changes = 0;  // odd while a change runs
    std::atomic<std::uint64_t> live = 0;
    std::atomic<std::uint64_t> live_next = 0;
    std::atomic<std::uint64_t> dead = 0;
  };

  Side sides_[2];
  mutable std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> failed_ = false;
};

// One search of a scene, and everything that its hits must satisfy.
class SceneSearch {
 public:
  SceneSearch(Scene& scene, Actor& actor, std::size_t k, const SearchOptions& options)
      : scene_(scene), actor_(actor), k_(k), options_(options), dead_{scene.dead(0), scene.dead(1)} {}

  // Whether stable ids may not be missing: the search is exact, or at most 2 k + 12 rows pass the filter, which a graph
  // all compares exactly.
  void require_all(bool complete) { complete_ = complete; }

  // `query_id`: the stable id whose vector is the query.
  void check(std::uint64_t query_id, std::span<const float> query, std::span<const Hit> hits) {
    if (hits.size() > k_) return fail("more than k hits");
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (i > 0 && !precedes(hits[i - 1], hits[i])) return fail("hits are not in order", hits[i]);
      if (options_.filter && !options_.filter->allows(hits[i].id)) return fail("the filter does not allow", hits[i]);
      if (options_.radius && hits[i].distance > *options_.radius) return fail("beyond the radius", hits[i]);
      check_hit(query_id, query, hits[i]);
    }
    check_missing(query, hits);
  }

 private:
  static bool precedes(const Hit& a, const Hit& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
  }

  void check_hit(std::uint64_t query_id, std::span<const float> query, const Hit& hit) {
    const KnownId known = known_id(hit.id);
    const std::size_t dim = scene_.shape.dim;
    switch (known.group) {
      case IdGroup::stable:
        if (scene_.shape.lossy) {
          actor_.seen.push_back({query_id, hit});
        } else if (!is_distance(query, hit, scene_vector(dim, hit.id))) {
          fail("a wrong distance", hit);
        }
        return;
      case IdGroup::changing:
        return check_changing(query, hit, known);
      case IdGroup::dying:
        if (known.number < dead_[known.thread]) return fail("found after it was removed", hit);
        if (!scene_.shape.lossy && !is_distance(query, hit, scene_vector(dim, hit.id))) fail("a wrong distance", hit);
        return;
      case IdGroup::fresh:
        if (known.thread == actor_.thread && known.number >= actor_.fresh) return fail("was never added", hit);
        if (!scene_.shape.lossy && !is_distance(query, hit, scene_vector(dim, hit.id))) fail("a wrong distance", hit);
        return;
      case IdGroup::appended:
        for (std::uint64_t version = 0; version < versions && !scene_.shape.lossy; ++version) {
          if (is_distance(query, hit, appended_vector(dim, version))) return;
        }
        if (!scene_.shape.lossy) fail("a wrong distance", hit);
    }
  }
  void check_changing(std::span<const float> query, const Hit& hit, const KnownId& known) {
    if (known.thread == actor_.thread) {
      const auto own = actor_.changing.find(hit.id);
      if (own == actor_.changing.end()) return fail("found after it was removed", hit);
      if (scene_.shape.lossy) return;
      if (!is_distance(query, hit, scene_vector(scene_.shape.dim, hit.id, own->second))) fail("an old vector", hit);
      return;
    }
    for (std::uint64_t version = 0; version < versions && !scene_.shape.lossy; ++version) {
      if (is_distance(query, hit, scene_vector(scene_.shape.dim, hit.id, version))) return;
    }
    if (!scene_.shape.lossy) fail("a wrong distance", hit);
  }
  [[nodiscard]] bool is_distance(std::span<const float> query, const Hit& hit, const Floats& vector) const {
    return hit.distance == exact_distance(scene_.shape.metric, query, vector);
  }

  // Every stable id that is nearer than the last hit is a hit; without k hits, every one that is allowed.
  void check_missing(std::span<const float> query, std::span<const Hit> hits) {
    const bool full = hits.size() == k_;
    if (!options_.filter && !options_.radius && !full && hits.size() < scene_.stable_ids.size()) {
      return fail("only " + std::to_string(hits.size()) + " of " + std::to_string(k_) + " hits");
    }
    if (!complete_ || (full && k_ == 0)) return;
    for (std::size_t i = 0; i < scene_.stable_ids.size(); ++i) {
      const std::uint64_t id = scene_.stable_ids[i];
      if (options_.filter && !options_.filter->allows(id)) continue;
      const Hit stable{id, exact_distance(scene_.shape.metric, query, scene_.stable_vectors[i])};
      if (scene_.shape.lossy ? full || options_.radius : full && !precedes(stable, hits.back())) continue;
      if (options_.radius && stable.distance > *options_.radius) continue;
      if (std::ranges::find(hits, id, &Hit::id) == hits.end()) return fail("missing", stable);
    }
  }

  void fail(const std::string& what) { scene_.fail("a search of k = " + std::to_string(k_) + ": " + what); }
  void fail(const std::string& what, const Hit& hit) {
    std::ostringstream text;
    text.precision(17);
    text << what << ": id " << hit.id << " at " << hit.distance;
    fail(text.str());
  }

  Scene& scene_;
  Actor& actor_;
  std::size_t k_;
  const SearchOptions& options_;
  std::uint64_t dead_[2];  // when the search began
  bool complete_ = false;
};

}  // namespace vectis::test
