/* The manifest inside the plugin: an ELF note that the host reads before it loads the file, so that an unsuitable
 * plugin is refused without running one instruction of it. CMake's deputy_add_delegate() emits it; without CMake one
 * source of the plugin contains DEPUTY_NOTE("id=com.example.npu\n" "delegates=npu\n");
 *
 * The section is ".note.deputy", owner "Deputy", type 1. The descriptor is the frozen head below, followed by
 * `text_size` bytes of UTF-8: lines "key=value" separated by '\n'. Keys, each at most once, unless said otherwise:
 *   id            reverse-domain id, the same as deputy_plugin.id
 *   version       the plugin's own version
 *   delegates     ids, separated by ','
 *   cpu           CPU features that the code needs anywhere, as in /proc/cpuinfo, separated by ','
 *   env           NAME=VALUE wanted in the environment before the library is loaded; may be repeated
 *   sanitizer     address | thread; absent when built without
 *   files         files that must travel with the plugin, separated by ','
 *   devices       files of the accelerator's driver, below /dev, separated by ','; '*' and '?' are wildcards. A worker
 *                 process in a sandbox opens no others
 *   computes      float32 | float16 | bfloat16: the narrowest float type in which its delegates compute values of wider
 *                 ones. The host compares their results accordingly
 *   opens         names of other vendors' libraries that it opens by the dynamic linker's search, or by a path in its
 *                 options, separated by ','. Though its own file is listed, it is isolated and verified as if no lock
 *                 listed it
 * Unknown keys are ignored. */
#ifndef DEPUTY_ABI_NOTE_H
#define DEPUTY_ABI_NOTE_H

#include "deputy/abi/base.h"

#define DEPUTY_NOTE_SECTION ".note.deputy"
#define DEPUTY_NOTE_OWNER "Deputy" /* 7 bytes with its NUL; padded to 8 */
#define DEPUTY_NOTE_TYPE 1u
#define DEPUTY_NOTE_MAGIC 0x59505544u /* "DUPY" */

/* Frozen: the head of the descriptor. */
typedef struct deputy_note_head {
  uint32_t magic;
  uint32_t head_size; /* offset of the text */
  uint32_t abi_version;
  uint32_t min_host_abi;
  uint32_t text_size;
} deputy_note_head;

/* The kind of sanitizer that this source is compiled with, as a line of the text: a plugin built with one can only be
 * loaded by a host built with the same. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DEPUTY_NOTE_SANITIZER "sanitizer=address\n"
#elif __has_feature(thread_sanitizer)
#define DEPUTY_NOTE_SANITIZER "sanitizer=thread\n"
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DEPUTY_NOTE_SANITIZER "sanitizer=address\n"
#elif defined(__SANITIZE_THREAD__)
#define DEPUTY_NOTE_SANITIZER "sanitizer=thread\n"
#endif
#ifndef DEPUTY_NOTE_SANITIZER
#define DEPUTY_NOTE_SANITIZER ""
#endif

/* Keeps the note if a linker drops unreferenced sections, with the compilers that support it. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define DEPUTY_NOTE_RETAIN , retain
#endif
#endif
#ifndef DEPUTY_NOTE_RETAIN
#define DEPUTY_NOTE_RETAIN
#endif

/* Defines the note; `lines` is a string literal, each line of it ending in '\n'. Put it into an object that is linked
 * by name, not into an archive. The attributes are on the definition because g++ ignores `used` on a declaration, and
 * LTO would drop the note; aligned(4) because readers treat a section with more padding as damaged. */
#define DEPUTY_NOTE(lines)                                                                                 \
  static const struct deputy_note_v1 {                                                                     \
    uint32_t name_size, descriptor_size, type;                                                             \
    char owner[8];                                                                                         \
    deputy_note_head head;                                                                                 \
    char text[(sizeof(lines DEPUTY_NOTE_SANITIZER) + 3u) / 4u * 4u];                                       \
  } deputy_note_v1_ __attribute__((used DEPUTY_NOTE_RETAIN, section(DEPUTY_NOTE_SECTION), aligned(4))) = { \
      sizeof(DEPUTY_NOTE_OWNER),                                                                           \
      sizeof(deputy_note_head) + (sizeof(lines DEPUTY_NOTE_SANITIZER) + 3u) / 4u * 4u,                     \
      DEPUTY_NOTE_TYPE,                                                                                    \
      DEPUTY_NOTE_OWNER,                                                                                   \
      {DEPUTY_NOTE_MAGIC, sizeof(deputy_note_head), DEPUTY_ABI_VERSION, DEPUTY_ABI_MIN_HOST,               \
       sizeof(lines DEPUTY_NOTE_SANITIZER) - 1u},                                                          \
      lines DEPUTY_NOTE_SANITIZER}

#endif /* DEPUTY_ABI_NOTE_H */
