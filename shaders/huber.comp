// For each row, with d = logits − target: loss = Σ h(d), where h(d) = d²/2 for |d| ≤ delta and
// delta·(|d| − delta/2) otherwise. dlogits is the gradient of the loss, multiplied by scale:
// scale·clamp(d, −delta, delta).
//   loss [rows], dlogits, logits, target [rows, width], scale [width]
//
// One workgroup processes 256/lanes rows.
//
//   constants: lanes per row; push: extent, delta
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Push { EXTENT; float delta; } push;

OPERAND(1, writeonly, float, loss);
OPERAND(2, writeonly, float, dlogits);
OPERAND(3, readonly, float, logits);
OPERAND(4, readonly, float, target);
OPERAND(5, readonly, float, scale);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), n = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint i = spare ? 0 : row(), at = i * n;

    float sum = 0;
    for (uint c = lane(); c < n; c += LANES) {
        float d = logits[at + c] - target[at + c];
        float g = clamp(d, -push.delta, push.delta);
        sum += g * (d - g / 2); // one formula for both cases, as g is d if |d| is smaller than delta
        if (!spare) dlogits[at + c] = scale[c] * g;
    }
    sum = rowAdd(sum);
    if (!spare && lane() == 0) loss[i] = sum;
}
