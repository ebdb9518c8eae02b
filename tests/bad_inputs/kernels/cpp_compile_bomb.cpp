// 2^60 distinct types: the compiler runs out of memory or of time.
#include <cstdint>

template <class T, int depth>
struct Tree {
    Tree<T*, depth - 1> left;
    Tree<T&&, depth - 1>* pointer;
    Tree<const T*, depth - 1> right;
};
template <class T>
struct Tree<T, 0> {};

extern "C" int kernel(const float* a, const float* b, float* y, int64_t n) {
    return sizeof(Tree<int, 60>) > 0 ? 0 : 1;
}
