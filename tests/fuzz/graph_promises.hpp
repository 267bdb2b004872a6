// What holds for every graph that a reader of models has accepted, and for every error.
#pragma once

#include <string>

#include "base/status.hpp"
#include "format/model_file.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"
#include "graph/graph.hpp"

namespace deputy::fuzz {

inline void RequireError(const Status& status) {
  Require(!status.ok(), "a failure has a status that is not OK");
  Require(!status.message().empty(), "an error has a message", status.ToString());
  Require(status.code() != StatusCode::kInternal && status.code() != StatusCode::kUnknown,
          "a bad input is no internal error", status.ToString());
}

inline void RequireVerified(const host::Graph& graph, std::string_view when) {
  const Status verdict = host::VerifyGraph(graph);
  Require(verdict.ok(), when, verdict.ToString());
}

// A graph that is saved and read back gives the same bytes when it is saved again.
inline void RequireSaves(const host::Graph& graph) {
  const auto path = TemporaryFolder() / "saved.dpm";
  if (const Status saved = host::WriteModelFile(graph, path); !saved.ok()) {
    Require(saved.code() == StatusCode::kResourceExhausted || saved.code() == StatusCode::kNotSupported,
            "a graph that was accepted can be saved", saved.ToString());
    return;
  }
  const Bytes first = ReadFile(path);
  const Result<host::Graph> read = host::ReadModel(first, nullptr);
  Require(read.ok(), "a saved graph can be read", read.status().ToString());
  RequireVerified(*read, "a saved graph verifies");
  const Status again = host::WriteModelFile(*read, path);
  Require(again.ok(), "a graph that was read can be saved", again.ToString());
  Require(ReadFile(path) == first, "saving and reading changes nothing");
}

}  // namespace deputy::fuzz
