// expect: accepted
// Register tiles: 6 rows by 16 columns of c stay in twelve 8-float registers, so each step of k loads 2 vectors and
// 6 broadcasts for 12 multiply-adds. Panels of b (at most 256 x 16, 16 KB: half of a first-level cache) are copied
// side by side first, which makes every load contiguous, and are padded with zeros, so only stores see the edge.
#include <cstdint>
#include <cstring>

namespace {

constexpr int64_t kRows = 6, kLanes = 8, kCols = 2 * kLanes, kDepth = 256;
typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef Vec Unaligned __attribute__((aligned(4)));

// Panel[l][j] = b[l][j] for the `width` columns that exist, 0 for the rest.
void pack(const float* b, int64_t depth, int64_t n, int64_t width, float* panel) {
    for (int64_t l = 0; l < depth; ++l, b += n, panel += kCols) {
        if (width == kCols) {
            std::memcpy(panel, b, sizeof(float) * kCols);
        } else {
            for (int64_t j = 0; j < kCols; ++j) panel[j] = j < width ? b[j] : 0.0f;
        }
    }
}

// c[0..Rows)[0..width) = (first ? 0 : c) + a[0..Rows)[0..depth) @ panel
template <int64_t Rows>
void tile(const float* a, const Vec* panel, float* c, int64_t k, int64_t n, int64_t depth, int64_t width, bool first) {
    Vec sum[Rows][2] = {};
    for (int64_t i = 0; i < Rows; ++i) __builtin_prefetch(c + i * n, 1);
    for (int64_t l = 0; l < depth; ++l, panel += 2) {
        if (l % 16 == 0)  // once a cache line: the rows that the next tile reads
            for (int64_t i = 0; i < Rows; ++i) __builtin_prefetch(a + (Rows + i) * k + l);
        const Vec low = panel[0], high = panel[1];
#pragma GCC unroll 6
        for (int64_t i = 0; i < Rows; ++i) {
            const float factor = a[i * k + l];
            sum[i][0] += factor * low;
            sum[i][1] += factor * high;
        }
    }
#pragma GCC unroll 6
    for (int64_t i = 0; i < Rows; ++i, c += n) {
        if (width == kCols) {
            Unaligned* out = reinterpret_cast<Unaligned*>(c);
            out[0] = first ? sum[i][0] : out[0] + sum[i][0];
            out[1] = first ? sum[i][1] : out[1] + sum[i][1];
        } else {
            for (int64_t j = 0; j < width; ++j) {
                const float value = sum[i][j / kLanes][j % kLanes];
                c[j] = first ? value : c[j] + value;
            }
        }
    }
}

using Tile = void (*)(const float*, const Vec*, float*, int64_t, int64_t, int64_t, int64_t, bool);
constexpr Tile kTiles[] = {tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>};

}  // namespace

extern "C" int kernel(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
    Vec panel[kDepth * 2];
    for (int64_t l = 0; l < k; l += kDepth) {
        const int64_t depth = k - l < kDepth ? k - l : kDepth;
        for (int64_t j = 0; j < n; j += kCols) {
            const int64_t width = n - j < kCols ? n - j : kCols;
            pack(b + l * n + j, depth, n, width, reinterpret_cast<float*>(panel));
            for (int64_t i = 0; i < m; i += kRows) {
                const int64_t rows = m - i < kRows ? m - i : kRows;
                kTiles[rows - 1](a + i * k + l, panel, c + i * n + j, k, n, depth, width, l == 0);
            }
        }
    }
    return 0;
}
