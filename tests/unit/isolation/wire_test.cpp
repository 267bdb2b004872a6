// Messages: they come back as they were, and damaged ones are told apart, whatever they hold.
#include "isolation/wire.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "isolation/frame.hpp"
#include "isolation/messages.hpp"
#include "support/sent_messages.hpp"

namespace deputy::host {
namespace {

template <class Message>
std::unique_ptr<Received<Message>> Decoded(std::vector<uint64_t> words) {
  WireFrame frame;
  frame.words = std::move(words);
  return std::make_unique<Received<Message>>(std::move(frame));
}

// A message with everything: texts, arrays, structs, pointers.
std::vector<uint64_t> Example() {
  static const deputy_opset opset{{"com.x", 5}, 3, 0};
  static const deputy_str choices[] = {{"exact", 5}, {nullptr, 0}};
  static const deputy_dtype dtypes[] = {1, 10};
  static const deputy_capability row{sizeof row, 1, 2, 3, 4, 5, {"", 0}, {"Relu", 4}, dtypes, 2, 0, {"note", 4}};
  static const deputy_option_info option{
      sizeof option, 5, {"mode", 4}, {"help", 4}, {"", 0}, {"exact", 5}, choices, 2, -1, 1, 0.5, 1.5, 1, 0};
  Reply<PluginForm> reply{{true, -5, 7, {"text", 4}}, {}};
  DelegateForm& delegate = reply.payload.delegates.emplace_back();
  delegate.id = {"npu", 3};
  delegate.opsets = &opset;
  delegate.opset_count = 1;
  delegate.has_probe = true;
  delegate.blob = {true, 40, 1, 15};
  delegate.capability_rows = {2, {&row, nullptr}};
  delegate.option_rows = {1, {&option}};
  return Encode(reply);
}

TEST(Wire, MessageComesBackAsItWas) {
  const auto message = Decoded<Reply<PluginForm>>(Example());
  ASSERT_TRUE(message->valid());
  const Reply<PluginForm>& reply = **message;
  EXPECT_TRUE(reply.outcome.failed);
  EXPECT_EQ(reply.outcome.code, -5);
  EXPECT_STREQ(reply.outcome.message.data, "text");
  const DelegateForm& delegate = reply.payload.delegates.at(0);
  EXPECT_STREQ(delegate.opsets[0].domain.data, "com.x");
  EXPECT_TRUE(delegate.has_probe);
  EXPECT_FALSE(delegate.has_cancel);
  EXPECT_EQ(delegate.capability_rows.rows[0]->dtypes[1], 10);
  EXPECT_EQ(delegate.capability_rows.rows[1], nullptr);
  EXPECT_EQ(delegate.option_rows.rows[0]->maximum, 1.5);
  EXPECT_EQ(delegate.option_rows.rows[0]->choices[1].data, nullptr);
}

TEST(Wire, StructOfAnOlderPeerIsFilledUpWithZeros) {
  deputy_run_args args{};
  args.struct_size = DEPUTY_END_OF(deputy_run_args, run);
  args.run = 5;
  args.power_level = 3;  // behind the end
  const auto message = Decoded<deputy_run_args>(Encode(Whole(args)));
  ASSERT_TRUE(message->valid());
  EXPECT_EQ((*message)->run, 5u);
  EXPECT_EQ((*message)->power_level, 0u);
  EXPECT_EQ((*message)->struct_size, args.struct_size);
}

TEST(Wire, EveryTruncationIsInvalid) {
  const std::vector<uint64_t> words = Example();
  for (size_t size = 0; size < words.size(); ++size)
    EXPECT_FALSE(Decoded<Reply<PluginForm>>({words.begin(), words.begin() + static_cast<ptrdiff_t>(size)})->valid());
}

TEST(Wire, NumberThatIsTooLargeForItsFieldIsInvalid) {
  std::vector<uint64_t> words = Encode(Reply<WireNumber>{{}, {3}});
  words[1] = uint64_t{1} << 32;  // a code
  EXPECT_FALSE(Decoded<Reply<WireNumber>>(words)->valid());
  words[1] = 0;
  EXPECT_TRUE(Decoded<Reply<WireNumber>>(words)->valid());
  words[0] = 2;  // a flag
  EXPECT_FALSE(Decoded<Reply<WireNumber>>(words)->valid());
}

TEST(Wire, TextThatIsTooLongForTheWireKeepsItsSizeAndNoBytes) {
  const auto message = Decoded<WireText>(Encode(WireText{{"short", uint64_t{1} << 50}}));
  ASSERT_TRUE(message->valid());
  EXPECT_EQ((*message)->text.data, nullptr);
  EXPECT_EQ((*message)->text.size, uint64_t{1} << 50);
}

template <class Message>
uint64_t Touch(const std::vector<uint64_t>& words) {
  return Decoded<Message>(words)->valid() ? 1 : 0;
}

// A count beyond the bytes that are there, in an array of numbers, of structs, of pointers, and in a list.
TEST(Wire, R165_CountsWithoutTheirBytesAreInvalid) {
  constexpr auto kListed = static_cast<uint64_t>(Listing::kListed);
  for (const uint64_t count : {uint64_t{3}, uint64_t{1} << 29, uint64_t{1} << 61, UINT64_MAX}) {
    EXPECT_FALSE(Decoded<Ids>({kListed, count, 1})->valid());
    EXPECT_FALSE(Decoded<WireBytes>({kListed, 8 * count, 1})->valid());
    EXPECT_FALSE(
        Decoded<deputy_option_info>({sizeof(deputy_option_info), 5, 0, 0, 0, 0, 0, 0, 0, 0, kListed, count, 0, 0})
            ->valid());
    EXPECT_FALSE(Decoded<deputy_resize_args>({sizeof(deputy_resize_args), 0, kListed, count, 0, 0})->valid());
    EXPECT_FALSE(Decoded<Events>({count, 1, 1})->valid());
  }
  EXPECT_TRUE(Decoded<Ids>({kListed, 2, 1})->valid());
}

// A count never comes with an array that is NULL: a plugin's is told as that, for the host to refuse it.
TEST(Wire, R165_ArrayThatIsCountedAndNullIsNoCount) {
  const auto message = Decoded<Ids>(Encode(Ids{nullptr, uint64_t{1} << 29}));
  ASSERT_TRUE(message->valid());
  EXPECT_EQ((*message)->ids, nullptr);
  EXPECT_EQ((*message)->count, 1u);
  const auto none = Decoded<Ids>(Encode(Ids{nullptr, 0}));
  ASSERT_TRUE(none->valid());
  EXPECT_EQ((*none)->count, 0u);
  EXPECT_FALSE(Decoded<Ids>({uint64_t{1} << 29, 0})->valid());
  EXPECT_FALSE(Decoded<Ids>({3})->valid());
}

TEST(Wire, TextWithoutItsNulIsInvalid) {
  const std::vector<uint64_t> words = Encode(WireText{{"12345678", 8}});
  ASSERT_EQ(words.size(), 4u);
  EXPECT_TRUE(Decoded<WireText>(words)->valid());
  EXPECT_FALSE(Decoded<WireText>({words[0], words[1], words[2], 7})->valid());
  EXPECT_FALSE(Decoded<WireText>({words[0], words[1], words[2]})->valid());
}

// Of every type of message: what a worker sends fits it, and it has no descriptors.
TEST(Wire, R166_OnlyTheHostSendsDescriptors) {
  size_t functions = 0;
  for (const Function function : AllFunctions()) {
    const FrameLimits limits = LimitsOf(SentAs(function), function);
    EXPECT_EQ(limits.descriptors != 0, function == Function::kNewChannel) << static_cast<uint32_t>(function);
    WithSentMessage(function, [&]<class Message>(Message*) {
      EXPECT_LE(Encode(Message{}).size(), limits.words) << static_cast<uint32_t>(function);
      ++functions;
    });
  }
  EXPECT_EQ(functions, AllFunctions().size());
  EXPECT_FALSE(LimitsOf(static_cast<Function>(9999)).known);
}

TEST(Wire, RandomDamageIsDecodedWithoutHarm) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  uint64_t valid = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint64_t> words = Example();
    for (int change = 0; change < 3; ++change) {
      uint64_t& word = words[random() % words.size()];
      word = random() % 2 == 0 ? random() : random() % 64;
    }
    words.resize(random() % 4 == 0 ? random() % (words.size() + 1) : words.size());
    valid += Touch<Reply<PluginForm>>(words) + Touch<Reply<Events>>(words) + Touch<deputy_claim>(words) +
             Touch<deputy_estimate>(words) + Touch<DebugIds>(words) + Touch<OutputShape>(words) +
             Touch<Reply<deputy_device_state>>(words) + Touch<deputy_device_info>(words) + Touch<WireGroups>(words);
  }
  EXPECT_LT(valid, 200000u);
}

}  // namespace
}  // namespace deputy::host
