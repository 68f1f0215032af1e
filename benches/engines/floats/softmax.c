// The rows [begin, end) of softmax, of so many columns; the rest of a row stays as it is.
#include <math.h>
#include <stddef.h>

void softmax_ref(const float *restrict x, float *restrict y, size_t cols, size_t stride, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *p = x + r * stride;
        float *q = y + r * stride;
        float most = -INFINITY, sum = 0;
        for (size_t j = 0; j < cols; j++)
            most = p[j] > most ? p[j] : most;
        for (size_t j = 0; j < cols; j++) {
            q[j] = expf(p[j] - most);
            sum += q[j];
        }
        for (size_t j = 0; j < cols; j++)
            q[j] /= sum;
    }
}
