// Cosines of fixed-point phases: a bit-exact port of the Go package sinusoid. Every operation is
// `precise`, as fused or reordered operations would round differently.
#ifndef COSINE_GLSL
#define COSINE_GLSL

// Turn returns the high half of t·w mod 2⁶⁴: the fraction of a turn, in units of 2⁻³², at position
// t for frequency w, whose low half comes first. Table f is even in i − j, and g begins at i + j = 0,
// so t is never negative.
uint Turn(uint t, uvec2 w) {
    uint high, low;
    umulExtended(t, w.x, high, low);
    return high + t * w.y;
}

// Cos returns cos(2π·turn/2³²): see sinusoid/cos.go.
float Cos(uint turn) {
    uint distance = int(turn) < 0 ? 0u - turn : turn; // distance from the nearest whole turn
    precise float w = float(int(0x40000000u - distance)) * (1.0 / 1073741824.0);
    precise float y = w * w;
    precise float p = 0.00015082058 * y - 0.004672228;
    p = p * y + 0.07968848;
    p = p * y - 0.6459634;
    p = p * y + 0.5707963;
    precise float cosine = w + w * p;
    return cosine;
}

#endif
