// The smallest client: adds two arrays on whatever daemon there is.
#include <hotplate/client.h>

#include <cstdio>
#include <vector>

int main() {
  using hotplate::client::View;
  auto client = hotplate::client::Client::Connect();
  if (!client.ok()) {
    std::printf("%s\n", client.status().ToString().c_str());
    return 3;
  }
  const std::vector<float> x = {1, 2, 3};
  const auto sum = client->Run("vector_add", {{"a", View(x, {3})}, {"b", View(x, {3})}});
  if (!sum.ok()) {
    std::printf("%s\n", sum.status().ToString().c_str());
    return 1;
  }
  std::printf("the sum is %g %g %g\n", sum->Output<float>("c")[0], sum->Output<float>("c")[1],
              sum->Output<float>("c")[2]);
  return sum->Output<float>("c")[2] == 6.0f ? 0 : 1;
}
