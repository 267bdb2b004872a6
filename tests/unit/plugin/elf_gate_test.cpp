#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "deputy/abi/base.h"
#include "deputy/abi/note.h"
#include "plugin/discovery/device_names.hpp"
#include "plugin/discovery/elf_image.hpp"
#include "plugin/discovery/manifest.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::FixturePath;
using testing::Gate;
using testing::ReadBytes;

RejectReason ReasonOf(const Checked<Manifest>& checked) {
  const Rejection* rejection = RejectionOf(checked);
  EXPECT_NE(rejection, nullptr) << "was accepted";
  return rejection == nullptr ? RejectReason{} : rejection->reason;
}

std::string TextOf(const Checked<Manifest>& checked) {
  return RejectionOf(checked) == nullptr ? "accepted" : RejectionOf(checked)->text;
}

Checked<Manifest> GateFixture(const std::string& name) { return Gate(ReadBytes(FixturePath(name))); }

Checked<Manifest> GateText(const std::string& text) { return Gate(std::vector<uint8_t>(text.begin(), text.end())); }

Elf64_Ehdr& HeaderOf(std::vector<uint8_t>& bytes) { return *reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }

Elf64_Phdr* SegmentOf(std::vector<uint8_t>& bytes, uint32_t type) {
  auto* segments = reinterpret_cast<Elf64_Phdr*>(bytes.data() + HeaderOf(bytes).e_phoff);
  for (int i = 0; i < HeaderOf(bytes).e_phnum; ++i)
    if (segments[i].p_type == type) return &segments[i];
  ADD_FAILURE() << "no segment of type " << type;
  return segments;
}

TEST(ElfGate, GoodPluginGivesItsManifest) {
  const Checked<Manifest> checked = GateFixture("good");
  ASSERT_EQ(RejectionOf(checked), nullptr) << TextOf(checked);
  const Manifest& manifest = std::get<Manifest>(checked);
  EXPECT_EQ(manifest.id, "good");
  EXPECT_EQ(manifest.version, "1");
  EXPECT_EQ(manifest.delegates, std::vector<std::string>{"good"});
  EXPECT_EQ(manifest.abi_version, DEPUTY_ABI_VERSION);
  ASSERT_EQ(manifest.environment.size(), 1u);
  EXPECT_EQ(manifest.environment[0].first, "FIXTURE_WISH");
  EXPECT_EQ(manifest.environment[0].second, "granted");
  EXPECT_FALSE(manifest.build_id.empty());
}

TEST(ElfGate, R69_EmptyFileIsNotElf) {
  EXPECT_EQ(ReasonOf(GateText("")), RejectReason::kNotElf);
  EXPECT_EQ(TextOf(GateText("")), "is empty");
}

TEST(ElfGate, R69_TextIsNotElf) {
  EXPECT_EQ(ReasonOf(GateText("#!/bin/sh\necho a script that is called x.so\n")), RejectReason::kNotElf);
}

TEST(ElfGate, R69_FewBytesAreNotElf) {
  EXPECT_EQ(ReasonOf(GateText("\x7f"
                              "E")),
            RejectReason::kNotElf);
}

TEST(ElfGate, MagicAloneIsTruncated) {
  EXPECT_EQ(ReasonOf(GateText("\x7f"
                              "ELF")),
            RejectReason::kTruncated);
}

TEST(ElfGate, R70_EveryTruncationOfAGoodPluginIsRefused) {
  const std::vector<uint8_t> whole = ReadBytes(FixturePath("good"));
  const size_t step = std::max<size_t>(whole.size() / 401, 1);
  size_t tried = 0;
  for (size_t size = 0; size < whole.size(); size += step, ++tried) {
    // A copy of its exact size, so that a sanitizer sees a read behind the end.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_NE(RejectionOf(Gate(cut)), nullptr) << "accepted at " << size << " of " << whole.size();
  }
  EXPECT_GE(tried, 400u);
}

// Whether the bytes are refused; a refusal needs a text.
bool IsRefused(const std::vector<uint8_t>& bytes) {
  const Checked<Manifest> checked = Gate(bytes);
  const Rejection* rejection = RejectionOf(checked);
  EXPECT_TRUE(rejection == nullptr || !rejection->text.empty());
  return rejection != nullptr;
}

