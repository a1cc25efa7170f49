#include "tests/hostile/index_operations.hpp"

#include <array>
#include <limits>
#include <numeric>

namespace vectis::test {

namespace {

// Changes.

Floats rows_of(const Scene& scene, std::span<const std::uint64_t> ids, std::span<const std::uint64_t> id_versions) {
  Floats vectors;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Floats one = scene_vector(scene.shape.dim, ids[i], id_versions.empty() ? 0 : id_versions[i]);
    vectors.insert(vectors.end(), one.begin(), one.end());
  }
  return vectors;
}

void append(Scene& scene, Actor& actor) {
  const std::size_t count = 1 + actor.random.below(12);
  Floats vectors;
  for (std::size_t i = 0; i < count; ++i) {
    const Floats one = appended_vector(scene.shape.dim, actor.random.below(versions));
    vectors.insert(vectors.end(), one.begin(), one.end());
  }
  scene.begin_change(actor, scene.live(actor) + count);
  const std::uint64_t first = scene.index->add(vectors);
  scene.end_change(actor);
  if (first <= anchor_id) return scene.fail("add returned the id " + std::to_string(first));
  for (std::size_t i = 0; i < count; ++i) actor.appended.insert(first + i);
}

void add_ids(Scene& scene, Actor& actor) {
  Ids ids(1 + actor.random.below(12));
  std::iota(ids.begin(), ids.end(), first_of(fresh_begin, actor.thread) + actor.fresh);
  scene.begin_change(actor, scene.live(actor) + ids.size());
  scene.index->add(ids, rows_of(scene, ids, {}));
  scene.end_change(actor);
  actor.fresh += ids.size();
}

// New and present ids together.
void upsert(Scene& scene, Actor& actor) {
  Ids ids;
  Ids id_versions;
  std::size_t added = 0;
  for (std::size_t i = 0; i < changing_ids; ++i) {
    if (actor.random.below(3) != 0) continue;
    ids.push_back(first_of(changing_begin, actor.thread) + i);
    id_versions.push_back(actor.random.below(versions));
    added += actor.changing.contains(ids.back()) ? 0U : 1U;
  }
  scene.begin_change(actor, scene.live(actor) + added);
  scene.index->upsert(ids, rows_of(scene, ids, id_versions));
  scene.end_change(actor);
  for (std::size_t i = 0; i < ids.size(); ++i) actor.changing[ids[i]] = id_versions[i];
}

void update(Scene& scene, Actor& actor) {
  if (actor.changing.empty()) return upsert(scene, actor);
  auto chosen = actor.changing.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(actor.random.below(actor.changing.size())));
  chosen->second = (chosen->second + 1) % versions;
  scene.index->update(chosen->first, scene_vector(scene.shape.dim, chosen->first, chosen->second));
}

// Dying ids, for good; some ids that never were.
void remove(Scene& scene, Actor& actor) {
  Ids ids(std::min<std::uint64_t>(1 + actor.random.below(12), dying_ids - actor.dead));
  std::iota(ids.begin(), ids.end(), first_of(dying_begin, actor.thread) + actor.dead);
  const std::size_t present = ids.size();
  ids.push_back(first_of(dying_begin, actor.thread) + dying_ids + 5);
  scene.begin_change(actor, scene.live(actor) - present);
  const std::size_t removed = scene.index->remove(ids);
  scene.end_change(actor);
  actor.dead += present;
  scene.publish_dead(actor);
  if (removed != present) scene.fail("remove returned " + std::to_string(removed) + " of " + std::to_string(present));
}

// Removes changing ids and adds them again.
void replace(Scene& scene, Actor& actor) {
  if (actor.changing.size() < changing_ids / 2) return upsert(scene, actor);
  Ids ids;
  for (const auto& [id, version] : actor.changing) {
    if (actor.random.below(2) == 0) ids.push_back(id);
  }
  scene.begin_change(actor, scene.live(actor) - ids.size());
  const std::size_t removed = scene.index->remove(ids);
  scene.end_change(actor);
  for (const std::uint64_t id : ids) actor.changing.erase(id);
  if (removed != ids.size()) scene.fail("remove returned " + std::to_string(removed));
}

void compact(Scene& scene, Actor& /*actor*/) { scene.index->compact(); }
void drop_full_precision(Scene& scene, Actor& /*actor*/) { scene.index->drop_full_precision(); }

