#version 450
#extension GL_GOOGLE_include_directive : require
// Sample: selects the tokens that a layer attends to. For the L' tokens of a sequence that are not
// dropped, with ke = min(k, L'):
//
//   S1 = the ke tokens with the largest scores (ties: smaller tie key, then lower position)
//   S2 = the min(ke, L' − ke) other tokens with the smallest partner keys (ties: lower position)
//
//   noised, score [T], top, partner [S], count [B] = ke
//   firstTokens, firstRows [B+1]: first token row and sampled row of each sequence
//   example, tower [B], random [3]: seed (low, high word) and step of the random numbers
//   key, mark [T], board: memory between the steps
//
// S1, its ties and S2 are three selections. Each selects the smallest of a set of 32-bit words, by
// radix select in linear time. The limit of a selection is the largest selected word. For each of
// four digits, from the highest, radix select counts the values of the digit among the words that
// equal the limit in all higher digits. The counts determine the limit's digit. Sums of integers do
// not depend on their order, so the result does not depend on the distribution of work.
//
// A workgroup processes a chunk of a sequence's tokens, and an invocation processes the same tokens
// in all steps. If chunk is 0, the chunk is the whole sequence: one launch does all steps, and the
// counts stay in shared memory. Otherwise each step is a launch, and the workgroups add the counts
// of a sequence's chunks on the board, which is zero before the first step. Push: the members of
// `launch`.
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/philox.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Launch {
    uint k, layer;
    float dropRate;
    uint noise; // 1 adds Gumbel noise to the scores
    uint chunk; // tokens per workgroup; 0 means a whole sequence
    uint room; // maximum number of sequences
    uint first, end; // this launch does the steps first … end−1
} launch;

OPERAND(1, writeonly, float, noised);
OPERAND(2, writeonly, uint, top);
OPERAND(3, writeonly, int, partner);
OPERAND(4, writeonly, uint, count);
OPERAND(5, readonly, float, score);
OPERAND(6, readonly, uint, firstTokens);
OPERAND(7, readonly, uint, firstRows);
OPERAND(8, readonly, uint, example);
OPERAND(9, readonly, uint, tower);
OPERAND(10, readonly, uint, random);
OPERAND(11, , uint, key);
OPERAND(12, , uint, mark);
OPERAND(13, , uint, board);

// The steps. The constant sampleSteps in vk/sample.go is their number.
const uint DRAW = 0; // draws noise and dropped tokens, and computes the keys of the scores
const uint SCORE_DIGIT = 1;  // … 4
const uint TIE_DIGIT = 5;    // … 8
const uint COUNT_TOP = 9; // counts the chosen tokens of each chunk
const uint PLACE_TOP = 10; // writes S1 and draws the partner keys of the other tokens
const uint OTHER_DIGIT = 11; // … 14
const uint COUNT_OTHERS = 15;
const uint PLACE_OTHERS = 16;
const uint STEPS = 17;

// Values of a token's mark.
const uint FREE = 0, DROPPED = 1, CHOSEN = 2;

// The board has a tally and the state of the selection for each sequence and step, followed by two
// counts for each workgroup. The stored state is the state before the step.
const uint BINS = 256, KNOWN = 8, BOARD = STEPS * (BINS + KNOWN);

shared uint tally[BINS]; // counts of this step, then of the previous step
shared uint sums[2][BINS];
shared uint flags[2][8]; // one bit per invocation
shared uint found[3];

uint me, g, b;            // indices of the invocation, the workgroup and the sequence
uint begin, lo, hi; // first row of the sequence; rows lo … hi−1 of the chunk
uint chunkIndex, chunks; // index of the chunk, and number of chunks, in the sequence
uvec2 seed;
uvec4 counter; // Philox counter of the sequence's draws; draw adds the position and the stream

// The state of the sequence's selection, the same in all invocations.
uint candidate; // mark of the candidates; DROPPED if no token is free
uint alive;      // L', the number of candidates
uint limit; // digits found so far; after the last digit, the largest chosen word
uint wanted; // number of words to choose among the words with these digits
uint scoreLimit; // limit of the scores
bool tied; // true if tie keys order equal scores

// findRows finds the rows of this workgroup. It returns false if there are none. The workgroups
// from firstTokens[b]/chunk + b on process the chunks of sequence b; they do not overlap the workgroups of
// the next sequence.
bool findRows() {
    me = gl_LocalInvocationIndex;
    g = group();
    uint n = counts[2];
    if (launch.chunk == 0) {
        b = g;
        if (b >= n) return false;
        begin = lo = firstTokens[b];
        hi = firstTokens[b + 1];
        chunkIndex = 0;
        chunks = 1;
        return true;
    }
    b = 0;
    for (uint end = n; end - b > 1;) {
        uint middle = (b + end) / 2;
        if (firstTokens[middle] / launch.chunk + middle <= g) b = middle;
        else end = middle;
    }
    begin = firstTokens[b];
    hi = firstTokens[b + 1];
    chunkIndex = g - (begin / launch.chunk + b);
    chunks = divideUp(hi - begin, launch.chunk);
    if (chunkIndex >= chunks) return false;
    lo = begin + chunkIndex * launch.chunk;
    hi = min(hi, lo + launch.chunk);
    return true;
}