TEST(ElfGate, R71_BitFlipsInTheHeadersAreSurvived) {
  const std::vector<uint8_t> whole = ReadBytes(FixturePath("good"));
  const size_t headers = sizeof(Elf64_Ehdr) + 12 * sizeof(Elf64_Phdr);
  size_t refused = 0;
  for (size_t bit = 0; bit < headers * 8; ++bit) {
    std::vector<uint8_t> flipped = whole;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ (1u << (bit % 8)));
    refused += IsRefused(flipped);
  }
  EXPECT_GT(refused, 32u);  // at least where the file says that it is one of this machine
}

TEST(ElfGate, R71_RandomDamageAnywhereIsSurvived) {
  const std::vector<uint8_t> whole = ReadBytes(FixturePath("good"));
  constexpr uint32_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> damaged = whole;
    for (uint32_t hits = 1 + random() % 8; hits != 0; --hits)
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    refused += IsRefused(damaged);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, 3000u);  // most of the file is code
}

TEST(ElfGate, R71_ExtremeNumbersInSegmentsAndDynamicEntriesAreSurvived) {
  const std::vector<uint8_t> whole = ReadBytes(FixturePath("good"));
  std::vector<uint8_t> scratch = whole;
  const Elf64_Phdr dynamic = *SegmentOf(scratch, PT_DYNAMIC);
  constexpr uint64_t kExtremes[] = {0,         1, 0x7fffffff, 0xffffffff, uint64_t{1} << 40, INT64_MAX, UINT64_MAX - 7,
                                    UINT64_MAX};
  std::vector<size_t> words;
  for (size_t at = 0; at + 8 <= HeaderOf(scratch).e_phnum * sizeof(Elf64_Phdr); at += 8)
    words.push_back(HeaderOf(scratch).e_phoff + at);
  for (size_t at = 0; at + 8 <= dynamic.p_filesz; at += 8) words.push_back(dynamic.p_offset + at);
  size_t refused = 0;
  for (const size_t word : words) {
    for (const uint64_t extreme : kExtremes) {
      std::vector<uint8_t> damaged = whole;
      std::memcpy(damaged.data() + word, &extreme, sizeof extreme);
      refused += IsRefused(damaged);
    }
  }
  EXPECT_GT(refused, words.size());
}

TEST(ElfGate, R72_OtherMachineIsNamed) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  const bool here_is_x86 = HeaderOf(bytes).e_machine == EM_X86_64;
  HeaderOf(bytes).e_machine = here_is_x86 ? EM_AARCH64 : EM_X86_64;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kWrongArchitecture);
  EXPECT_EQ(TextOf(Gate(bytes)), here_is_x86
                                     ? "is built for aarch64, but this machine is x86-64"
                                     : "is built for x86-64, but this machine is " + MachineName(ThisMachine()));
}

#ifdef HAVE_AARCH64_FIXTURE
TEST(ElfGate, R72_PluginCrossBuiltForAarch64IsRefusedByName) {
  EXPECT_EQ(TextOf(GateFixture("good_aarch64")), "is built for aarch64, but this machine is x86-64");
}

TEST(ElfGate, PluginCrossBuiltForAarch64SuitsAnAarch64Host) {
  HostTraits host = ThisHost();
  host.machine = EM_AARCH64;
  const std::vector<uint8_t> bytes = ReadBytes(FixturePath("good_aarch64"));
  EXPECT_EQ(TextOf(ReadManifest(MemorySource(bytes), host)), "accepted");
}
#endif

TEST(ElfGate, R72_ThirtyTwoBitsAreRefused) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  HeaderOf(bytes).e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kWrongArchitecture);
}

TEST(ElfGate, R72_BigEndianIsRefused) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  HeaderOf(bytes).e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kWrongArchitecture);
}

TEST(ElfGate, ObjectFileIsNotASharedLibrary) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  HeaderOf(bytes).e_type = ET_REL;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kNotSharedLibrary);
}

