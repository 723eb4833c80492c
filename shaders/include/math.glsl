// The elementary functions of the model: a port of the Go package internal/fmath, which derives the
// formulas and tests their errors. The built-in exp, log, … of GLSL have few guarantees, and differ
// between drivers.
//
// `precise` marks exact steps. Otherwise a compiler may fold (a + b) − b, or combine the two parts
// of ln 2. Polynomials are not marked, so a device may fuse their products and sums. The code
// detects NaN by its bits, as a driver may assume that operands of comparisons are never NaN.
#ifndef MATH_GLSL
#define MATH_GLSL

const uint INFINITY_BITS = 0x7f800000u;

const float EXP_HIGH = 88.72283;  // largest x with a finite eˣ
const float EXP_LOW = -87.33654;  // smallest x with eˣ ≥ 2⁻¹²⁶
// ln 2 in two parts. The product of the first part and a small integer is exact.
const float LN2_HIGH = 0.693359375;
const float LN2_LOW = -2.12194440054690583e-4;

bool IsNaN(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > INFINITY_BITS; }

// choose returns the argument `negative` if the sign bit of x is set, and `positive` otherwise.
float choose(float x, float negative, float positive) {
    return floatBitsToInt(x) < 0 ? negative : positive;
}

// expBelow returns eˣ for x ≤ EXP_HIGH, and 0 below EXP_LOW. x must not be NaN. With n = round(x/ln
// 2) and r = x − n·ln 2, eˣ is 2ⁿ(1 + r + r²·P(r)).
float expBelow(float x) {
    // Adding and subtracting 1.5·2²³ rounds to an integer. After the addition, the integer is in
    // the low bits.
    precise float t = x * 1.44269504088896340736 + 12582912.0;
    precise float k = t - 12582912.0;
    precise float r = (x - k * LN2_HIGH) - k * LN2_LOW;

    float r2 = r * r;
    float p = 0.00138144707 * r2 + (0.00836877991 * r + 0.0416683927);
    p = p * r2 + (0.166665196 * r + 0.49999994);
    float y = (p * r2 + r) + 1.0;
    y = uintBitsToFloat(floatBitsToUint(y) + (floatBitsToUint(t) << 23));
    return x < EXP_LOW ? 0.0 : y;
}

// Exp returns eˣ, +Inf above EXP_HIGH and 0 below EXP_LOW. NaN propagates.
float Exp(float x) {
    float y = expBelow(x);
    y = x > EXP_HIGH ? uintBitsToFloat(INFINITY_BITS) : y;
    return IsNaN(x) ? x : y;
}

// Log returns log x. With x = 2ᵉ(1 + f), √½ ≤ 1 + f < √2, log x is e·ln 2 + f − f²/2 + f³·P(f).
float Log(float x) {
    uint b = floatBitsToUint(x);
    int exponent = 0;
    if (b < 0x00800000u) { // subnormal: the bits are the value in units of 2⁻¹⁴⁹
        b = floatBitsToUint(float(b));
        exponent = -149;
    }
    int k = int(b - 0x3f3504f3u) >> 23;
    float f = uintBitsToFloat(b - (uint(k) << 23)) - 1.0;
    float e = float(k + exponent);

    float p = -0.076344505 * f + 0.127615526;
    p = p * f - 0.131601885;
    p = p * f + 0.142017618;
    p = p * f - 0.166233569;
    p = p * f + 0.200012267;
    p = p * f - 0.250008196;
    p = p * f + 0.333333313;
    precise float f2 = f * f;
    precise float tail = f * f2 * p + e * LN2_LOW;
    precise float y = (f + (tail - 0.5 * f2)) + e * LN2_HIGH;

    if (floatBitsToInt(x) >= int(INFINITY_BITS)) y = x; // +Inf or NaN
    if (floatBitsToInt(x) < 0) y = uintBitsToFloat(0x7fc00000u);
    if ((floatBitsToUint(x) & 0x7fffffffu) == 0) y = uintBitsToFloat(0xff800000u);
    return y;
}