uint draw(uint stream, uint row) { return Philox(seed, counter + uvec4(row - begin, stream, 0, 0)).x; }

// descending maps floats to integers in reverse order. It maps −0 and 0 to the same integer.
uint descending(float v) {
    uint bits = floatBitsToUint(v);
    if (bits == 0x80000000u) bits = 0;
    return int(bits) < 0 ? bits : bits ^ 0x7fffffffu;
}

void drawTokens() {
    uint dropped = 0, drawn = 0;
    for (uint row = lo + me; row < hi; row += 256) {
        float v = score[row];
        if (launch.noise != 0) v += Gumbel(Uniform(draw(STREAM_GUMBEL, row)));
        noised[row] = v;
        key[row] = descending(v);
        bool drop = launch.dropRate > 0.0 && Uniform(draw(STREAM_DROP, row)) < launch.dropRate;
        mark[row] = drop ? DROPPED : FREE;
        dropped += drop ? 1 : 0;
        drawn++;
    }
    atomicAdd(tally[DROPPED], dropped);
    atomicAdd(tally[FREE], drawn - dropped);
}

// isDigit reports whether a step counts a digit. The steps of a selection begin with the highest
// digit.
bool isDigit(uint step) { return step >= SCORE_DIGIT && step < COUNT_TOP || step >= OTHER_DIGIT && step < COUNT_OTHERS; }

uint shiftOf(uint step) {
    uint first = step >= OTHER_DIGIT ? OTHER_DIGIT : step >= TIE_DIGIT ? TIE_DIGIT : SCORE_DIGIT;
    return 24 - 8 * (step - first);
}

// isAsked reports whether the selection needs the digit that the step counts.
bool isAsked(uint step) { return step >= OTHER_DIGIT ? wanted > 0 : step < TIE_DIGIT || tied; }

void countDigits(uint step) {
    uint shift = shiftOf(step), known = shift == 24 ? 0 : ~0u << shift + 8;
    bool ties = step >= TIE_DIGIT && step < OTHER_DIGIT;
    for (uint row = lo + me; row < hi; row += 256) {
        uint w = key[row];
        if (mark[row] != candidate) continue;
        if (ties) {
            if (w != scoreLimit) continue;
            w = draw(STREAM_TIE, row);
        }
        if (((w ^ limit) & known) == 0) atomicAdd(tally[w >> shift & 255], 1);
    }
}

// pick finds the digit of the limit at `shift`. It returns the number of counted words with this
// digit.
uint pick(uint shift) {
    // Prefix sums of the tally, in eight rounds.
    uint from = 0;
    sums[0][me] = tally[me];
    barrier();
    for (uint stride = 1; stride < BINS; stride *= 2, from ^= 1) {
        sums[from ^ 1][me] = sums[from][me] + (me >= stride ? sums[from][me - stride] : 0);
        barrier();
    }
    uint upTo = sums[from][me], below = upTo - tally[me];
    if (below < wanted && wanted <= upTo) {
        found[0] = me;
        found[1] = wanted - below;
        found[2] = tally[me];
    }
    barrier();
    limit |= found[0] << shift;
    wanted = found[1];
    return found[2];
}

// side compares a token with the limit of a selection. It returns −1 if the token is chosen, 1 if it
// is not, and 0 if its position decides.
int side(uint step, uint row) {
    if (mark[row] != candidate) return 1;
    uint w = key[row];
    if (step < OTHER_DIGIT) {
        if (w != scoreLimit) return w < scoreLimit ? -1 : 1;
        if (!tied) return -1;
        w = draw(STREAM_TIE, row);
    }
    return w == limit ? 0 : w < limit ? -1 : 1;
}

// sidesAt returns the index in the board of a workgroup's counts by side.
uint sidesAt(uint group) { return launch.room * BOARD + 2 * group; }

void countSides(uint step) {
    uint chosen = 0, edge = 0;
    for (uint row = lo + me; row < hi; row += 256) {
        int s = side(step, row);
        chosen += s < 0 ? 1 : 0;
        edge += s == 0 ? 1 : 0;
    }
    atomicAdd(tally[0], chosen);
    atomicAdd(tally[1], edge);
    barrier();
    if (me < 2) board[sidesAt(g) + me] = tally[me];
}

