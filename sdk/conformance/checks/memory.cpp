// Memory of the device: buffers and their names, copies, and runs whose tensors are there.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>

#include "case_run.hpp"
#include "device_buffers.hpp"
#include "memory_file.hpp"
#include "submissions.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes PatternOf(size_t size, uint8_t first) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i * 7);
  return bytes;
}

// NULL after a failure or a skip has been recorded.
std::unique_ptr<DeviceBuffers> OpenBuffers(TestRun& run, Instance& instance) {
  auto buffers = std::make_unique<DeviceBuffers>(instance);
  if (buffers->has()) return buffers;
  if (run.NoFaults(instance.plugin(), "")) run.Skipped("it has no deputy.memory");
  return nullptr;
}

// Several buffers keep their bytes, and parts of them can be copied.
void CheckBuffers(TestRun& run) {
  constexpr size_t kSizes[] = {1, 64, 1000, 4096, 100'000, (3 << 20) + 5};
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::unique_ptr<DeviceBuffers> buffers = OpenBuffers(run, *instance);
  if (buffers == nullptr) return;
  std::map<uint64_t, Bytes> kept;
  for (int round = 0; round < 3; ++round) {
    for (const size_t size : kSizes) {
      uint64_t handle = 0;
      Outcome outcome = buffers->Allocate(size, 64, &handle);
      if (outcome.code == DEPUTY_OUT_OF_MEMORY) continue;  // a host uses its own memory
      if (!outcome.ok())
        return run.Failed("", "allocate fails for " + std::to_string(size) + " bytes: " + outcome.ToString());
      if (kept.count(handle) != 0) return run.Failed("", "allocate gives two buffers one name");
      const Bytes bytes = PatternOf(size, static_cast<uint8_t>(size + static_cast<size_t>(round)));
      outcome = buffers->Write(handle, 0, bytes);
      if (!outcome.ok()) return run.Failed("", "a copy to the device fails: " + outcome.ToString());
      kept[handle] = bytes;
    }
    for (auto& [handle, bytes] : kept) {
      Bytes read(bytes.size());
      Outcome outcome = buffers->Read(handle, 0, &read);
      if (!outcome.ok()) return run.Failed("", "a copy from the device fails: " + outcome.ToString());
      if (read != bytes)
        return run.Failed(
            "", "a buffer of " + std::to_string(bytes.size()) + " bytes has other bytes than were copied there");
      if (bytes.size() < 64) continue;
      // A part in the middle.
      const Bytes part = PatternOf(17, static_cast<uint8_t>(round));
      outcome = buffers->Write(handle, 23, part);
      if (!outcome.ok()) return run.Failed("", "a copy to a part of a buffer fails: " + outcome.ToString());
      std::memcpy(bytes.data() + 23, part.data(), part.size());
      Bytes tail(bytes.size() - 30);
      outcome = buffers->Read(handle, 30, &tail);
      if (!outcome.ok()) return run.Failed("", "a copy from a part of a buffer fails: " + outcome.ToString());
      if (std::memcmp(tail.data(), bytes.data() + 30, tail.size()) != 0)
        return run.Failed("", "a copy from a part of a buffer has other bytes than were copied there");
    }
    if (kept.empty()) return run.Skipped("its device has no room for a buffer");
    // A part of one goes to a part of the next one, and within the same one.
    for (auto from = kept.begin(); from != kept.end(); ++from) {
      auto to = std::next(from) == kept.end() ? from : std::next(from);
      if (from->second.size() < 64 || to->second.size() < 64) continue;
      const Outcome outcome = buffers->Move(from->first, 3, to->first, 29, 19);
      if (!outcome.ok()) return run.Failed("", "a copy between buffers fails: " + outcome.ToString());
      std::memmove(to->second.data() + 29, from->second.data() + 3, 19);
      for (const auto& [handle, bytes] : {*from, *to}) {
        Bytes read(bytes.size());
        if (!buffers->Read(handle, 0, &read).ok() || read != bytes)
          return run.Failed("", "after a copy between parts of buffers one of them has other bytes");
      }
    }
    // Every other one goes, the rest stays as it was.
    for (auto one = kept.begin(); one != kept.end();) {
      buffers->Release(one->first);
      one = kept.erase(one);
      if (one != kept.end()) ++one;
    }
  }
  run.NoFaults(*plugin, "");
}

// Names of no buffer and bytes outside of one are refused, and nothing is copied.
void CheckForeignHandles(TestRun& run) {
  constexpr size_t kSize = 256;
  constexpr uint8_t kUntouched = 0x3c;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::unique_ptr<DeviceBuffers> buffers = OpenBuffers(run, *instance);
  if (buffers == nullptr) return;
  uint64_t kept = 0, released = 0;
  for (uint64_t* handle : {&kept, &released})
    if (const Outcome outcome = buffers->Allocate(kSize, 64, handle); !outcome.ok())
      return outcome.code == DEPUTY_OUT_OF_MEMORY ? run.Skipped("its device has no room for two buffers")
                                                  : run.Failed("", "allocate fails: " + outcome.ToString());
  const Bytes bytes = PatternOf(kSize, 3);
  if (const Outcome outcome = buffers->Write(kept, 0, bytes); !outcome.ok())
    return run.Failed("", "a copy to the device fails: " + outcome.ToString());
  buffers->Release(released);
  struct Attempt {
    const char* what;
    uint64_t handle, offset, size;
  };
  for (const Attempt& attempt : {Attempt{"a released buffer", released, 0, 16},
                                 {"a handle that is none", kept + 0x1000'0001, 0, 16},
                                 {"the handle 2^64 - 1", UINT64_MAX, 0, 16},
                                 {"bytes behind a buffer", kept, kSize * 1024, 16},
                                 {"bytes across the end of a buffer", kept, kSize * 1024 - 8, kSize},
                                 {"an offset of 2^64 - 8", kept, UINT64_MAX - 7, 16}}) {
    Bytes read(static_cast<size_t>(attempt.size), kUntouched);
    for (const bool writes : {false, true}) {
      const Outcome outcome = writes ? buffers->Write(attempt.handle, attempt.offset, read)
                                     : buffers->Read(attempt.handle, attempt.offset, &read);
      const std::string about = std::string("a copy ") + (writes ? "to " : "from ") + attempt.what;
      if (outcome.ok())
        run.Failed("", about + " succeeds");
      else if (outcome.code != DEPUTY_INVALID_ARGUMENT)
        run.Failed("", about + " is not refused as INVALID_ARGUMENT: " + outcome.ToString());
    }
    for (const uint8_t byte : read)
      if (byte != kUntouched)
        return run.Failed("", std::string("a refused copy from ") + attempt.what + " wrote bytes");
  }
  Bytes read(kSize);
  if (const Outcome outcome = buffers->Read(kept, 0, &read); !outcome.ok() || read != bytes)
    run.Failed("", "refused copies changed another buffer");
  run.NoFaults(*plugin, "");
}

// The buffer of each tensor of a run, 0 where it is in host memory; released at the end.
class RunBuffers {
 public:
  RunBuffers(DeviceBuffers& of, size_t tensors, bool imports) : of_(of), imports_(imports), all_(tensors) {}
  ~RunBuffers() {
    for (const Buffer& buffer : all_)
      if (buffer.handle != 0) of_.Release(buffer.handle);
  }
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // With these bytes. OUT_OF_MEMORY, or NOT_SUPPORTED for an import: the tensor is in host memory.
  Outcome Make(size_t i, const deputy_memory_wish& wish, const Bytes& bytes) {
    Buffer& buffer = all_[i];
    if (!imports_) {
      Outcome outcome = of_.Allocate(wish.byte_size, wish.alignment, &buffer.handle);
      return outcome.ok() ? of_.Write(buffer.handle, 0, bytes) : outcome;
    }
    buffer.size = static_cast<size_t>(wish.byte_size);
    buffer.file = std::make_unique<MemoryFile>(buffer.size + 2 * kMargin);
    if (!buffer.file->is_open()) return {DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "no memory for the test"};
    std::fill_n(buffer.file->data(), buffer.size + 2 * kMargin, kBeside);
    std::copy(bytes.begin(), bytes.end(), buffer.file->data() + kMargin);
    return of_.Import(DEPUTY_MEMORY_HANDLE_MEMFD, buffer.file->file(), kMargin, wish.byte_size, &buffer.handle);
  }
  Outcome Read(size_t i, Bytes* bytes) {
    if (!imports_) return of_.Read(all_[i].handle, 0, bytes);
    std::copy_n(all_[i].file->data() + kMargin, bytes->size(), bytes->begin());
    return {};
  }
  // Whether a run has left all bytes beside imported memory alone.
  bool MarginsAreIntact() const {
    const auto is_beside = [](uint8_t byte) { return byte == kBeside; };
    return std::all_of(all_.begin(), all_.end(), [&](const Buffer& buffer) {
      if (buffer.handle == 0 || buffer.file == nullptr) return true;
      const uint8_t* const data = buffer.file->data();
      return std::all_of(data, data + kMargin, is_beside) &&
             std::all_of(data + kMargin + buffer.size, data + 2 * kMargin + buffer.size, is_beside);
    });
  }
  uint64_t handle(size_t i) const { return all_[i].handle; }
  // A run that has not ended uses them.
  void Leave() {
    for (Buffer& buffer : all_) {
      buffer.handle = 0;
      (void)buffer.file.release();
    }
  }

 private:
  static constexpr size_t kMargin = 4096;
  static constexpr uint8_t kBeside = 0x5a;
  struct Buffer {
    uint64_t handle = 0;
    size_t size = 0;
    std::unique_ptr<MemoryFile> file;
  };
  DeviceBuffers& of_;
  const bool imports_;
  std::vector<Buffer> all_;
};

// Which tensors of a run are in buffers, and in which.
struct Places {
  uint32_t only = UINT32_MAX;  // the one in a buffer; UINT32_MAX: all that the delegate wants there
  bool imports = false;        // in memory that it imports
};

// A run of the case with the tensors where the delegate wants them, submitted where it has deputy.async; `on_device`
// counts those in buffers. "" or a fault.
std::string RunInBuffers(const TestRun& run, Compiled& compiled, DeviceBuffers& buffers, Submissions& submissions,
                         uint64_t domain, const Places& places, size_t* on_device) {
  const ShownModel& shown = *compiled.shown;
  auto one = std::make_unique<Submission>(shown, compiled.claim, *compiled.context);
  Binding& host = one->binding();
  std::vector<deputy_tensor> tensors = host.Tensors();
  const size_t inputs = compiled.claim.inputs.size();
  RunBuffers held(buffers, tensors.size(), places.imports);
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    deputy_tensor& tensor = tensors[i];
    if (tensor.byte_size == 0 || (places.only != UINT32_MAX && places.only != i)) continue;
    const std::optional<deputy_memory_wish> wish = buffers.WishOf(*compiled.context, i, tensor.byte_size);
    if (!wish) continue;
    const auto* const data = static_cast<const uint8_t*>(tensor.data);
    const Outcome outcome = held.Make(i, *wish, Bytes(data, data + tensor.byte_size));
    if (outcome.code == DEPUTY_OUT_OF_MEMORY || (places.imports && outcome.code == DEPUTY_NOT_SUPPORTED)) continue;
    if (!outcome.ok()) return "tensor " + std::to_string(i) + " does not reach the device: " + outcome.ToString();
    tensor.memory = DEPUTY_MEMORY_DEVICE;
    tensor.data = nullptr;
    tensor.domain = domain;
    tensor.handle = held.handle(i);
    ++*on_device;
  }
  const auto middle = tensors.begin() + static_cast<ptrdiff_t>(inputs);
  Outcome outcome;
  if (submissions.has()) {
    one->Give(tensors);
    outcome = submissions.Submit(*one);
    if (outcome.ok() && !submissions.WaitForEnd(*one, std::chrono::seconds(10))) {
      (void)one.release();  // it holds its buffers
      held.Leave();
      return "a run with tensors on the device has not ended after 10 s";
    }
    if (outcome.ok()) outcome = one->outcome();
  } else {
    outcome = compiled.context->Execute({tensors.begin(), middle}, {middle, tensors.end()});
  }
  if (!outcome.ok()) return "a run fails with tensors on the device: " + outcome.ToString();
  std::vector<Bytes> results = host.Results();
  for (size_t i = inputs; i < tensors.size(); ++i) {
    if (held.handle(i) == 0) continue;
    if (const Outcome copied = held.Read(i, &results[i - inputs]); !copied.ok())
      return "a result cannot be copied from the device: " + copied.ToString();
  }
  for (size_t i = 0; i < inputs; ++i) {
    if (held.handle(i) == 0) continue;
    Bytes now(static_cast<size_t>(tensors[i].byte_size));
    if (!held.Read(i, &now).ok() || now != reference::Encode(shown.ValueOf(compiled.claim.inputs[i])))
      return "the run changed input " + std::to_string(i) + " on the device";
  }
  if (!held.MarginsAreIntact()) return "the run changed bytes beside memory that was imported";
  if (submissions.has()) submissions.Destroy(one);
  return FaultOfValues(shown, compiled.claim, results, run.settings().computes_in);
}

// Cases with all tensors where the delegate wants them, then each of them alone.
void CheckRuns(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMost = 40, kPerOperator = 3;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::unique_ptr<DeviceBuffers> buffers = OpenBuffers(run, *instance);
  if (buffers == nullptr) return;
  std::vector<Compiled> all = CompileSomeCases(
      *instance, cases, kMost, [](const Case&, size_t, size_t supported) { return supported < kPerOperator; });
  if (all.empty()) return run.Skipped("it takes no case");
  // Buffers that no run has.
  const Bytes beside = PatternOf(4096, 11);
  uint64_t bystander = 0;
  if (buffers->Allocate(beside.size(), 64, &bystander).ok()) (void)buffers->Write(bystander, 0, beside);
  auto* const submissions = new Submissions(*instance);  // the end of a run may come late
  size_t on_device = 0;
  for (Compiled& compiled : all) {
    const auto tensors = static_cast<uint32_t>(compiled.claim.inputs.size() + compiled.claim.outputs.size());
    const auto fault_of = [&](const Places& places) {
      return RunInBuffers(run, compiled, *buffers, *submissions, instance->domain(), places, &on_device);
    };
    std::string wrong = fault_of({});
    for (uint32_t only = 0; wrong.empty() && only < tensors; ++only) wrong = fault_of({only});
    if (wrong.empty() && buffers->imports()) {
      wrong = fault_of({UINT32_MAX, true});
      if (!wrong.empty()) wrong = "in imported memory: " + wrong;
    }
    Bytes now(beside.size());
    if (wrong.empty() && bystander != 0 && (!buffers->Read(bystander, 0, &now).ok() || now != beside))
      wrong = "a run changed a buffer that it was not given";
    // And all in host memory again.
    if (wrong.empty())
      wrong = FaultOfRun(*compiled.shown, compiled.claim, *compiled.context, run.settings().computes_in);
    if (!wrong.empty()) run.Failed(compiled.name, wrong);
  }
  if (on_device == 0) run.Note("it wants no tensor of these cases on the device");
  run.NoFaults(*plugin, "");
}

// Memory of memfd_create is used in place, through a descriptor that is open for the call alone.
void CheckImports(TestRun& run) {
  constexpr size_t kSizes[] = {1, 64, 5000, (1 << 20) + 3}, kOffsets[] = {0, 64, 4096, 8256};
  constexpr uint8_t kBeside = 0x5a;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::unique_ptr<DeviceBuffers> buffers = OpenBuffers(run, *instance);
  if (buffers == nullptr) return;
  if (!buffers->imports()) return run.Skipped("it imports no memory of memfd_create");
  size_t imported = 0;
  for (const size_t size : kSizes) {
    for (const size_t offset : kOffsets) {
      const std::string about = std::to_string(size) + " bytes at offset " + std::to_string(offset);
      const size_t whole = offset + size + 100;
      MemoryFile memory(whole);
      if (!memory.is_open()) return run.Skipped("there is no memory of memfd_create");
      std::fill_n(memory.data(), whole, kBeside);
      Bytes bytes = PatternOf(size, static_cast<uint8_t>(size + offset));
      std::copy(bytes.begin(), bytes.end(), memory.data() + offset);
      uint64_t handle = 0;
      const std::pair<int, int> before = memory.FlagsAndSeals();
      Outcome outcome = buffers->Import(DEPUTY_MEMORY_HANDLE_MEMFD, memory.file(), offset, size, &handle);
      if (memory.FlagsAndSeals() != before)
        return run.Failed("", "import closes the descriptor of the memory, or changes its flags or seals: " + about);
      if (outcome.code == DEPUTY_NOT_SUPPORTED || outcome.code == DEPUTY_OUT_OF_MEMORY)
        continue;  // a host uses its own
      if (!outcome.ok()) return run.Failed("", "import fails for " + about + ": " + outcome.ToString());
      ++imported;
      memory.Close();
      Bytes read(size);
      outcome = buffers->Read(handle, 0, &read);
      if (!outcome.ok()) return run.Failed("", "a copy from imported memory fails: " + outcome.ToString());
      if (read != bytes) return run.Failed("", "imported memory has other bytes than its file: " + about);
      // Each side sees at once what the other one writes.
      memory.data()[offset] ^= 0xff;
      bytes[0] ^= 0xff;
      if (!buffers->Read(handle, 0, &read).ok() || read != bytes)
        return run.Failed("", "imported memory does not see what its owner writes: " + about);
      bytes = PatternOf(size, static_cast<uint8_t>(size + offset + 1));
      if (outcome = buffers->Write(handle, 0, bytes); !outcome.ok())
        return run.Failed("", "a copy to imported memory fails: " + outcome.ToString());
      if (std::memcmp(memory.data() + offset, bytes.data(), size) != 0)
        return run.Failed("", "the owner of imported memory does not see what is copied there: " + about);
      Bytes more(size + 1, 0);
      if (buffers->Write(handle, 0, more).ok())
        return run.Failed("", "a copy across the end of imported memory succeeds: " + about);
      buffers->Release(handle);
      for (size_t i = 0; i < whole; ++i) {
        const bool is_inside = i >= offset && i < offset + size;
        if (memory.data()[i] == (is_inside ? bytes[i - offset] : kBeside)) continue;
        return run.Failed("", std::string("bytes ") + (is_inside ? "of" : "beside") +
                                  " imported memory are changed after its release: " + about);
      }
    }
  }
  if (imported == 0) return run.Skipped("it supports none of the test's memory");
  if (const std::string left = LeftOfMemoryFiles(); !left.empty())
    return run.Failed("", "the delegate has " + left + " of imported memory after its release");
  // What is no memory of the declared kinds.
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return run.Skipped("there is no pipe");
  MemoryFile memory(4096);
  struct Attempt {
    const char* what;
    deputy_memory_handle_kind kind;
    int file;
  };
  for (const Attempt& attempt : {Attempt{"no descriptor", DEPUTY_MEMORY_HANDLE_MEMFD, -1},
                                 {"a pipe", DEPUTY_MEMORY_HANDLE_MEMFD, ends[0]},
                                 {"memory of kind 0", 0, memory.file()},
                                 {"memory of kind 77", 77, memory.file()}}) {
    uint64_t handle = 0;
    if (buffers->Import(attempt.kind, attempt.file, 0, 4096, &handle).ok())
      run.Failed("", std::string("import of ") + attempt.what + " succeeds");
  }
  for (const int end : ends) close(end);
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> MemoryTests(const std::vector<Case>& cases) {
  return {{"memory.buffers", CheckBuffers},
          {"memory.foreign_handles", CheckForeignHandles},
          {"memory.imports", CheckImports},
          {"memory.runs", With(CheckRuns, cases)}};
}

}  // namespace deputy::conformance
