// The referee's own kernels. All that must not overlap the contestant runs on the multiprocessors, never on a
// copy engine: without MPS these are sliced between processes in time, so no kernel of another process runs
// while one of ours does. Copy engines give no such promise. Compiled by NVRTC: no headers.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EACH(i, count)                                                        \
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (count);       \
       i += (u64)gridDim.x * blockDim.x)

// --- clock -------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 clock_ns() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

extern "C" __global__ void stamp(u64* slot) { *slot = clock_ns(); }

extern "C" __global__ void spin(u64 ns) {
  const u64 start = clock_ns();
  while (clock_ns() - start < ns) {
  }
}

// --- before a round ----------------------------------------------------------------------------------

struct Span {
  u64 address, bytes;
};

// Fill each span with an 8-byte word, from its first byte on. blockIdx.y: which span.
extern "C" __global__ void poison(const Span* spans, u32 count, u64 word) {
  for (u32 s = blockIdx.y; s < count; s += gridDim.y) {
    u8* at = (u8*)spans[s].address;
    const u64 bytes = spans[s].bytes, words = ((u64)at & 7) == 0 ? bytes / 8 : 0;
    EACH(i, words) ((u64*)at)[i] = word;
    EACH(i, bytes - 8 * words) {
      const u64 b = 8 * words + i;
      at[b] = (u8)(word >> (8 * (b & 7)));
    }
  }
}

extern "C" __global__ void copy(uint4* to, const uint4* from, u64 vectors) {
  EACH(i, vectors) to[i] = from[i];
}