// place writes the chosen tokens in the order of their positions.
void place(uint step) {
    uint row0 = firstRows[b], room = firstRows[b + 1] - row0, ke = min(launch.k, alive);
    uint n = step == PLACE_TOP ? ke : min(ke, alive - ke);
    if (me == 0 && chunkIndex == 0 && step == PLACE_TOP) count[b] = ke;
    for (uint i = n + chunkIndex * 256 + me; i < room; i += chunks * 256) {
        if (step == PLACE_TOP) top[row0 + i] = 0;
        else partner[row0 + i] = -1;
    }

    // The counts of the previous chunks, by side.
    for (uint other = g - chunkIndex + me; other < g; other += 256) {
        atomicAdd(tally[0], board[sidesAt(other)]);
        atomicAdd(tally[1], board[sidesAt(other) + 1]);
    }
    barrier();
    uint chosen = tally[0], edge = tally[1];

    for (uint at = lo; at < hi; at += 256) {
        if (me < 16) flags[me / 8][me % 8] = 0;
        barrier();
        uint row = at + me;
        int s = row < hi ? side(step, row) : 1;
        if (s <= 0) atomicOr(flags[s + 1][me / 32], 1u << me % 32);
        barrier();
        uint i = chosen, e = edge; // number of chosen tokens, and of tokens at the limit, before this token
        for (uint f = 0; f < 8; f++) {
            uint before = f < me / 32 ? ~0u : f == me / 32 ? (1u << me % 32) - 1 : 0;
            i += bitCount(flags[0][f] & before);
            e += bitCount(flags[1][f] & before);
            chosen += bitCount(flags[0][f]);
            edge += bitCount(flags[1][f]);
        }
        i += min(e, wanted);
        bool taken = s < 0 || s == 0 && e < wanted;
        if (step == PLACE_OTHERS) {
            if (taken) partner[row0 + i] = int(row - begin);
        } else if (taken) {
            top[row0 + i] = row - begin;
            mark[row] = CHOSEN;
        } else if (row < hi && mark[row] == candidate) {
            key[row] = draw(STREAM_PARTNER, row);
        }
        barrier(); // all invocations must have read the flags before the next write
    }
}

// runStep clears the tally and runs a step. Call finishStep for the previous step first.
void runStep(uint step) {
    tally[me] = 0;
    barrier();
    if (step == DRAW) drawTokens();
    else if (isDigit(step)) {
        if (isAsked(step)) countDigits(step);
    } else if (step == COUNT_TOP || step == COUNT_OTHERS) {
        if (chunks > 1) countSides(step);
    } else place(step);
    barrier();
}

// finishStep updates the state of the sequence's selection from the tally of a completed step.
void finishStep(uint step) {
    if (step == DRAW) {
        candidate = tally[FREE] > 0 ? FREE : DROPPED; // without free tokens, the dropped tokens are the candidates
        alive = tally[candidate];
        wanted = min(launch.k, alive);
    } else if (isDigit(step)) {
        uint equal = 0;
        if (isAsked(step)) equal = pick(shiftOf(step));
        if (step == TIE_DIGIT - 1) {
            scoreLimit = limit;
            limit = 0;
            tied = wanted < equal;
        }
    } else if (step == PLACE_TOP) {
        uint ke = min(launch.k, alive);
        limit = 0;
        wanted = min(ke, alive - ke);
    }
    barrier(); // all invocations must have read the tally before the next write
}

// If each step is a launch, recall reads the state and the tally of a sequence from the board, and
// record adds the tally to the board and writes the state.

// tallyAt returns the index in the board of a step's tally.
uint tallyAt(uint step) { return b * BOARD + step * (BINS + KNOWN); }

void recall(uint step) {
    uint at = tallyAt(step) + BINS;
    candidate = board[at];
    alive = board[at + 1];
    limit = board[at + 2];
    wanted = board[at + 3];
    scoreLimit = board[at + 4];
    tied = board[at + 5] != 0;
    tally[me] = board[tallyAt(step) + me];
    barrier();
}

void record(uint step) {
    if (tally[me] != 0) atomicAdd(board[tallyAt(step) + me], tally[me]);
    if (me != 0 || chunkIndex != 0) return;
    uint at = tallyAt(step) + BINS;
    board[at] = candidate;
    board[at + 1] = alive;
    board[at + 2] = limit;
    board[at + 3] = wanted;
    board[at + 4] = scoreLimit;
    board[at + 5] = tied ? 1 : 0;
}

void main() {
    if (!findRows()) return;
    seed = uvec2(random[0], random[1]);
    counter = Counter(0, tower[b], launch.layer, 0, example[b], random[2]);
    candidate = alive = limit = wanted = scoreLimit = 0;
    tied = false;
    if (launch.first > 0) recall(launch.first - 1);
    for (uint step = launch.first; step < launch.end; step++) {
        if (step > 0) finishStep(step - 1);
        runStep(step);
    }
    if (launch.chunk > 0) record(launch.first);
}
