// The delegate as the library exports it, applied to graphs.
#include <gtest/gtest.h>

#include <vector>

#include "plugins/tflite_abi/tflite_abi.hpp"
#include "unit/tflite_delegate/fake_interpreter.hpp"

extern "C" {
deputy::tflite_abi::Delegate* tflite_plugin_create_delegate(char** keys, char** values, size_t count,
                                                            void (*report_error)(const char*));
void tflite_plugin_destroy_delegate(deputy::tflite_abi::Delegate* delegate);
}

namespace deputy::tflite_delegate {
namespace {

using test::FakeInterpreter;

// One node from tensor "x" to tensor "y".
class Applied {
 public:
  explicit Applied(int32_t number) {
    const int32_t from = interpreter.AddTensor("x", tflite_abi::kFloat32, {2});
    const int32_t to = interpreter.AddTensor("y", tflite_abi::kFloat32, {2});
    for (const int32_t tensor : {from, to}) {
      interpreter.tensor(tensor).data = tensor == from ? x : y;
      interpreter.tensor(tensor).bytes = sizeof x;
    }
    interpreter.AddNode(number, {from}, {to});
    interpreter.outputs = {to};
  }
  std::vector<float> Run() {
    tflite_abi::Node& node = interpreter.kernels.at(0);
    EXPECT_EQ(interpreter.kernel.prepare(&interpreter.context, &node), tflite_abi::kOk) << interpreter.error;
    EXPECT_EQ(interpreter.kernel.invoke(&interpreter.context, &node), tflite_abi::kOk) << interpreter.error;
    return {y[0], y[1]};
  }
  void Free() {
    for (tflite_abi::Node& node : interpreter.kernels) interpreter.kernel.free(&interpreter.context, node.user_data);
  }

  FakeInterpreter interpreter;

 private:
  float x[2] = {-1, 2}, y[2] = {0, 0};
};

TEST(Delegate, ItsPartitionsAreThoseOfTheInterpreterThatReplacesItsNodes) {
  char key[] = "config", value[] = "cpu-only", *keys[] = {key}, *values[] = {value};
  tflite_abi::Delegate* delegate =
      tflite_plugin_create_delegate(keys, values, 1, [](const char* text) { ADD_FAILURE() << text; });
  ASSERT_NE(delegate, nullptr);
  Applied first(/*RELU*/ 19), second(/*ABS*/ 101);
  // As another thread would, between the preview of the first graph and its first kernel.
  first.interpreter.before_init = [&] {
    EXPECT_EQ(delegate->Prepare(&second.interpreter.context, delegate), tflite_abi::kOk);
  };
  ASSERT_EQ(delegate->Prepare(&first.interpreter.context, delegate), tflite_abi::kOk) << first.interpreter.error;
  EXPECT_EQ(first.Run(), (std::vector<float>{0, 2}));
  EXPECT_EQ(second.Run(), (std::vector<float>{1, 2}));
  first.Free();
  second.Free();
  tflite_plugin_destroy_delegate(delegate);
}

}  // namespace
}  // namespace deputy::tflite_delegate