void set_precision(Scene& scene, Actor& actor) {
  constexpr std::array all{Precision::int8, Precision::fp16, Precision::bf16, Precision::fp32};
  const bool any = scene.kind.name != std::string_view("graph") && exact::can_scan(scene.shape.metric, Precision::int8);
  scene.index->set_precision(any ? all[actor.random.below(all.size())] : scene.index->precision());
}

// Reads.

void get(Scene& scene, Actor& actor) {
  const auto expect = [&](std::uint64_t id, std::uint64_t version, bool there) {
    const auto vector = scene.index->get(id);
    if (vector.has_value() != there) {
      return scene.fail("get of id " + std::to_string(id) + (there ? " found nothing" : " found a removed vector"));
    }
    if (!vector || scene.shape.lossy) return;
    if (*vector != scene_vector(scene.shape.dim, id, version))
      scene.fail("get of id " + std::to_string(id) + ": wrong");
  };
  expect(scene.stable_ids[actor.random.below(scene.stable_ids.size())], 0, true);
  const std::uint64_t own = first_of(changing_begin, actor.thread) + actor.random.below(changing_ids);
  const auto known = actor.changing.find(own);
  expect(own, known == actor.changing.end() ? 0 : known->second, known != actor.changing.end());
  if (actor.fresh > 0) expect(first_of(fresh_begin, actor.thread) + actor.random.below(actor.fresh), 0, true);
  const std::size_t other = 1 - actor.thread;
  const std::uint64_t dead = scene.dead(other);
  if (dead > 0) expect(first_of(dying_begin, other) + actor.random.below(dead), 0, false);
}

// Queries that are vectors of stable ids.
struct SceneQueries {
  SceneQueries(const Scene& scene, Actor& actor, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = actor.random.below(scene.stable_ids.size());
      ids.push_back(scene.stable_ids[which]);
      floats.insert(floats.end(), scene.stable_vectors[which].begin(), scene.stable_vectors[which].end());
    }
  }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    const std::size_t dim = floats.size() / ids.size();
    return std::span(floats).subspan(i * dim, dim);
  }

  Ids ids;
  Floats floats;
};

constexpr std::size_t all_rows = 1'000'000;  // a k above the size of every scene

std::size_t some_k(Actor& actor) {
  constexpr std::array<std::size_t, 6> all{1, 3, 10, 10, 40, all_rows};
  return all[actor.random.below(all.size())];
}

// An exact search, where the kind has one.
void ask_for_all(const Scene& scene, SearchOptions& options) {
  if (scene.kind.name == std::string_view("auto")) options.recall = 1.0;
}
bool finds_all(const Scene& scene, const SearchOptions& options, std::size_t k, std::size_t allowed) {
  const bool exact = scene.kind.name != std::string_view("graph");
  const bool approximate_auto = scene.kind.name == std::string_view("auto") && !scene.kind.exact && !options.recall;
  return (exact && !approximate_auto) || k >= all_rows || allowed <= 2 * k + 12;
}

void run_search(Scene& scene, Actor& actor, const SceneQueries& queries, std::size_t k, const SearchOptions& options,
                std::size_t allowed) {
  SceneSearch search(scene, actor, k, options);
  search.require_all(finds_all(scene, options, k, allowed));
  const SearchResult found = scene.index->search(queries.floats, k, options);
  if (found.queries() != queries.ids.size()) return scene.fail("results of another number of queries");
  for (std::size_t i = 0; i < queries.ids.size(); ++i) search.check(queries.ids[i], queries.row(i), found[i]);
}

void search_one(Scene& scene, Actor& actor) {
  SearchOptions options;
  const std::uint64_t fate = actor.random.below(3);
  if (fate == 0) ask_for_all(scene, options);
  if (fate == 1 && scene.kind.name == std::string_view("graph")) options.ef = 10 + actor.random.below(90);
  run_search(scene, actor, SceneQueries(scene, actor, 1), some_k(actor), options, all_rows);
}

void search_batch(Scene& scene, Actor& actor) {
  SearchOptions options;
  ask_for_all(scene, options);
  run_search(scene, actor, SceneQueries(scene, actor, 9), some_k(actor), options, all_rows);
}

