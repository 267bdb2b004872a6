// The exit status of the program, and the mapping from errors of the library, which is defined only here;
// host/docs/cli.md documents it.
#pragma once

#include <string>

#include "deputy/status.hpp"

namespace deputy::cli {

enum ExitCode : int {
  kDone = 0,
  kNo = 1,             // a check failed: a mismatch, a failed case
  kUsage = 2,          // the command line, the configuration, or a file that does not fit the model
  kModelFile = 3,      // the model file, or an operator in it
  kPluginTrouble = 4,  // a plugin, or a delegate that could not be opened
  kRunFailed = 5,      // a failure while running
};

struct ExitMeaning {
  ExitCode code;
  const char* text;
};
inline constexpr ExitMeaning kExitMeanings[] = {
    {kDone, "success"},
    {kNo, "check failed"},
    {kUsage, "usage or configuration error"},
    {kModelFile, "model error"},
    {kPluginTrouble, "plugin error"},
    {kRunFailed, "failure at run time"},
};

// The operation that failed: one code has different meanings in different stages.
enum class Stage {
  kSetup,      // reading the configuration or a file named on the command line
  kDelegates,  // finding and opening delegates
  kModel,      // reading a model, placing it, preparing it for shapes
  kRun,        // running it, or writing outputs
};

ExitCode ExitCodeFor(Stage stage, StatusCode code);

// Prints "deputy: error: where: message; advice" on stderr, one line per problem; returns the exit status.
int Fail(Stage stage, const Status& status);
// The same for errors in the command line itself.
int FailUsage(const std::string& message);
// The same for a failed check without an error.
int FailNo(const std::string& message);
// The same for failures at run time, such as output that could not be written.
int FailRun(const std::string& message);

}  // namespace deputy::cli
