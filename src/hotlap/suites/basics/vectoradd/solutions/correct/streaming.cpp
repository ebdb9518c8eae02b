// expect: accepted
// Streaming stores: y goes to memory without first being read into the cache, 12 bytes an element instead of 16.
// Buffers are 256-byte aligned, so the vector part needs no prologue.
#include <cstdint>
#if defined(__AVX__)
#include <immintrin.h>
#endif

extern "C" int kernel(const float* __restrict a, const float* __restrict b, float* __restrict y, int64_t n) {
    int64_t i = 0;
#if defined(__AVX__)
    for (; i + 16 <= n; i += 16) {  // one whole 64-byte line at a time, or the write buffers flush half empty
        _mm256_stream_ps(y + i, _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
        _mm256_stream_ps(y + i + 8, _mm256_add_ps(_mm256_load_ps(a + i + 8), _mm256_load_ps(b + i + 8)));
    }
    _mm_sfence();
#endif
    for (; i < n; ++i) y[i] = a[i] + b[i];
    return 0;
}
