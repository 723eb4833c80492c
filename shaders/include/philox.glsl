// Philox4x32-10, the random numbers of every device: a bit-exact port of the Go package
// internal/philox.
#ifndef PHILOX_GLSL
#define PHILOX_GLSL

// Streams that shaders use directly. internal/philox/streams.go lists all streams.
const uint STREAM_GUMBEL = 0;
const uint STREAM_PARTNER = 1;
const uint STREAM_DROP = 2;
const uint STREAM_TIE = 3;

// Philox returns the four random words of a counter. The seed's low half comes first.
uvec4 Philox(uvec2 seed, uvec4 counter) {
    for (uint i = 0; i < 10; i++) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, counter.x, high0, low0);
        umulExtended(0xCD9E8D57u, counter.z, high1, low1);
        counter = uvec4(high1 ^ counter.y ^ seed.x, low1, high0 ^ counter.w ^ seed.y, low0);
        seed += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

// Counter returns the counter of draw e of a stream.
uvec4 Counter(uint e, uint tower, uint layer, uint stream, uint example, uint step) {
    return uvec4(e, tower << 31 | layer << 8 | stream, example, step);
}

// Uniform returns ((word >> 9) + ½)·2⁻²³. Every step is exact.
float Uniform(uint word) { return (float(word >> 9) + 0.5) * (1.0 / 8388608.0); }

#endif
