// The files that the sandbox kept from the plugin. The kernel refuses them without a word to the host, so the functions
// of the C library by which libraries open files are this program's own, and note what they were refused. A plugin that
// makes system calls by itself is not seen; nothing depends on the list but messages.
#pragma once

#include <string>

namespace deputy::host {

// From now on; before that nothing is noted.
void NoteRefusedFiles();
// "; the sandbox has kept files from the plugin: /etc/npu.conf, /tmp/xyz"; empty: none. [any-thread]
std::string RefusedFilesText();

}  // namespace deputy::host
