// Options of execution providers (EPs) that are known here. EPs accept unknown options and values without a word, so
// this table is the only check.
#pragma once

#include <string>
#include <vector>

#include "provider.hpp"

namespace ort {

struct KnownOption {
  std::string name;                       // of the EP
  std::string fallback;                   // the value where the configuration has none
  std::vector<std::string> choices = {};  // empty: a whole number from 0 on
  std::string help = {};
  bool is_always_set = false;  // else the EP gets values other than `fallback` alone
};

struct KnownProvider {
  std::string group;  // under which its options stand, and a part of its library's name
  std::string name;   // as the EP states it
  std::vector<KnownOption> options;
  bool builds_in_first_run = false;  // what it has claimed may still fail there
  bool keeps_context = false;        // it can put what it has compiled into a model
  std::string clock_option = {};     // takes the values of kClockModes
  std::string power_entry = {};      // of a run's configuration, takes them too
  std::string threads_option = {};   // takes the number of threads of its pool
  bool is_serial = false;            // its sessions neither run nor are made at once
  std::string fatal_operator = {};   // that it claims, and ends its process in a run of
  bool registers_kernels = false;    // for ONNX Runtime's library, in place of compiling
};

// From level 1 on: low, balanced, high, extreme.
inline constexpr const char* kClockModes[] = {"low_power_saver", "balanced", "high_performance", "burst"};

const std::vector<KnownProvider>& KnownProviders();
// NULL: not known.
const KnownProvider* FindKnown(const std::string& name);

}  // namespace ort