TEST(ElfGate, ExecutableIsNotASharedLibrary) {
  EXPECT_EQ(ReasonOf(Gate(ReadBytes("/proc/self/exe"))), RejectReason::kNotSharedLibrary);
}

TEST(ElfGate, HelperLibraryIsSimplyNoPlugin) {
  EXPECT_EQ(ReasonOf(GateFixture("helper")), RejectReason::kNotAPlugin);
  EXPECT_EQ(TextOf(GateFixture("helper")), "is not a delegate plugin");
}

TEST(ElfGate, R74_MissingEntrySymbolIsNamed) {
  EXPECT_EQ(ReasonOf(GateFixture("no_entry")), RejectReason::kNoEntrySymbol);
  EXPECT_EQ(TextOf(GateFixture("no_entry")), "does not export deputy_plugin_query_v1");
}

TEST(ElfGate, R74_EntrySymbolThatIsDataIsRefused) {
  EXPECT_EQ(ReasonOf(GateFixture("data_entry")), RejectReason::kNoEntrySymbol);
  EXPECT_NE(TextOf(GateFixture("data_entry")).find("as data"), std::string::npos);
}

TEST(ElfGate, MissingNoteIsRefused) { EXPECT_EQ(ReasonOf(GateFixture("no_note")), RejectReason::kNoNote); }

TEST(ElfGate, R75_NextMinorAbiIsRefusedWithBothVersions) {
  EXPECT_EQ(ReasonOf(GateFixture("wrong_abi")), RejectReason::kAbiMismatch);
  EXPECT_EQ(TextOf(GateFixture("wrong_abi")), "is built for plugin ABI 0.3 and needs 0.3, this host has 0.2");
}

TEST(ElfGate, ManifestThatIsNotUtf8IsRefused) {
  EXPECT_EQ(ReasonOf(GateFixture("bad_utf8_note")), RejectReason::kBadUtf8);
}

TEST(ElfGate, ManifestWithARepeatedKeyIsRefused) {
  EXPECT_EQ(ReasonOf(GateFixture("bad_note")), RejectReason::kBadNote);
}

TEST(ElfGate, ManifestMayNotSteerTheDynamicLinker) {
  EXPECT_EQ(ReasonOf(GateFixture("bad_environment")), RejectReason::kBadNote);
}

// The descriptor of a note.
std::vector<uint8_t> NoteOf(const std::string& text) {
  const deputy_note_head head{DEPUTY_NOTE_MAGIC, sizeof head, DEPUTY_ABI_VERSION, DEPUTY_ABI_VERSION,
                              static_cast<uint32_t>(text.size())};
  std::vector<uint8_t> note(sizeof head);
  std::memcpy(note.data(), &head, sizeof head);
  note.insert(note.end(), text.begin(), text.end());
  return note;
}

TEST(ElfGate, ManifestMayNotSetVariablesOfTheHost) {
  const std::vector<uint8_t> note = NoteOf("id=test.environment\nenv=DEPUTY_CHECK=1\n");
  EXPECT_EQ(TextOf(ParseManifest(note)), "has a bad manifest: it may not set the environment variable DEPUTY_CHECK");
}

TEST(ElfGate, OpenedLibrariesAreNamesOfFiles) {
  const auto manifest = ParseManifest(NoteOf("id=a\nopens=libx.so.1,liby.so\n"));
  ASSERT_EQ(RejectionOf(manifest), nullptr) << TextOf(manifest);
  EXPECT_EQ(std::get<Manifest>(manifest).opens, (std::vector<std::string>{"libx.so.1", "liby.so"}));
  for (const std::string name : {"/lib/libx.so", "../libx.so"})
    EXPECT_NE(TextOf(ParseManifest(NoteOf("id=a\nopens=" + name + "\n"))).find("is not a valid name of a library"),
              std::string::npos)
        << name;
}