void search_radius(Scene& scene, Actor& actor) {
  SearchOptions options;
  ask_for_all(scene, options);
  const SceneQueries queries(scene, actor, 1);
  const std::size_t other = actor.random.below(scene.stable_ids.size());
  options.radius = exact_distance(scene.shape.metric, queries.row(0), scene.stable_vectors[other]);
  run_search(scene, actor, queries, some_k(actor), options, all_rows);
}

void search_into(Scene& scene, Actor& actor) {
  SearchOptions options;
  ask_for_all(scene, options);
  const SceneQueries queries(scene, actor, 2);
  constexpr std::size_t k = 7;
  SceneSearch search(scene, actor, k, options);
  search.require_all(finds_all(scene, options, k, all_rows));
  Ids ids(2 * k);
  std::vector<double> distances(2 * k);
  static_cast<void>(scene.index->search_into(queries.floats, k, ids, distances, options));
  for (std::size_t query = 0; query < 2; ++query) {
    std::vector<Hit> hits;
    for (std::size_t i = query * k; i < (query + 1) * k; ++i) {
      if (ids[i] != Index::missing_id) hits.push_back({ids[i], distances[i]});
    }
    search.check(queries.ids[query], queries.row(query), hits);
  }
}

// A small number of ids, all of which must be found by every kind.
void search_few(Scene& scene, Actor& actor) {
  const SceneQueries queries(scene, actor, 1);
  Ids ids{queries.ids[0]};
  while (ids.size() < 1 + actor.random.below(12)) {
    ids.push_back(scene.stable_ids[actor.random.below(scene.stable_ids.size())]);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  SearchOptions options;
  options.filter = actor.random.below(3) == 0
                       ? IdFilter::predicate([&](std::uint64_t id) { return std::ranges::binary_search(ids, id); })
                       : IdFilter::sorted_list(ids);
  run_search(scene, actor, queries, std::max<std::size_t>(1, actor.random.below(ids.size() + 3)), options, ids.size());
}

// Ranges and bitmaps of many ids, in the middle of which other ids change.
void search_many(Scene& scene, Actor& actor) {
  SearchOptions options;
  ask_for_all(scene, options);
  const SceneQueries queries(scene, actor, 2);
  std::vector<std::uint64_t> words(4);
  for (std::uint64_t& word : words) word = actor.random.next();
  const std::uint64_t fate = actor.random.below(4);
  const std::size_t other = 1 - actor.thread;
  if (fate == 0) options.filter = IdFilter::bitmap(words, 0);
  if (fate == 1) options.filter = IdFilter::range(0, scene.stable_ids[scene.stable_ids.size() / 2]);
  if (fate == 2)
    options.filter = IdFilter::range(first_of(changing_begin, other), std::numeric_limits<std::uint64_t>::max());
  if (fate == 3) options.filter = IdFilter::predicate([](std::uint64_t id) { return id % 2 == 0; });
  run_search(scene, actor, queries, some_k(actor), options, all_rows);
}

void save(Scene& scene, Actor& actor) {
  std::unique_ptr<Index> copy;
  scene.expect_count(actor, "the size of a saved index", [&] {
    copy = index_of(scene.kind, file_of(*scene.index), scene.runtime);
    return copy->size();
  });
  if (scene.shape.lossy) return;
  for (std::size_t i = 0; i < scene.stable_ids.size(); i += 7) {
    if (copy->get(scene.stable_ids[i]) != scene.stable_vectors[i]) return scene.fail("a stable vector was not saved");
  }
  for (const auto& [id, version] : actor.changing) {
    if (copy->get(id) != scene_vector(scene.shape.dim, id, version)) return scene.fail("an own vector was not saved");
  }
}

void size(Scene& scene, Actor& actor) {
  scene.expect_count(actor, "size()", [&] { return scene.index->size(); });
}

void statistics(Scene& scene, Actor& actor) {
  scene.expect_count(actor, "statistics().vectors", [&] { return scene.index->statistics().vectors; });
  const IndexStatistics now = scene.index->statistics();
  if (now.vectors < scene.stable_ids.size() || now.bytes + now.mapped_bytes == 0) scene.fail("impossible statistics");
}

void explain(Scene& scene, Actor& actor) {
  SearchOptions options;
  ask_for_all(scene, options);
  if (scene.index->explain(1 + actor.random.below(100), 10, options).empty()) scene.fail("explain() said nothing");
  static_cast<void>(scene.index->devices());
  static_cast<void>(scene.index->precision());
}

constexpr std::array operations{
    IndexOperation{"append", 12, append},
    IndexOperation{"add_ids", 12, add_ids},
    IndexOperation{"upsert", 12, upsert},
    IndexOperation{"update", 20, update},
    IndexOperation{"remove", 12, remove},
    IndexOperation{"replace", 12, replace},
    IndexOperation{"compact", 6, compact},
    IndexOperation{"drop_full_precision", 4, drop_full_precision, true},
    IndexOperation{"set_precision", 6, set_precision, false, true},
    IndexOperation{"get", 100, get},
    IndexOperation{"search", 20, search_one},
    IndexOperation{"search_batch", 6, search_batch},
    IndexOperation{"search_radius", 20, search_radius},
    IndexOperation{"search_into", 15, search_into},
    IndexOperation{"search_few", 30, search_few},
    IndexOperation{"search_many", 15, search_many},
    IndexOperation{"save", 3, save},
    IndexOperation{"size", 400, size},
    IndexOperation{"statistics", 100, statistics},
    IndexOperation{"explain", 20, explain},
};

// After drop_full_precision every stable vector is the one that was added or the one that is stored now.
void check_seen(Scene& scene, const Actor& actor) {
  if (scene.shape.requantized) return;
  for (const Actor::Seen& seen : actor.seen) {
    const Floats query = scene_vector(scene.shape.dim, seen.query);
    const auto stored = scene.index->get(seen.hit.id);
    const Floats added = scene_vector(scene.shape.dim, seen.hit.id);
    if (!stored) return scene.fail("a stable id is gone");
    if (seen.hit.distance == exact_distance(scene.shape.metric, query, added)) continue;
    if (seen.hit.distance == exact_distance(scene.shape.metric, query, *stored)) continue;
    return scene.fail("a distance to neither the added nor the stored vector of id " + std::to_string(seen.hit.id));
  }
}

BruteForce expected_rows(const Scene& scene, std::span<const Actor> actors) {
  BruteForce truth(scene.shape.dim, scene.shape.metric);
  const auto put = [&](std::uint64_t id, std::uint64_t version) {
    truth.put(id, scene_vector(scene.shape.dim, id, version));
  };
  for (const std::uint64_t id : scene.stable_ids) put(id, 0);
  for (const Actor& actor : actors) {
    for (const auto& [id, version] : actor.changing) put(id, version);
    for (std::uint64_t i = actor.dead; i < dying_ids; ++i) put(first_of(dying_begin, actor.thread) + i, 0);
    for (std::uint64_t i = 0; i < actor.fresh; ++i) put(first_of(fresh_begin, actor.thread) + i, 0);
    for (const std::uint64_t id : actor.appended) truth.put(id, scene.index->get(id).value_or(Floats(scene.shape.dim)));
  }
  return truth;
}

}  // namespace

