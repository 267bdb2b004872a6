// The standard streams of the program: replacement of closed ones, and detection of lost output.
#pragma once

#include <string_view>

namespace deputy::cli {

// To be called before any file is opened. A closed stream is opened on /dev/null, so that no file gets its number and
// receives the output: reading finds the end, printing on stdout fails, stderr is dropped.
void OpenStandardStreams();

// A failure does not end the command, which may still write files. FinishOutput reports it.
void PrintOnStdout(std::string_view text);

// Flushes stdout. Returns `exit_status`, or if output was lost (a full disk, a closed stdout) and no error has been
// reported yet, the exit status for that, with a message.
int FinishOutput(int exit_status);

}  // namespace deputy::cli