TEST(ElfGate, DevicesAreNamesBelowDev) {
  const auto manifest = ParseManifest(NoteOf("id=a\ndevices=nvidia*,dri/renderD12?,kfd\n"));
  ASSERT_TRUE(std::holds_alternative<Manifest>(manifest)) << TextOf(manifest);
  EXPECT_EQ(std::get<Manifest>(manifest).devices, (std::vector<std::string>{"nvidia*", "dri/renderD12?", "kfd"}));
  for (const std::string name : {"/dev/kfd", "../etc", "dri/../mem", "a//b", "dri/", "a b", ",kfd", "[a]"})
    EXPECT_NE(
        TextOf(ParseManifest(NoteOf("id=a\ndevices=" + name + "\n"))).find("is not a name of a device below /dev"),
        std::string::npos)
        << name;
}

// What a sandboxed plugin is never given, whatever its manifest lists.
TEST(ElfGate, OnlyDevicesOfAcceleratorsAreGiven) {
  for (const char* name : {"nvidia*", "nvidiactl", "dri/renderD128", "accel/accel0", "kfd", "dma_heap/system"})
    EXPECT_TRUE(IsAccelerator(name)) << name;
  for (const char* name :
       {"mem",          "port",   "kmsg", "tty*",      "pts/0",   "ptmx", "sda",       "nvme0",           "sg0",
        "input/event0", "uinput", "kvm",  "vhost-net", "net/tun", "fuse", "cpu/0/msr", "bus/usb/001/001", "*",
        "?fd",          "d*"})
    EXPECT_FALSE(IsAccelerator(name)) << name;
}

TEST(ElfGate, MissingCpuFeatureIsNamed) {
  EXPECT_EQ(ReasonOf(GateFixture("needs_impossible_cpu")), RejectReason::kNeedsCpuFeature);
  EXPECT_EQ(TextOf(GateFixture("needs_impossible_cpu")), "needs CPU feature 'avx9000'");
}

TEST(ElfGate, OtherSanitizerIsRefused) {
  EXPECT_EQ(ReasonOf(GateFixture("sanitizer")), RejectReason::kSanitizerMismatch);
}

TEST(ElfGate, R83_ExecutableStackIsRefused) {
  EXPECT_EQ(ReasonOf(GateFixture("executable_stack")), RejectReason::kExecutableStack);
}

TEST(ElfGate, R83_MissingStackHeaderCountsAsExecutable) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  SegmentOf(bytes, PT_GNU_STACK)->p_type = PT_NULL;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kExecutableStack);
}

TEST(ElfGate, R83_TextRelocationsAreRefused) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  const Elf64_Phdr& segment = *SegmentOf(bytes, PT_DYNAMIC);
  auto* entry = reinterpret_cast<Elf64_Dyn*>(bytes.data() + segment.p_offset);
  while (entry->d_tag != DT_FLAGS && entry->d_tag != DT_NULL) ++entry;
  ASSERT_EQ(entry->d_tag, DT_FLAGS);
  entry->d_un.d_val |= DF_TEXTREL;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kTextRelocations);
}

TEST(ElfGate, SegmentBehindTheEndIsTruncated) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("good"));
  Elf64_Phdr* load = SegmentOf(bytes, PT_LOAD);
  load->p_filesz = load->p_memsz = bytes.size() + 1;
  EXPECT_EQ(ReasonOf(Gate(bytes)), RejectReason::kTruncated);
}

TEST(AbiRule, MinorMustBeTheSameWhileTheMajorIsZero) {
  EXPECT_TRUE(AbiFits(0x00000001, 0x00000001, 0x00000001));
  EXPECT_FALSE(AbiFits(0x00000001, 0x00000001, 0x00000002));
  EXPECT_FALSE(AbiFits(0x00000002, 0x00000001, 0x00000001));
}

TEST(AbiRule, FromOneOnOnlyTheMajorAndTheMinimumCount) {
  EXPECT_TRUE(AbiFits(0x00010000, 0x00010000, 0x00010007));
  EXPECT_TRUE(AbiFits(0x00010007, 0x00010002, 0x00010002));
  EXPECT_FALSE(AbiFits(0x00010007, 0x00010003, 0x00010002));
  EXPECT_FALSE(AbiFits(0x00020000, 0x00020000, 0x00010007));
}

}  // namespace
}  // namespace deputy::host
