// The same coroutines on real threads and in a deterministic simulator with virtual time.

#include <chrono>
#include <iostream>
#include <vectis/vectis.hpp>

using namespace std::chrono_literals;

namespace {

// Answers each question after `delay`.
vectis::Task<> server(vectis::Executor& executor, vectis::Mailbox<int>& questions, vectis::Mailbox<int>& answers,
                      vectis::Duration delay) {
  while (const auto question = co_await questions.receive()) {
    co_await vectis::sleep_for(executor, delay);
    if (!answers.send(*question * *question)) co_return;
  }
}

vectis::Task<int> client(vectis::Mailbox<int>& questions, vectis::Mailbox<int>& answers) {
  int sum = 0;
  for (int i = 1; i <= 3; ++i) {
    if (questions.send(i)) sum += (co_await answers.receive()).value_or(0);
  }
  questions.close();
  co_return sum;
}

int run(vectis::Executor& executor, vectis::Duration delay) {
  vectis::Mailbox<int> questions(executor, 8);
  vectis::Mailbox<int> answers(executor, 8);
  auto serving = vectis::spawn(executor, server(executor, questions, answers, delay));
  const int sum = vectis::sync_wait(executor, client(questions, answers));
  executor.run_until([&] { return serving.done(); });
  return sum;
}

}  // namespace

int main() {
  vectis::SimulatedExecutor simulator(7);
  vectis::SimulatedExecutor again(7);
  const int simulated = run(simulator, 1h);
  const bool same = run(again, 1h) == simulated && again.trace() == simulator.trace();
  std::cout << "simulated: " << simulated << " after " << simulator.now().time_since_epoch() / 1h << " h; "
            << (same ? "the same run twice\n" : "two different runs\n");

  const int real = run(*vectis::make_thread_executor(), 1ms);
  std::cout << "on threads: " << real << '\n';
  return same && simulated == 14 && real == 14 ? 0 : 1;
}
