// Plain C reference for blocks [begin, end) of 256 words.
#include <stddef.h>
#include <stdint.h>

#define BLOCK 256

void reduce_smem_u32_ref(const uint32_t *restrict in, uint32_t *restrict partial,
                         size_t begin, size_t end)
{
    for (size_t b = begin; b < end; b++) {
        const uint32_t *p = in + b * BLOCK;
        uint32_t s[BLOCK / 2];
        for (size_t t = 0; t < BLOCK / 2; t++)
            s[t] = p[t] + p[t + BLOCK / 2];
        for (size_t d = BLOCK / 4; d > 0; d >>= 1)
            for (size_t t = 0; t < d; t++)
                s[t] += s[t + d];
        partial[b] = s[0];
    }
}
