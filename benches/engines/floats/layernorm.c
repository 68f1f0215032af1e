// The rows [begin, end) of layer normalisation: mean and variance from the sums of values and squares, as the kernel has them.
#include <math.h>
#include <stddef.h>

void layernorm_ref(const float *restrict x, const float *restrict gamma, const float *restrict beta, float *restrict y,
                   size_t cols, float eps, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *p = x + r * cols;
        float sum = 0, squares = 0;
        for (size_t j = 0; j < cols; j++) {
            sum += p[j];
            squares = fmaf(p[j], p[j], squares);
        }
        float mean = sum / (float)cols;
        float scale = 1 / sqrtf(squares / (float)cols - mean * mean + eps);
        for (size_t j = 0; j < cols; j++)
            y[r * cols + j] = fmaf((p[j] - mean) * scale, gamma[j], beta[j]);
    }
}
