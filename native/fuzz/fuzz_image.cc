// Any bytes are an image, an error, or left to the caller; the last 16 bytes choose what is done to the image.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "fuzz/demand.h"
#include "kernels/image_run.h"

using namespace penstock::kernels;
using penstock::fuzz::demand;

namespace {

constexpr int64_t kMaxPixels = 1 << 18;

class Choices {
 public:
  Choices(const uint8_t* data, size_t size) {
    for (size_t i = 0; i < size && i < 16; ++i) state_ = state_ * 0x100000001B3u ^ data[size - 1 - i];
  }
  uint64_t draw() { return state_ = (state_ ^ state_ >> 31) * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u; }
  int64_t below(int64_t count) { return static_cast<int64_t>((draw() >> 33) % static_cast<uint64_t>(count)); }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

GeometryOp choose_op(Choices& choices) {
  GeometryOp op{};
  op.kind = static_cast<GeometryKind>(1 + choices.below(6));
  op.top = choices.below(20);
  op.left = choices.below(20);
  op.height = 1 + choices.below(60);
  op.width = op.kind == GeometryKind::resize && choices.below(3) == 0 ? 0 : 1 + choices.below(60);
  op.filter = static_cast<Filter>(choices.below(3));
  op.antialias = choices.below(2) == 1;
  op.scale[0] = 0.05, op.scale[1] = 1.0, op.ratio[0] = 0.5, op.ratio[1] = 2.0;
  op.probability = 0.5;
  return op;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  ImageProgram program;
  program.max_pixels = kMaxPixels;
  program.exact = choices.below(3) == 0;
  program.exif = choices.below(2) == 1;
  program.format.type = static_cast<PixelType>(choices.below(3));
  program.format.planar = choices.below(2) == 1;
  program.format.channels = choices.below(3) == 0 ? 1 : 3;
  uint64_t draws[4];
  for (int64_t count = choices.below(5); count > 0; --count) program.ops.push_back(choose_op(choices));
  for (uint64_t& draw : draws) draw = choices.draw();

  ImageRunner& runner = ImageRunner::of_this_thread();
  int64_t height = 0, width = 0;
  const ImageStatus status = runner.measure(program, data, size, draws, &height, &width);
  if (status != ImageStatus::done) {
    demand(status == ImageStatus::elsewhere || !runner.error().empty(), "an error without a message");
    return 0;
  }
  if (height * width > (1 << 22)) return 0;
  const size_t bytes = static_cast<size_t>(height * width * program.format.channels) * program.format.value_bytes();
  const std::unique_ptr<uint8_t[]> first(new uint8_t[bytes]), second(new uint8_t[bytes]);
  const ImageStatus once = runner.run(program, data, size, draws, height, width, first.get());
  const ImageStatus twice = runner.run(program, data, size, draws, height, width, second.get());
  demand(once == ImageStatus::done || once == ImageStatus::undecodable, "an unexpected status");
  demand(once == twice, "another status the second time");
  if (once == ImageStatus::done) demand(!std::memcmp(first.get(), second.get(), bytes), "other pixels the second time");
  return 0;
}