// Log1pTail returns Q(z) = (z − log(1+z))/z² for 0 ≤ z ≤ 1.
float Log1pTail(float z) {
    float z2 = z * z;
    float z4 = z2 * z2;
    float q01 = -0.33330512 * z + 0.499999315;
    float q23 = -0.196954072 * z + 0.249585882;
    float q45 = -0.106805898 * z + 0.153554171;
    float q67 = -0.0202047583 * z + 0.0576647744;
    float q47 = q45 + q67 * z2 + 0.00331851048 * z4;
    return q01 + q23 * z2 + q47 * z4;
}

// Log1p returns log(1 + x) for x ≥ 0, and NaN for x < 0.
float Log1p(float x) {
    if (x > 1.0) return Log(1.0 + x); // 1 + x is accurate enough for x > 1
    float y = x - x * x * Log1pTail(x);
    return x < 0.0 ? uintBitsToFloat(0x7fc00000u) : y;
}

// The functions from SoftplusSigmoid to Rho use z = e^−|x|, in [0, 1], and log(1+z) = z − z²·Q(z).

// SoftplusSigmoid returns log(1 + eˣ) and its derivative, at the cost of one exponential.
float SoftplusSigmoid(float x, out float sigmoid) {
    float z = expBelow(-abs(x));
    sigmoid = IsNaN(x) ? x : choose(x, z, 1.0) / (1.0 + z);
    float y = max(x, 0.0) + (z - z * z * Log1pTail(z));
    return IsNaN(x) ? x : y;
}

// Softplus returns log(1 + eˣ) = max(x, 0) + log(1 + z), and 0 below EXP_LOW.
float Softplus(float x) {
    float z = expBelow(-abs(x));
    float y = max(x, 0.0) + (z - z * z * Log1pTail(z));
    return IsNaN(x) ? x : y;
}

// Sigmoid returns σ(x) = 1/(1 + e⁻ˣ), the derivative of Softplus, and 0 below EXP_LOW.
float Sigmoid(float x) {
    float z = expBelow(-abs(x));
    float y = choose(x, z, 1.0) / (1.0 + z);
    return IsNaN(x) ? x : y;
}

// LogSoftplus returns λ(x) = log softplus(x). Below −15 it returns x, as softplus may underflow.
float LogSoftplus(float x) {
    float y = Log(Softplus(x));
    return x < -15.0 ? x : y;
}

// Rho returns ρ(x) = σ(x)/softplus(x), the derivative of LogSoftplus. It cancels the factor z,
// which may underflow in both functions. ρ tends to 1 for very negative x.
float Rho(float x) {
    float z = expBelow(-abs(x));
    float d = 1.0 - z * Log1pTail(z);
    float y = 1.0 / ((1.0 + z) * choose(x, d, x + z * d));
    return IsNaN(x) ? x : y;
}

// Gumbel returns −log(−log u), 0 < u < 1: standard Gumbel noise from a uniform number.
float Gumbel(float u) { return -Log(-Log(u)); }

// normal returns the standard normal CDF Φ(x), and e = e^(−x²/2). It computes the tail as e·R(1/(1
// + 0.3|x|)) with a polynomial R, to avoid cancellation on both sides.
float normal(float x, out float e) {
    e = expBelow(-0.5 * (x * x));
    float t = 1.0 / (1.0 + 0.3 * abs(x));

    float p = 0.0360362716 * t - 0.158713505;
    p = p * t + 0.208964422;
    p = p * t - 0.0560957491;
    p = p * t + 0.129843354;
    p = p * t + 0.0995230824;
    p = p * t + 0.120816886;
    p = p * t + 0.119625166;
    float q = e * (p * t);
    return choose(x, q, 1.0 - q);
}

// Gelu returns x·Φ(x), the exact (erf) GELU.
float Gelu(float x) {
    float e;
    float y = x * normal(x, e);
    return IsNaN(x) ? x : y;
}

// GeluGrad returns the derivative of Gelu: Φ(x) + x·φ(x) with φ(x) = e^(−x²/2)/√(2π).
float GeluGrad(float x) {
    float e;
    float cdf = normal(x, e);
    float y = cdf + x * (e * 0.39894228040143267794);
    return IsNaN(x) ? x : y;
}

#endif
