// AdamW with decoupled weight decay. The scaled gradient has the norm n = √squares·scale. If
// maxNorm > 0, g' = g·scale·min(1, maxNorm/(n + 1e-6)); otherwise g' = g·scale:
//   m ← β1 m + (1−β1) g', v ← β2 v + (1−β2) g'²,
//   w ← w(1 − rate·decay) − rate·(m·correction1)/(√(v·correction2) + eps).
// If squares, the sum of the squared elements of g, is not finite, w, m and v are unchanged.
//   w, m, v, g [n], squares [1], numbers [5]: scale, maxNorm, rate, correction1, correction2
//
// One workgroup processes 1024 elements.
//
//   push: extent, decay, β1, 1−β1, β2, 1−β2, eps
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push {
    EXTENT;
    float decay, beta1, rest1, beta2, rest2, eps;
} push;

OPERAND(1, , float, w);
OPERAND(2, , float, m);
OPERAND(3, , float, v);
OPERAND(4, readonly, float, g);
OPERAND(5, readonly, float, squares);
OPERAND(6, readonly, float, numbers);

void main() {
    if ((floatBitsToUint(squares[0]) & INFINITY_BITS) == INFINITY_BITS) return;
    float scale = numbers[0], maxNorm = numbers[1], rate = numbers[2], correction1 = numbers[3], correction2 = numbers[4];
    if (maxNorm > 0) {
        float clip = maxNorm / (sqrt(squares[0]) * scale + 1e-6);
        if (clip < 1 || IsNaN(clip)) scale *= clip;
    }
    float keep = 1 - rate * push.decay;
    EACH_ELEMENT(i) {
        float gradient = scale * g[i];
        float first = push.beta1 * m[i] + push.rest1 * gradient;
        float second = push.beta2 * v[i] + push.rest2 * (gradient * gradient);
        m[i] = first;
        v[i] = second;
        w[i] = keep * w[i] - rate * (correction1 * first) / (sqrt(correction2 * second) + push.eps);
    }
}