std::span<const IndexOperation> index_operations() { return operations; }

void check_end(Scene& scene, std::span<const Actor> actors) {
  if (scene.failed()) return;
  const BruteForce truth = expected_rows(scene, actors);
  const auto compare = [&](const Index& index, const char* which) {
    if (index.size() != truth.rows().size()) {
      return scene.fail(std::string(which) + " has " + std::to_string(index.size()) + " vectors, not " +
                        std::to_string(truth.rows().size()));
    }
    for (const auto& [id, vector] : truth.rows()) {
      const auto stored = index.get(id);
      if (!stored || (!scene.shape.lossy && *stored != vector)) {
        return scene.fail(std::string(which) + ": a wrong vector of id " + std::to_string(id));
      }
    }
    if (scene.shape.lossy) return;
    SearchOptions options;
    ask_for_all(scene, options);
    for (const std::size_t i : {std::size_t{0}, scene.stable_ids.size() / 2}) {
      const auto found = index.search(scene.stable_vectors[i], all_rows, options);
      if (hits_of(found, 0) != truth.search(scene.stable_vectors[i], all_rows)) {
        return scene.fail(std::string(which) + ": a search for all vectors is wrong at the end");
      }
    }
  };
  compare(*scene.index, "the index");
  for (const Actor& actor : actors) check_seen(scene, actor);
  if (!scene.failed()) compare(*index_of(scene.kind, file_of(*scene.index), scene.runtime), "the loaded index");
}

}  // namespace vectis::test
