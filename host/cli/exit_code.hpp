// The exit status of the program, and how an error of the library becomes one. The only place that knows the mapping;
// host/docs/cli.md is its page for people.
#pragma once

#include <string>

#include "deputy/status.hpp"

namespace deputy::cli {

enum ExitCode : int {
  kDone = 0,
  kNo = 1,             // a check failed: a mismatch, a failed case
  kUsage = 2,          // the command line, the configuration, or a file that does not fit the model
  kModelFile = 3,      // the model file, or what it asks for
  kPluginTrouble = 4,  // a plugin, or a delegate that could not be opened
  kRunFailed = 5,      // a failure while running
};

// What was being done when the library said no: one code means different things at different times.
enum class Stage {
  kSetup,      // reading the configuration or a file named on the command line
  kDelegates,  // finding and opening delegates
  kModel,      // reading a model, placing it, preparing it for shapes
  kRun,        // running it, or writing what came out
};

ExitCode ExitCodeFor(Stage stage, StatusCode code);

// Prints "deputy: error: where: message; advice" on stderr, one line per problem; returns the exit status.
int Fail(Stage stage, const Status& status);
// The same for what the command line itself got wrong.
int FailUsage(const std::string& message);
// The same where nothing went wrong, but a check failed.
int FailNo(const std::string& message);
// The same for what failed while the program worked, such as output that could not be written.
int FailRun(const std::string& message);

}  // namespace deputy::cli
