// Helpers of the profiler's tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/devices/fixture.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::test {

inline std::optional<ProfileRow> row(const std::vector<ProfileRow>& rows, const std::string& name) {
  for (const ProfileRow& row : rows) {
    if (row.name == name) return row;
  }
  return std::nullopt;
}

inline nlohmann::json trace_of(const Profiler& profiler) {
  std::ostringstream text;
  profiler.write_trace(text);
  return nlohmann::json::parse(text.str());
}

inline std::vector<nlohmann::json> events(const nlohmann::json& trace, const std::string& phase) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

// Checks what trace viewers require: slices of a track nest or are disjoint, every track has a name, and every flow
// begins and ends at the start of a slice. Times are compared in integer nanoseconds.
inline void expect_sound(const nlohmann::json& trace) {
  using Track = std::pair<int, std::uint64_t>;
  using Slice = std::pair<std::int64_t, std::int64_t>;  // begin, -end: parents sort before children
  const auto nanoseconds = [](const nlohmann::json& value) { return std::llround(value.get<double>() * 1000.0); };
  const auto track = [](const nlohmann::json& event) { return Track{event.at("pid"), event.at("tid")}; };
  std::map<Track, std::vector<Slice>> slices;
  std::set<std::pair<Track, std::int64_t>> begins;
  for (const auto& event : events(trace, "X")) {
    const auto begin = nanoseconds(event.at("ts"));
    const auto length = nanoseconds(event.at("dur"));
    EXPECT_GE(begin, 0) << event;
    EXPECT_GE(length, 0) << event;
    slices[track(event)].emplace_back(begin, -(begin + length));
    begins.emplace(track(event), begin);
  }
  for (auto& [where, all] : slices) {
    std::sort(all.begin(), all.end());
    std::vector<std::int64_t> ends;
    for (const auto& [begin, minus_end] : all) {
      while (!ends.empty() && ends.back() <= begin) ends.pop_back();
      const std::int64_t limit = ends.empty() ? -minus_end : ends.back();
      EXPECT_LE(-minus_end, limit) << "process " << where.first << " track " << where.second;
      ends.push_back(-minus_end);
    }
  }
  std::set<Track> named;
  for (const auto& event : events(trace, "M")) {
    if (event.at("name") == "thread_name") named.insert(track(event));
  }
  for (const auto& [where, all] : slices) EXPECT_TRUE(named.contains(where)) << where.first << ' ' << where.second;
  std::map<std::uint64_t, std::int64_t> given;
  for (const auto& event : events(trace, "s")) {
    EXPECT_TRUE(begins.contains({track(event), nanoseconds(event.at("ts"))})) << event;
    EXPECT_TRUE(given.emplace(event.at("id"), nanoseconds(event.at("ts"))).second) << event;
  }
  for (const auto& event : events(trace, "f")) {
    EXPECT_TRUE(begins.contains({track(event), nanoseconds(event.at("ts"))})) << event;
    const auto start = given.find(event.at("id"));
    ASSERT_NE(start, given.end()) << event;
    EXPECT_LE(start->second, nanoseconds(event.at("ts"))) << event;
    given.erase(start);
  }
  EXPECT_TRUE(given.empty());
}

}  // namespace vectis::test
