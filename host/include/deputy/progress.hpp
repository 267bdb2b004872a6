// The stages of loading and preparing a model, for a line of progress: compiling for a device may take minutes.
#pragma once

#include <cstddef>
#include <string_view>

namespace deputy {

// A stage of loading a model or of its first run.
enum class ProgressStage {
  kScan,          // a plugin file is checked; a plugin that is used is probed, which runs it
  kOpen,          // a delegate is opened
  kImport,        // a model file is read
  kPasses,        // its graph is simplified
  kPlacement,     // delegates are queried about its nodes, and partitions are formed
  kCompile,       // a partition is compiled, or restored from the cache
  kVerification,  // the results of a partition are compared with the CPU's
  kMeasurement,   // a candidate of a search for the fastest placement is run
};

inline constexpr size_t kProgressStages = static_cast<size_t>(ProgressStage::kMeasurement) + 1;

// The beginning of a stage, or a step of it. The texts are valid during the call only.
struct Progress {
  ProgressStage stage{};
  std::string_view delegate;  // of the configuration; empty for stages without one
  // kScan: the file; kVerification: the partition; kMeasurement: the candidate; other stages: the model's name.
  std::string_view subject;
  // kCompile: of the partitions of this delegate in one graph, from 1; a partition that a delegate refuses, and a
  // region, begin a new count. kMeasurement: the number of the candidate, without a count.
  size_t number = 0, count = 0;
  size_t nodes = 0;  // kPasses, kPlacement: of the graph; kCompile, kVerification: of the partition
  // kCompile, while a partition is compiled by a delegate that reports it: how far it is, and what it does now.
  unsigned permille = 0;
  std::string_view step = {};
};

}  // namespace deputy
