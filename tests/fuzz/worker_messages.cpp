// The messages between the host and a worker process, in both directions: the first four bytes are the number of a type
// of message, and the words follow; or the number is that of a stream of frames, as on the socket.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "fuzz/target.hpp"
#include "fuzz/wire_maker.hpp"
#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "support/sent_messages.hpp"

namespace deputy::fuzz {
namespace {

using host::DebugIds;
using host::FrameHead;
using host::Received;
using host::Reply;
using host::WireFrame;

template <class Args>
using ObjectCall = host::ObjectCall<Args>;

// What the host reads, then what the worker reads.
using Messages =
    std::tuple<host::Hello, host::LogForm, host::SupportAnswer, host::ProgressStep, deputy_estimate, host::WireNumber,
               host::AttributeName, host::ConstantRange, host::Ids, host::WireText, deputy_claim, deputy_group,
               deputy_device_info, host::OutputShape, DebugIds, host::WireBytes, Reply<host::Nothing>,
               Reply<host::WireNumber>, Reply<host::PluginForm>, Reply<host::WrittenText>, Reply<deputy_device_state>,
               Reply<host::Events>, Reply<host::TwoNumbers>, host::HostForm, host::DelegateCall,
               host::DelegateCallWith<deputy_open_args>, host::DelegateCallWith<host::WireText>,
               host::DelegateCallWith<host::NodeRun>, host::DelegateCallWith<host::WireNumber>,
               ObjectCall<host::Nothing>, ObjectCall<deputy_compile_args>, ObjectCall<host::RestoreForm>,
               ObjectCall<deputy_partition>, ObjectCall<host::TextRequest>, ObjectCall<host::OptionSetting>,
               ObjectCall<host::WireNumber>, ObjectCall<deputy_context_args>, ObjectCall<host::RunForm>,
               ObjectCall<deputy_resize_args>, Reply<host::NodeForm>, Reply<host::ValueForm>, Reply<deputy_attribute>,
               Reply<host::WireBytes>, Reply<host::NamedBytes>, Reply<host::Ids>, Reply<host::WireClusters>,
               Reply<host::WireGroups>, host::RegionForm, host::TwoNumbers, ObjectCall<host::RunAgainForm>,
               host::Nothing, Reply<deputy_memory_wish>, ObjectCall<host::IndexedWish>,
               ObjectCall<deputy_buffer_request>, ObjectCall<host::CopyForm>, Reply<deputy_queue_limits>,
               ObjectCall<host::ReadyRuns>>;

constexpr uint32_t kMessages = std::tuple_size_v<Messages>;
constexpr size_t kMostBytes = 16 * 1024, kHeader = sizeof(uint32_t);
// A frame that stops in the middle is waited for; one that is complete is not.
constexpr uint32_t kStream = kMessages;

template <class Message, class... Listed>
constexpr bool IsListed(const std::tuple<Listed...>*) {
  return (std::is_same_v<Message, Listed> || ...);
}
// Compiles if the list has each message that a worker sends.
[[maybe_unused]] void CheckList(host::Function function) {
  host::WithSentMessage(function, []<class Message>(Message*) {
    static_assert(IsListed<Message>(static_cast<const Messages*>(nullptr)));
  });
}

template <class Fn, size_t... Index>
void WithMessage(uint32_t number, Fn fn, std::index_sequence<Index...>) {
  ((number == Index ? fn(static_cast<std::tuple_element_t<Index, Messages>*>(nullptr)) : void()), ...);
}
// Calls fn with a null pointer of the type.
template <class Fn>
void WithMessage(uint32_t number, Fn fn) {
  WithMessage(number, fn, std::make_index_sequence<kMessages>());
}

std::vector<uint64_t> WordsOf(std::span<const uint8_t> bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  return words;
}

// The sum of all that the message has; nothing for words that are no such message.
template <class Message>
std::optional<uint64_t> SumOf(std::vector<uint64_t> words) {
  WireFrame frame;
  frame.words = std::move(words);
  Received<Message> message(std::move(frame));
  if (!message.valid()) return std::nullopt;
  host::WireVisitor visitor;
  Pass(visitor, *message);
  return visitor.sum();
}

template <class Message>
void CheckMessage(const std::vector<uint64_t>& words) {
  Require(SumOf<Message>(words) == SumOf<Message>(words), "equal words are equal messages");
}

void CheckStream(std::span<const uint8_t> bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const host::Descriptor writer(ends[0]), reader(ends[1]);
  if (write(writer.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  shutdown(writer.get(), SHUT_WR);
  for (size_t frames = 0;; ++frames) {
    Require(frames <= bytes.size() / sizeof(FrameHead), "there are no more frames than heads");
    WireFrame frame;
    const host::Transfer got = ReceiveFrame(reader.get(), frame);
    if (got != host::Transfer::kDone) return;
    Require(frame.words.size() <= bytes.size() / sizeof(uint64_t), "a frame has no more words than have arrived");
    for (uint32_t number = 0; number < kMessages; ++number)
      WithMessage(number, [&]<class Message>(Message*) { CheckMessage<Message>(frame.words); });
  }
}

void MakeMessage(uint32_t number, Bytes& input, Random& random) {
  host::WireMaker maker(random);
  WithMessage(number, [&]<class Message>(Message*) {
    Message message{};
    Pass(maker, message);
  });
  input.resize(kHeader + maker.words().size() * sizeof(uint64_t));
  Store(input, 0, number);
  if (!maker.words().empty()) std::memcpy(input.data() + kHeader, maker.words().data(), input.size() - kHeader);
}

// The words of a message in a frame with a right head.
void Frame(Bytes& input, Random& random) {
  FrameHead head;
  head.kind = static_cast<host::FrameKind>(1 + random.Below(5));
  head.function = static_cast<host::Function>(random.Below(170));
  head.words = (input.size() - kHeader) / sizeof(uint64_t);
  Bytes framed(kHeader + sizeof head);
  Store(framed, 0, kStream);
  Store(framed, kHeader, head);
  framed.insert(framed.end(), input.begin() + kHeader, input.end());
  input = std::move(framed);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (input.size() < kHeader || random.OneIn(16)) {
    MakeMessage(static_cast<uint32_t>(random.Below(kMessages)), input, random);
    if (random.OneIn(8)) Frame(input, random);
  } else if (random.OneIn(8)) {
    ChangeBytes(input, random, kMostBytes);
  } else if (random.OneIn(16)) {
    Store(input, 0, static_cast<uint32_t>(random.Below(kMessages + 1)));
  } else {  // one word
    const size_t words = (input.size() - kHeader) / sizeof(uint64_t);
    if (words == 0) return;
    const size_t at = kHeader + sizeof(uint64_t) * random.Below(words);
    Store(input, at, ChangedNumber(Load<uint64_t>(input, at), random));
  }
  if (input.size() > kMostBytes) input.resize(kMostBytes);
}

void CheckInput(std::span<const uint8_t> input) {
  if (input.size() < kHeader || input.size() > 2 * kMostBytes) return;
  const auto number = Load<uint32_t>(input, 0);
  const std::span<const uint8_t> rest = input.subspan(kHeader);
  if (number >= kStream) return CheckStream(rest);
  WithMessage(number, [&]<class Message>(Message*) { CheckMessage<Message>(WordsOf(rest)); });
}

}  // namespace deputy::fuzz
