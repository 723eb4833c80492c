// For each row, with y = target and z = logits: loss = Σ positive·y·softplus(−z) + (1 −
// y)·softplus(z), and scale times its gradient: dlogits = scale·(−positive·σ(−z) if y = 1, σ(z)
// otherwise).
//   loss [rows], dlogits, logits, target [rows, width], positive, scale [width]
//
// One workgroup processes 256/lanes rows.
//
//   constants: lanes per row; push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, loss);
OPERAND(2, writeonly, float, dlogits);
OPERAND(3, readonly, float, logits);
OPERAND(4, readonly, float, target);
OPERAND(5, readonly, float, positive);
OPERAND(6, readonly, float, scale);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), n = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint i = spare ? 0 : row(), at = i * n;

    float sum = 0;
    for (uint c = lane(); c < n; c += LANES) {
        bool holds = target[at + c] == 1;
        float sign = holds ? -1 : 1, weight = holds ? positive[c] : 1; // −1: the loss decreases with the logit
        float slope, term = SoftplusSigmoid(sign * logits[at + c], slope);
        sum += weight * term;
        if (!spare) dlogits[at + c] = scale[c] * (weight * (sign * slope));
    }
    sum = rowAdd(sum);
    if (!spare && lane() == 0) loss[i] = sum;
}
