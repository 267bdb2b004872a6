// Runs with a time limit, and runs that another thread ends: limits MODEL
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

deputy::Status RunWithLimits(const std::string& model_file) {
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, deputy::Context()));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor input,
                          deputy::Tensor::Allocate(deputy::DType::kFloat32, {20000, 1, 28, 28}));
  DEPUTY_RETURN_IF_ERROR(session.Resize({input.shape()}));
  std::vector<deputy::Tensor> outputs;

  session.SetTimeout(std::chrono::milliseconds(1));
  std::cout << deputy::StatusCodeName(session.Predict({input}, &outputs).code()) << '\n';
  session.SetTimeout(std::chrono::nanoseconds(0));  // no limit

  // Cancel affects only a Predict that has begun, so the other thread repeats it until the run has ended.
  std::atomic<bool> ended = false;
  std::thread canceller([&session, &ended] {
    while (!ended) {
      session.Cancel();
      std::this_thread::yield();
    }
  });
  const deputy::Status cancelled = session.Predict({input}, &outputs);
  ended = true;
  canceller.join();
  std::cout << deputy::StatusCodeName(cancelled.code()) << '\n';

  DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));  // the session is as before
  std::cout << outputs[0].shape()[0] << " results\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = RunWithLimits(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::cerr << "limits: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