// Read, never write, a buffer several times the L2: what a call then finds in the cache is clean lines of no
// use to it. A flush by writing leaves dirty lines, whose write-back the call would pay for.
extern "C" __global__ void sweep(const uint4* data, u64 vectors, u32* sink) {
  u32 sum = 0;
  EACH(i, vectors) {
    const uint4 v = data[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345678u) *sink = sum;
}

// Exchange the 8-byte words at each pair of addresses; no address is in two pairs.
extern "C" __global__ void exchange(const u64* pairs, u64 count) {
  EACH(i, count) {
    u64 *a = (u64*)pairs[2 * i], *b = (u64*)pairs[2 * i + 1];
    const u64 word = *a;
    *a = *b;
    *b = word;
  }
}

// Bandwidth of two reads and one write, for the floor.
extern "C" __global__ void add(float4* to, const float4* a, const float4* b, u64 vectors) {
  EACH(i, vectors) {
    const float4 x = a[i], y = b[i];
    to[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

// --- ceilings ----------------------------------------------------------------------------------------

// A read from the L2, past the L1; `volatile`: done as often as it is written.
__device__ __forceinline__ uint4 from_l2(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}

// Read a buffer that fits the L2 again and again, each thread two vectors at once; `vectors`: a multiple of two
// for each thread.
extern "C" __global__ void reread(const uint4* data, u64 vectors, u64 passes, u32* sink) {
  const u64 threads = (u64)gridDim.x * blockDim.x;
  u32 sum = 0;
  for (u64 pass = 0; pass < passes; pass++) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += 2 * threads) {
      const uint4 a = from_l2(data + i), b = from_l2(data + i + threads);
      sum += a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    }
  }
  if (sum == 0x12345678u) *sink = sum;
}

extern "C" __global__ void nothing() {}

// --- after a round -----------------------------------------------------------------------------------

// `length` (1 to 8) bytes at each address, as they are now, whatever a cache says.
extern "C" __global__ void sample(const u64* addresses, u64 count, u32 length, u64* seen) {
  EACH(i, count) {
    const volatile u8* at = (const volatile u8*)addresses[i];
    u64 word = 0;
    for (u32 b = 0; b < length; b++) word |= (u64)at[b] << (8 * b);
    seen[i] = word;
  }
}

// Bytes behind the array in each slot that no longer hold the poison.
extern "C" __global__ void behind(const u8* base, u64 stride, u64 bytes, u64 calls, u64 word, u64* changed) {
  const u64 spare = stride - bytes;
  EACH(i, spare * calls) {
    const u64 b = bytes + i % spare;
    if (base[i / spare * stride + b] != (u8)(word >> (8 * (b & 7)))) atomicAdd(changed, 1ull);
  }
}

extern "C" __global__ void differ(const uint4* a, const uint4* b, u64 vectors, u64* count) {
  u64 found = 0;
  EACH(i, vectors) {
    const uint4 x = a[i], y = b[i];
    found += (x.x ^ y.x | x.y ^ y.y | x.z ^ y.z | x.w ^ y.w) != 0;
  }
  if (found) atomicAdd(count, found);
}

// What one pass over an output and its truth finds. Doubles that are not negative order as their bits do.
struct Comparison {
  u64 wrong, hides_relative, hides_over, absolute, relative, over;
};

template <typename T>
__device__ __forceinline__ double wide(T x) { return (double)x; }
struct half16 { unsigned short bits; };
struct brain16 { unsigned short bits; };
template <>
__device__ __forceinline__ double wide(half16 x) {
  float f;
  asm("{ .reg .f16 h; mov.b16 h, %1; cvt.f32.f16 %0, h; }" : "=f"(f) : "h"(x.bits));
  return f;
}
template <>
__device__ __forceinline__ double wide(brain16 x) { return __uint_as_float((u32)x.bits << 16); }

__device__ __forceinline__ double largest_of_warp(double x) {
  for (int lane = 16; lane; lane >>= 1) x = fmax(x, __shfl_xor_sync(~0u, x, lane));
  return x;
}

template <typename T>
__device__ void compare(const T* out, const double* truth, u64 count, double rtol, double atol,
                        const double* bounds, Comparison* found) {
  u64 wrong = 0, hides_relative = 0, hides_over = 0;
  double absolute = 0, relative = 0, over = 0;
  EACH(i, count) {
    const double got = wide(out[i]), want = truth[i], scale = fabs(want);
    const double allowed = atol + (bounds ? bounds[i] : 0.0) + rtol * scale;
    const double error = fabs(want - got);
    // `<=` is false for NaN: a comparison must succeed to count as right.
    bool right = error <= allowed && isfinite(want) && isfinite(got);
    right |= (isinf(want) && got == want) || (isnan(want) && isnan(got));
    wrong += !right;
    if (isfinite(error) && isfinite(allowed)) {
      absolute = fmax(absolute, error);
      if (scale > 0) relative = fmax(relative, error / scale);
      else hides_relative |= error > 0;
      if (allowed > 0) over = fmax(over, error / allowed);
      else hides_over |= error > 0;
    }
  }
  absolute = largest_of_warp(absolute);
  relative = largest_of_warp(relative);
  over = largest_of_warp(over);
  if (wrong) atomicAdd(&found->wrong, wrong);
  if (hides_relative) atomicMax(&found->hides_relative, 1ull);
  if (hides_over) atomicMax(&found->hides_over, 1ull);
  if ((threadIdx.x & 31) == 0) {
    if (absolute > 0) atomicMax(&found->absolute, (u64)__double_as_longlong(absolute));
    if (relative > 0) atomicMax(&found->relative, (u64)__double_as_longlong(relative));
    if (over > 0) atomicMax(&found->over, (u64)__double_as_longlong(over));
  }
}

#define COMPARE(name, type)                                                                                \
  extern "C" __global__ void compare_##name(const type* out, const double* truth, u64 count, double rtol,  \
                                            double atol, const double* bounds, Comparison* found) {        \
    compare(out, truth, count, rtol, atol, bounds, found);                                                 \
  }
COMPARE(float64, double)
COMPARE(float32, float)
COMPARE(float16, half16)
COMPARE(bfloat16, brain16)

// --- random numbers: Philox4x32-10 (Salmon et al. 2011), 64 bits of the key and 64 of the counter secret ------

struct Key {
  u64 key, high;  // `high`: the upper half of the counter
};

__device__ __forceinline__ uint4 philox(Key k, u64 index) {
  u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = (u32)k.high, c3 = (u32)(k.high >> 32);
  u32 k0 = (u32)k.key, k1 = (u32)(k.key >> 32);
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const u64 p = (u64)0xD2511F53u * c0, q = (u64)0xCD9E8D57u * c2;
    const u32 n0 = (u32)(q >> 32) ^ c1 ^ k0, n2 = (u32)(p >> 32) ^ c3 ^ k1;
    c1 = (u32)q;
    c3 = (u32)p;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

__device__ __forceinline__ u64 joined(u32 low, u32 high) { return (u64)high << 32 | low; }
__device__ __forceinline__ double unit(u64 bits) { return (double)(bits >> 11) * 0x1p-53; }

// Each block of four 32-bit words fills four float32 or two float64 or int64; `first`: blocks drawn before.

extern "C" __global__ void uniform_float32(float* to, u64 count, u64 key, u64 high, u64 first, double low, double span) {
  EACH(b, (count + 3) / 4) {
    const uint4 r = philox({key, high}, first + b);
    const u32 words[4] = {r.x, r.y, r.z, r.w};
    for (u32 k = 0; k < 4; k++)
      if (4 * b + k < count)
        to[4 * b + k] = (float)low + (float)span * ((float)(words[k] >> 8) * 0x1p-24f);
  }
}

extern "C" __global__ void uniform_float64(double* to, u64 count, u64 key, u64 high, u64 first, double low, double span) {
  EACH(b, (count + 1) / 2) {
    const uint4 r = philox({key, high}, first + b);
    to[2 * b] = low + span * unit(joined(r.x, r.y));
    if (2 * b + 1 < count) to[2 * b + 1] = low + span * unit(joined(r.z, r.w));
  }
}

extern "C" __global__ void normal_float32(float* to, u64 count, u64 key, u64 high, u64 first, double mean, double std) {
  EACH(b, (count + 3) / 4) {
    const uint4 r = philox({key, high}, first + b);
    const u32 words[4] = {r.x, r.y, r.z, r.w};
    for (u32 k = 0; k < 4; k += 2) {
      const float radius = sqrtf(-2.0f * logf(((float)words[k] + 1.0f) * 0x1p-32f));
      float sine, cosine;
      sincospif((float)words[k + 1] * 0x1p-31f, &sine, &cosine);
      if (4 * b + k < count) to[4 * b + k] = (float)mean + (float)std * radius * cosine;
      if (4 * b + k + 1 < count) to[4 * b + k + 1] = (float)mean + (float)std * radius * sine;
    }
  }
}

extern "C" __global__ void normal_float64(double* to, u64 count, u64 key, u64 high, u64 first, double mean, double std) {
  EACH(b, (count + 1) / 2) {
    const uint4 r = philox({key, high}, first + b);
    const double radius = sqrt(-2.0 * log(1.0 - unit(joined(r.x, r.y))));
    double sine, cosine;
    sincospi(2.0 * unit(joined(r.z, r.w)), &sine, &cosine);
    to[2 * b] = mean + std * radius * cosine;
    if (2 * b + 1 < count) to[2 * b + 1] = mean + std * radius * sine;
  }
}

// low, ..., low + span - 1; span 0 stands for all 2^64.
extern "C" __global__ void integers(long long* to, u64 count, u64 key, u64 high, u64 first, long long low, u64 span) {
  EACH(b, (count + 1) / 2) {
    const uint4 r = philox({key, high}, first + b);
    const u64 x = joined(r.x, r.y), y = joined(r.z, r.w);
    to[2 * b] = low + (long long)(span ? __umul64hi(x, span) : x);
    if (2 * b + 1 < count) to[2 * b + 1] = low + (long long)(span ? __umul64hi(y, span) : y);
  }
}
