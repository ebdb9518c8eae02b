// expect: wrong
// reason: output y:
// Says that it is done and writes nothing.
#include <cstdint>

extern "C" int kernel(const float*, const float*, float*, int64_t) { return 0; }
