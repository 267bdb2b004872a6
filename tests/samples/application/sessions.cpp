// Runs one model in several threads at once, each with a session of its own: sessions MODEL
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

// One thread: its own session, its own tensors. Messages of failures go to `failures`.
class Worker {
 public:
  Worker(const deputy::Model& model, int64_t batch) : model_(model), batch_(batch) {}

  deputy::Status Run(int runs) {
    DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model_.CreateSession());
    DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor input,
                            deputy::Tensor::Allocate(deputy::DType::kFloat32, {batch_, 1, 28, 28}));
    std::vector<deputy::Tensor> outputs;  // kept between runs: the first one allocates them, later ones write into them
    for (int i = 0; i < runs; ++i) DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));
    results_ = outputs[0].element_count();
    return {};
  }

  int64_t results() const { return results_; }

 private:
  const deputy::Model& model_;
  int64_t batch_;
  int64_t results_ = 0;
};

deputy::Status RunThreads(const std::string& model_file) {
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, deputy::Context()));

  std::vector<Worker> workers;
  for (const int64_t batch : {1, 2, 4}) workers.emplace_back(model, batch);
  std::mutex mutex;
  deputy::Status first_failure;
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&worker, &mutex, &first_failure] {
      deputy::Status status = worker.Run(100);
      const std::lock_guard lock(mutex);
      if (first_failure.ok()) first_failure = std::move(status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  DEPUTY_RETURN_IF_ERROR(first_failure);
  for (const Worker& worker : workers) std::cout << worker.results() << " results a run\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = RunThreads(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::cerr << "sessions: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
