// Sums that do not depend on the order of additions: fixed point in two integers, added by atomics.
// A value v, |v| ≤ bound, is hi·2^BITS + lo units. A unit is 2^(n − 2·BITS), where 2^n is the lowest
// power of two above the bound. 2^BITS times the number of values must be below 2³⁰. Several pairs
// (hi, lo) may represent the same sum.
#ifndef FIXED_GLSL
#define FIXED_GLSL

// exponentOf returns n such that |v| < 2ⁿ, for finite v other than 0.
int exponentOf(float v) { return int((floatBitsToUint(v) >> 23) & 255) - 126; }

float powerOfTwo(int n) { return uintBitsToFloat(uint(clamp(n, -126, 127) + 127) << 23); }

// fixedUnit returns the power of two by which values are multiplied. If the bound is NaN or
// infinite, the unit is NaN, and so is the sum.
float fixedUnit(float bound, int bits) {
    uint b = floatBitsToUint(bound);
    if (b >= 0x7f800000u) return uintBitsToFloat(0x7fc00000u);
    return b == 0 ? 1.0 : powerOfTwo(2 * bits - exponentOf(bound));
}

// fixedParts returns v·unit, rounded to a whole number of units and split into hi and lo.
ivec2 fixedParts(float v, float unit, int bits) {
    precise float x = v * unit;
    precise float high = roundEven(x * powerOfTwo(-bits));
    precise float low = roundEven(x - high * powerOfTwo(bits));
    return ivec2(int(high), int(low));
}

// fixedWord returns v·unit, rounded to a whole number of units, as one integer. It needs |v·unit| < 2³¹.
int fixedWord(float v, float unit) { return int(roundEven(v * unit)); }

// fixedSplit splits an integer of fixedWord, or a sum of such integers, into hi and lo with |lo| ≤
// 2^(BITS−1).
ivec2 fixedSplit(int v, int bits) {
    int high = (v >> bits) + (v >> (bits - 1) & 1);
    return ivec2(high, v - (high << bits));
}

// fixedValue returns the value of a sum. It depends only on the number of units, not on their split
// into hi and lo.
float fixedValue(int high, int low, float unit, int bits) {
    ivec2 parts = fixedSplit(low, bits);
    return (float(high + parts.x) * powerOfTwo(bits) + float(parts.y)) / unit;
}

#endif
