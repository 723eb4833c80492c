// For each row: loss = log Σ exp(logits) − logits[label], and scale[label] times its gradient:
// dlogits = scale[label]·(softmax(logits) − onehot(label)).
//   loss [rows], dlogits, logits [rows, width], label [rows], scale [width]
//
// One workgroup processes 256/lanes rows. It keeps the exponentials in dlogits until it has their sum.
//
//   constants: lanes per row; push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, loss);
OPERAND(2, , float, dlogits);
OPERAND(3, readonly, float, logits);
OPERAND(4, readonly, uint, label);
OPERAND(5, readonly, float, scale);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), n = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint i = spare ? 0 : row(), at = i * n;

    float top = uintBitsToFloat(0xff800000u);
    for (uint c = lane(); c < n; c += LANES) top = max(top, logits[at + c]);
    top = rowMax(top);
    float sum = 0;
    for (uint c = lane(); c < n; c += LANES) {
        float e = Exp(logits[at + c] - top);
        if (!spare) dlogits[at + c] = e;
        sum += e;
    }
    sum = rowAdd(sum);
    if (spare) return;
    for (uint c = lane(); c < n; c += LANES) dlogits[at + c] = scale[label[i]] * (dlogits[at + c] / sum - (c == label[i] ? 1 : 0));
    if (lane() == 0) loss[i] = Log(sum) - (logits[at + label[i]] - top);
}
