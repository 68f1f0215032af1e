// Prices of the European options [begin, end): call and put beside each other.
#include <math.h>
#include <stddef.h>

static inline float normal(float d)
{
    float k = 1 / fmaf(0.2316419f, fabsf(d), 1);
    float sum = fmaf(k, 1.330274429f, -1.821255978f);
    sum = fmaf(k, sum, 1.781477937f);
    sum = fmaf(k, sum, -0.356563782f);
    sum = fmaf(k, sum, 0.31938153f);
    float tail = 0.3989422804f * expf(-0.5f * d * d) * (k * sum);
    return d > 0 ? 1 - tail : tail;
}

void black_scholes_ref(float *restrict prices, const float *restrict stock, const float *restrict strike,
                       const float *restrict years, float rate, float volatility, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        float s = stock[i], x = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float n1 = normal(d1), n2 = normal(d2), discounted = x * expf(-rate * t);
        prices[2 * i] = s * n1 - discounted * n2;
        prices[2 * i + 1] = discounted * (1 - n2) - s * (1 - n1);
    }
}
