// The standard streams of the program: replacement of closed ones, and detection of lost output.
#pragma once

#include <cstdio>
#include <string_view>

namespace deputy::cli {

// To be called before any file is opened. A closed stream is opened on /dev/null, so that no file gets its number and
// receives the output: reading finds the end, printing on stdout fails, stderr is dropped.
void OpenStandardStreams();

// To be called next. Gives the program a descriptor of its own for its output, and what plugins print on stdout goes to
// stderr: a line of theirs in the middle of a JSON object would leave no JSON.
void MoveOutputAside();
// The stream of the program's output: for its properties, PrintOnStdout writes on it.
std::FILE* OwnOutput();
void FlushOutput();

// A failure does not end the command, which may still write files. FinishOutput reports it.
void PrintOnStdout(std::string_view text);

// Flushes stdout. Returns `exit_status`, or if output was lost (a full disk, a closed stdout) and no error has been
// reported yet, the exit status for that, with a message.
int FinishOutput(int exit_status);

}  // namespace deputy::cli
