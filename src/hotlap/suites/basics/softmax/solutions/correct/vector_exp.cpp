// expect: accepted
// Eight exponentials at once, made only of adds, multiplies and one shift:
// e^t = 2^n * e^f with n = round(t / ln 2) and |f| <= ln 2 / 2, where seven Taylor terms are right to 1e-7.
// Two independent accumulators hide the latency of the running maximum and of the running sum.
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr int64_t kLanes = 8, kStep = 2 * kLanes;
typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

inline Vec load(const float* from) {
    Vec values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

inline void store(float* to, Vec values) { std::memcpy(to, &values, sizeof values); }

inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }

inline Vec exp_of_nonpositive(Vec t) {
    t = larger(t, Vec{} - 87.0f);  // below, e^t is under 2e-38: nothing beside the largest term, which is 1
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, held in the low mantissa bits
    const Vec shifted = t * 1.44269504f + magic;
    const Vec n = shifted - magic;
    const Vec f = (t - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts: n times the first is exact
    const Vec p =
        1.0f + f * (1.0f + f * (0.5f + f * (1.0f / 6 + f * (1.0f / 24 + f * (1.0f / 120 + f * (1.0f / 720))))));
    const Ints power = (reinterpret_cast<Ints>(shifted) + 127) << 23;
    return p * reinterpret_cast<Vec>(power);
}

float largest(const float* x, int64_t cols) {
    float result = x[0];
    int64_t c = 0;
    if (cols >= kStep) {
        Vec low = load(x), high = load(x + kLanes);
        for (c = kStep; c + kStep <= cols; c += kStep) {
            low = larger(low, load(x + c));
            high = larger(high, load(x + c + kLanes));
        }
        low = larger(low, high);
        for (int64_t lane = 0; lane < kLanes; ++lane) result = std::fmax(result, low[lane]);
    }
    for (; c < cols; ++c) result = std::fmax(result, x[c]);
    return result;
}

// y = exp(x - highest); returns the sum of y.
float exponentials(const float* x, float highest, float* y, int64_t cols) {
    Vec low = {}, high = {};
    int64_t c = 0;
    for (; c + kStep <= cols; c += kStep) {
        const Vec first = exp_of_nonpositive(load(x + c) - highest);
        const Vec second = exp_of_nonpositive(load(x + c + kLanes) - highest);
        store(y + c, first);
        store(y + c + kLanes, second);
        low += first;
        high += second;
    }
    low += high;
    float sum = 0.0f;
    for (int64_t lane = 0; lane < kLanes; ++lane) sum += low[lane];
    for (; c < cols; ++c) sum += y[c] = exp_of_nonpositive(Vec{} + (x[c] - highest))[0];
    return sum;
}

}  // namespace

extern "C" int kernel(const float* __restrict x, float* __restrict y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
        const float scale = 1.0f / exponentials(x, largest(x, cols), y, cols);
        for (int64_t c = 0; c < cols; ++c) y[c] *= scale;
    }
    return 0;
}
