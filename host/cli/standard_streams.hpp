// The three streams that the program is started with: what it does when one of them is closed, and whether everything
// that it printed has arrived.
#pragma once

#include <string_view>

namespace deputy::cli {

// To be called before any file is opened. A stream that the caller has closed is opened on /dev/null, so that no file
// takes its number and receives what is printed: reading finds the end, printing on stdout fails, stderr is dropped.
void OpenStandardStreams();

// A failure ends nothing: the rest of the command may still write files. FinishOutput reports it.
void PrintOnStdout(std::string_view text);

// Writes out what stdout still holds. Returns `exit_status`, or where output was lost (a full disk, a closed stdout)
// and no error has been reported yet, the exit status for that, with a message.
int FinishOutput(int exit_status);

}  // namespace deputy::cli
