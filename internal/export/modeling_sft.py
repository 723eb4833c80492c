"""A Sampling Foundational Transformer in PyTorch, written by sftseq export pytorch.

    from modeling_sft import SFTModel
    model = SFTModel.from_folder("FOLDER")
    output = model(input_ids, attention_mask)  # [batch, length], right-padded; without a mask all ids are tokens
    output = model(features=features, attention_mask=mask)  # points and nodes: [batch, length, feature_names]

A model of graphs also takes edges, int64 [batch, edges, 2], with the source and the target of each edge. If edges have
features, the model takes edge_features [batch, edges, edge_feature_names], too. Edges -1, -1 are padding.

The parameters have the names, shapes and values of model.safetensors. In evaluation mode (model.eval()) the outputs
equal those of sftseq predict up to rounding. In training mode PyTorch's generator draws the noise and the dropout
that config.json configures. The module depends only on PyTorch, and save_weights also on NumPy. If the package
transformers is installed, AutoModel can load the folder with trust_remote_code=True.
"""

import json
import math
import os
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

try:
    from transformers import PretrainedConfig, PreTrainedModel
except ImportError:

    class PretrainedConfig:
        def __init__(self, **keys):
            self.__dict__.update(keys)

    class PreTrainedModel(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config

        def post_init(self):
            pass


class SFTConfig(PretrainedConfig):
    """The keys of config.json. Keys that a file does not contain have default values."""

    model_type = "sft"

    def __init__(self, **keys):
        defaults = dict(task="classification", vocab_size=2, num_labels=2, hidden_size=2, num_hidden_layers=1, num_attention_heads=1,
                        intermediate_size=1, num_sampled_tokens=1, sinusoid_dim=2, sinusoid_base=10000.0, norm_position="pre",
                        layer_norm_eps=1e-5, score="maxout", probability="leaky_relu", relative="sinusoid_hadamard", sampler_seed=0,
                        sampler_noise="train", residual_scale=False, convolutions=[], tie_embeddings=False, numbers=[], drop_token=0.0,
                        attention_dropout=0.0, embedding_dropout=0.0, feed_forward_dropout=0.0, input_window=None, input_window_tail=0,
                        mask_token_id=None, moving_averages=0,
                        feature_names=None, feature_scales=None, edge_feature_names=None, input="features", pooling="softmax", pooling_samples=0,
                        temperature=1.0, ngrams=None, extra=None)
        super().__init__(**{**defaults, **keys})


class Output(NamedTuple):
    """Logits [batch, labels], or [batch, length, labels] for tagging and fill-mask; embeddings [batch, hidden]; for
    regression the predicted numbers [batch, labels] in the units of the data."""

    logits: Tensor
    embedding: Tensor
    embedding_b: Optional[Tensor] = None
    numbers: Optional[Tensor] = None


class Affine(nn.Module):
    """A linear layer with a weight and a bias of the given shapes. Without a weight it only has the bias."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(weight)) if weight else None
        self.bias = nn.Parameter(torch.zeros(bias))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


TIE, PARTNER, GUMBEL = 3, 1, 0  # streams of random words
POINTS = ("x", "y", "z"), ("nx", "ny", "nz")  # names of the features with positions, and with normals


def pair_features(c):
    """Returns the number of features of a pair of tokens that the relative encoding reads per head."""
    if c.relative == "distance":
        return 1 + all(name in c.feature_names for name in POINTS[1])
    return len(c.edge_feature_names) + 1 if c.relative == "edges" else c.sinusoid_dim


def philox(seed: int, layer: int, stream: int, n: int, device) -> Tensor:
    """Returns the first words of Philox4x32-10 at the counters (position, layer << 8 | stream, 0, 0): int64 [n]."""
    low, half = 0xFFFFFFFF, 0xFFFF

    def product(x, m):  # high and low 32 bits of x * m, computed without overflow
        t = (x & half) * m
        u = (x >> 16) * m + (t >> 16)
        return u >> 16, (u & half) << 16 | t & half

    zero = torch.zeros(n, dtype=torch.int64, device=device)
    x, k0, k1 = [torch.arange(n, device=device), zero + (layer << 8 | stream), zero, zero], seed & low, seed >> 32
    for _ in range(10):
        (a, b), (c, d) = product(x[0], 0xD2511F53), product(x[2], 0xCD9E8D57)
        x = [c ^ x[1] ^ k0, d, a ^ x[3] ^ k1, b]
        k0, k1 = k0 + 0x9E3779B9 & low, k1 + 0xBB67AE85 & low
    return x[0]


def signed(h):
    """Converts a number modulo 2^64 to the int64 number with the same bits."""
    return (h + (1 << 63)) % (1 << 64) - (1 << 63)


def shifted(x: Tensor, n: int) -> Tensor:
    """Returns the logical right shift x >> n of 64-bit words stored as int64, for n > 0."""
    return (x >> n) & ((1 << 64 - n) - 1)


def mixed(x: Tensor, parts) -> Tensor:
    """Applies x ^= x >> n and x *= factor, modulo 2^64, for each (n, factor) in parts."""
    for n, factor in parts:
        x = x ^ shifted(x, n)
        x = x * signed(factor)
    return x


def bits(x: Tensor) -> Tensor:
    """Returns the number of set bits among the lower 32 bits."""
    x = (x & 0x55555555) + (x >> 1 & 0x55555555)
    x = (x & 0x33333333) + (x >> 2 & 0x33333333)
    x = (x & 0x0F0F0F0F) + (x >> 4 & 0x0F0F0F0F)
    return (x * 0x01010101 >> 24) & 0xFF


# An export inserts the functions of word_hashes.py here.


class NGrams(nn.Module):
    """Embeddings of the hashed n-grams that end at each token. The weight has a row for each used slot, in ascending order.
    An n-gram has an embedding if its slot is used and its cell is kept. used_slots and kept_cells are bitmaps of int32 words."""

    MULTIPLIER, MIX = 0x9E3779B97F4A7C15, ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1))

    def __init__(self, c):
        super().__init__()
        self.keys = n = c.ngrams
        self.weight = nn.Parameter(torch.zeros((c.extra or {}).get("ngram_rows", 0), c.hidden_size))
        self.register_buffer("used_slots", torch.zeros(n["slots"] // 32, dtype=torch.int32))
        if n["min_count"] > 1:
            self.register_buffer("kept_cells", torch.zeros(1 << 19, dtype=torch.int32))

    def units(self, ids):
        """Returns the XXH3-64 of each id: of its byte if units are bytes (in lower case with n-grams of words), else of the
        id as four bytes."""
        if self.keys["units"] == "bytes":
            byte = (ids - 1) & 255
            if self.keys.get("max_words"):
                byte = byte + 32 * ((byte >= 65) & (byte <= 90))
            h = (byte << 16 | byte << 24 | byte | 1 << 8) ^ 0x87275A9B
            h = mixed(h, ((33, 0xC2B2AE3D27D4EB4F), (29, 0x165667B19E3779F9), (32, 1)))
            return torch.where(ids == 0, torch.full_like(h, 0x2D06800538D394C2), h)  # id 0 has the hash of the empty string
        h = (ids & 0xFFFFFFFF | ids << 32) ^ signed(0xC73AB174C5ECD5A2)
        h = h ^ (h << 49 | shifted(h, 15)) ^ (h << 24 | shifted(h, 40))
        h = h * signed(0x9FB21C651E98DF25)
        h = h ^ (shifted(h, 35) + 4)
        return mixed(h * signed(0x9FB21C651E98DF25), ((28, 1),))

    def hashed(self, units, least, most, more):
        """Returns a list with a tensor [..., units] for each length n, `least` to `most`: the row of the n-gram that ends at
        each unit, or -1 if there is none. The length n enters the hash as n + more."""
        out, h = [], units
        for n in range(1, most + 1):
            if n > 1:
                h = F.pad(h[..., :-1], (1, 0)) * signed(self.MULTIPLIER) + units
            if n >= least:
                row = self.row(mixed(h + signed(2 * (n + more) * self.MULTIPLIER**n), self.MIX))
                out.append(torch.where(torch.arange(row.shape[-1], device=row.device) < n - 1, -torch.ones_like(row), row))
        return out

    def row(self, h):
        """Returns the rows of n-grams with the hashes h, or -1 for n-grams without an embedding."""
        slot = shifted(h, 65 - self.keys["slots"].bit_length())
        used = self.used_slots.long() & 0xFFFFFFFF
        word, bit = used[slot >> 5], 1 << (slot & 31)
        there = word & bit != 0
        if self.keys["min_count"] > 1:
            cell = h & (1 << 24) - 1
            there = there & (self.kept_cells[cell >> 5].long() >> (cell & 31) & 1 != 0)
        count = bits(used)
        row = (count.cumsum(0) - count)[slot >> 5] + bits(word & bit - 1)
        return torch.where(there, row, -torch.ones_like(row))

    def rows(self, ids, valid):
        """Returns the rows of the n-grams that end at each token, or -1: [batch, length, n-gram lengths]."""
        n, words = self.keys, self.keys.get("max_words", 0)
        rows = self.hashed(self.units(ids), n["min_n"], n["max_n"], 0)
        columns = [torch.full_like(ids, -1) for _ in range(words)]
        for i, count in enumerate(valid.sum(1).tolist() if words else []):
            hashes = torch.tensor(word_hashes(ids[i, :count].tolist()), device=ids.device)
            at = hashes.nonzero()[:, 0]
            for column, found in zip(columns, self.hashed(hashes[at], 1, words, 8)):
                column[i, at] = found
        return torch.stack(rows + columns, 2)

    def forward(self, x, rows):
        if self.training:
            rows = torch.where(torch.rand(rows.shape, device=rows.device) < self.keys.get("dropout", 0.0), -torch.ones_like(rows), rows)
        there = rows >= 0
        for row, is_there in zip(rows.unbind(2), there.unbind(2)):
            at = is_there.nonzero(as_tuple=True)
            x = x.index_put(at, F.embedding(row[at], self.weight), accumulate=True)
        return x * (1 + there.sum(2, keepdim=True)).double().sqrt().reciprocal().to(x.dtype)


def row_sums(x: Tensor) -> Tensor:
    """Sums over the last axis by adding halves, so that equal rows have bit-identical sums."""
    while x.shape[-1] > 1:
        n = x.shape[-1] // 2
        x = torch.cat([x[..., :n] + x[..., n : 2 * n], x[..., 2 * n :]], -1)
    return x[..., 0]


class Alike:
    """Groups of tokens with equal rows. first [batch, length] is the position of the first token of each token's group.
    Hardware may round equal rows of a matrix product differently, depending on their positions. All tokens of a group
    therefore get the score of its first token, so that their scores tie."""

    def __init__(self, columns, training):
        self.first, self.distinct = torch.zeros(columns.shape[:2], dtype=torch.int64, device=columns.device), False
        if training:  # noise is added to the scores
            self.split_all()
        else:
            self.split(columns)

    def split_all(self):
        """Puts each token into a group of its own."""
        self.distinct, self.first = True, torch.arange(self.first.shape[1], device=self.first.device).expand_as(self.first)

    @torch.no_grad()
    def split(self, columns):
        """Splits groups so that all tokens of a group have equal columns [batch, length, columns]."""
        if self.distinct or columns.shape[2] == 0:
            return
        if columns.dtype not in (torch.float32, torch.float64):  # float32 represents ids and positions below 2^24 exactly
            columns = columns.float()
        batch, length = self.first.shape
        row = torch.arange(batch, device=columns.device)[:, None]
        rows = torch.stack([row.expand(-1, length), self.first], 2).to(columns.dtype)
        _, group, size = torch.unique(torch.cat([rows, columns], 2).flatten(0, 1), dim=0, return_inverse=True, return_counts=True)
        first = group.sort(stable=True).indices[size.cumsum(0) - size][group]
        self.first = first.view(batch, length) - row * length

    def scores(self, score):
        """Returns the scores after replacing each by the score of its group. Gradients still flow to each token's own score."""
        return score.gather(1, self.first).detach() + (score - score.detach())


def sample(c, layer, most, score, valid, training):
    """Samples at most `most` tokens of each sequence. Returns the positions of the sampled tokens and of their partners
    [batch, keys] (a token without a partner is its own partner), the weights of the duplets, and a mask of valid keys."""
    length = score.shape[1]
    words = lambda stream: philox(c.sampler_seed, layer, stream, length, score.device)
    if training:
        score = score - torch.log(-torch.log(torch.rand_like(score).clamp(1e-7, 1 - 1e-7)))
        kept = valid & (torch.rand_like(score) >= c.drop_token)
        valid = torch.where(kept.any(1, keepdim=True), kept, valid)
    elif c.sampler_noise == "always":
        score = score - torch.log(-torch.log(((words(GUMBEL) >> 9) + 0.5).double() / 2**23)).to(score.dtype)
    with torch.no_grad():
        count = valid.sum(1, keepdim=True)
        keys = count.clamp(max=most)  # [batch, 1]
        pairs = torch.minimum(keys, count - keys)
        most = min(most, length)
        rank = torch.arange(most, device=score.device)
        ascending = lambda at, there: torch.where(there, at, length).sort(1).values

        # Order by descending score, then tie key, then position.
        by_tie = words(TIE).sort(dim=0, stable=True).indices
        falling = score.masked_fill(~valid, -math.inf)[:, by_tie].sort(dim=1, descending=True, stable=True).indices
        top = ascending(by_tie[falling[:, :most]], rank < keys)
        # Order the other tokens by partner key, then position. Sampled and invalid tokens get the largest key.
        taken = torch.zeros(len(score), length + 1, dtype=torch.bool, device=score.device).scatter(1, top, True)[:, :length]
        behind = torch.where(taken | ~valid, 1 << 32, words(PARTNER))
        partner = ascending(behind.sort(dim=1, stable=True).indices[:, :most], rank < pairs)
        partner = torch.where(rank < pairs, partner, top)
        top, partner = top.clamp(max=length - 1), partner.clamp(max=length - 1)
    log_softplus = lambda s: torch.where(s < -15, s, F.softplus(s.clamp(min=-15)).log())
    p = torch.sigmoid(log_softplus(score.gather(1, top)) - log_softplus(score.gather(1, partner)))
    return top, partner, torch.where(rank < pairs, p, torch.ones_like(p)), rank < keys


class Sampler(Affine):
    """Scores the tokens, samples tokens by score and returns the rows of the duplets. A duplet mixes a token with its partner."""

    def __init__(self, c, layer, most):
        super().__init__(c.hidden_size, 1)
        self.config, self.layer, self.most = c, layer, most

    def forward(self, x, valid, alike):
        score = alike.scores(row_sums(x * self.weight) + self.bias)
        top, partner, p, there = sample(self.config, self.layer, self.most, score, valid, self.training)
        rows = lambda at: x.gather(1, at[..., None].expand(-1, -1, x.shape[2]))
        return top, partner, p, there, p[..., None] * rows(top) + (1 - p[..., None]) * rows(partner)


class Sinusoid:
    """The relation of positions: alternating sines and cosines of position times frequency, computed in float64."""

    def __init__(self, c, length, like):
        frequency = c.sinusoid_base ** (-torch.arange(0, c.sinusoid_dim, 2, dtype=torch.float64, device=like.device) / c.sinusoid_dim)
        phase = torch.arange(length, dtype=torch.float64, device=like.device)[:, None] * frequency
        self.sines = torch.stack([phase.sin(), phase.cos()], 2).flatten(1).to(like.dtype)  # [length, sinusoid_dim]

    def among(self, at, there, alike):
        """Returns a function that applies a linear layer r to the relation of all tokens to the tokens at the positions
        `at`: [batch, heads, length, keys]. Splits the groups of alike whose tokens the relation distinguishes."""
        alike.split_all()
        other = self.sines[at].transpose(1, 2)[:, None]
        return lambda r: (self.sines * r.weight[:, None]) @ other + r.bias[:, None, None]


def weigh(pairs, r):
    """Applies the linear layer r to the features of pairs [batch, length, keys, features]: [batch, heads, length, keys]."""
    return F.linear(pairs, r.weight, r.bias).permute(0, 3, 1, 2)


class Distance:
    """The relation of points: the squared distance of two points, and the dot product of their normals if they have normals."""

    def __init__(self, c, features):
        column = {name: features[..., i] for i, name in enumerate(c.feature_names)}
        self.parts = [[column[name] for name in part] for part in POINTS if all(name in column for name in part)]

    def among(self, at, there, alike):
        alike.split(torch.stack(sum(self.parts, []), -1))
        total = lambda part, f: sum(f(v[:, :, None], v.gather(1, at)[:, None]) for v in part)
        pairs = [total(part, f) for part, f in zip(self.parts, (lambda a, b: (a - b) ** 2, lambda a, b: a * b))]
        return lambda r: weigh(torch.stack(pairs, -1), r)


class Edges:
    """The relation of nodes: the summed features of the edges from one node to another, and the number of these edges; zeros without an edge."""

    def __init__(self, edges, features, length):
        self.length, self.dtype, there = length, features.dtype, ((edges >= 0) & (edges < length)).all(-1)  # neither padding nor outside the window
        self.source, self.target = torch.where(there[..., None], edges, length).unbind(-1)
        self.features = F.pad(features, (0, 1), value=1.0).double()

    def among(self, at, there, alike):
        batch, keys, length = *at.shape, self.length
        with torch.no_grad():
            # place is the index of each token's key, or the number of keys if the token is not a key. Parallel edges are summed.
            place = torch.full((batch, length + 1), keys, device=at.device)
            place = place.scatter(1, torch.where(there, at, length), torch.arange(keys, device=at.device).expand(batch, keys))
            place[:, length] = keys
            slot = self.source * (keys + 1) + place.gather(1, self.target)
            width = self.features.shape[2]
            pairs = torch.zeros(batch, (length + 1) * (keys + 1), width, dtype=torch.float64, device=at.device)
            pairs.scatter_add_(1, slot[..., None].expand(-1, -1, width), self.features)
            most = torch.finfo(torch.float32).max
            pairs = pairs.view(batch, length + 1, keys + 1, width)[:, :length, :keys].clamp(-most, most).to(self.dtype)
        alike.split(pairs.flatten(2))
        return lambda r: weigh(pairs, r)


class Attention(nn.Module):
    """The parameters of attention from every token to a sample of duplets, which mix a top token with a random partner."""

    def __init__(self, c):
        super().__init__()
        d, h = c.hidden_size, c.num_attention_heads
        self.q, self.k, self.v, self.o = (Affine((d, d), d) for _ in range(4))
        self.leak = Affine((h, d), h)
        if c.relative != "none":
            self.rel_mul, self.rel_add = (Affine((h, pair_features(c)), h) for _ in range(2))


class MovingAverage(nn.Module):
    """Exponential moving averages of each channel over the tokens, half of them forward, half backward, and their weighted sum."""

    def __init__(self, c):
        super().__init__()
        self.decay, self.gain = (nn.Parameter(torch.zeros(2 * c.moving_averages, c.hidden_size)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(c.hidden_size))
        self.norm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)

    def forward(self, x, valid):
        """Returns the weighted sums for x [batch, length, channels], by the Fourier transform of the equivalent convolution."""
        (_, n, d), dtype = x.shape, torch.promote_types(x.dtype, torch.float32)  # rfft does not support shorter types on all devices
        decay, gain = self.decay.to(dtype)[:, None], self.gain.to(dtype)[:, None]
        lags = torch.arange(n, device=x.device)[:, None]
        kernels = gain * torch.sigmoid(-decay) * torch.exp(-lags * F.softplus(-decay))  # [averages, lags, channels]
        forward, backward = F.pad(kernels.view(2, -1, n, d).sum(1), (0, 0, 0, n))
        kernel = forward + backward.flip(0).roll(1, 0)  # lag -l is at the position 2n - l
        x = torch.where(valid[..., None], x, torch.zeros_like(x)).to(dtype)
        product = torch.fft.rfft(x, n=2 * n, dim=1) * torch.fft.rfft(kernel, dim=0)
        return torch.fft.irfft(product, n=2 * n, dim=1)[:, :n].to(self.bias.dtype) + self.bias


class Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        d, self.config, self.pre = c.hidden_size, c, c.norm_position == "pre"
        self.conv = nn.ModuleList(self.convolution(c, v) for v in c.convolutions)
        if c.moving_averages:
            self.average = MovingAverage(c)
        if c.num_sampled_tokens:  # 0: no attention
            self.sampler = Sampler(c, index, c.num_sampled_tokens)
            self.attn = Attention(c)
            self.norm1 = nn.LayerNorm(d, eps=c.layer_norm_eps)
        self.mlp = nn.ModuleDict({"fc1": Affine((c.intermediate_size, d), c.intermediate_size), "fc2": Affine((d, c.intermediate_size), d)})
        self.norm2 = nn.LayerNorm(d, eps=c.layer_norm_eps)
        if c.residual_scale:
            self.residual_scale = nn.Parameter(torch.zeros(1))

    @staticmethod
    def convolution(c, v):
        m = Affine((v["kernel_size"], c.hidden_size), c.hidden_size)
        m.norm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        return m

    def forward(self, x, valid, alike, relation):
        c, scale = self.config, getattr(self, "residual_scale", 1.0)
        for m, v in zip(self.conv, c.convolutions):
            x = self.branch(x, m.norm, lambda y: F.gelu(self.convolve(y, m, v, valid)))
            alike.split(self.windows(alike.first, v, valid))
        if c.moving_averages:
            x = self.branch(x, self.average.norm, lambda y: F.gelu(self.average(y, valid)))
            alike.split_all()
        if c.num_sampled_tokens:
            x = self.branch(x, self.norm1, lambda y: scale * self.attention(y, valid, alike, relation))
        return self.branch(x, self.norm2, lambda y: scale * self.feed_forward(y))

    def branch(self, x, norm, f):
        return x + f(norm(x)) if self.pre else norm(x + f(x))

    def convolve(self, x, m, v, valid):
        x = (x * valid[..., None]).transpose(1, 2)
        reach = v["kernel_size"] // 2 * v["dilation"]
        return F.conv1d(x, m.weight.t()[:, None], m.bias, padding=reach, dilation=v["dilation"], groups=x.shape[1]).transpose(1, 2)

    def windows(self, first, v, valid):
        """Returns the groups of the tokens in the window of each token, -1 outside the sequence: [batch, length, kernel]."""
        reach = v["kernel_size"] // 2 * v["dilation"]
        padded = F.pad(torch.where(valid, first, -1), (reach, reach), value=-1)
        return torch.stack([padded[:, i * v["dilation"] :][:, : first.shape[1]] for i in range(v["kernel_size"])], -1)

    def dropout(self, x, rate):
        return F.dropout(x, rate, self.training)

    def feed_forward(self, x):
        c = self.config
        hidden = self.dropout(F.gelu(self.mlp["fc1"](x)), c.feed_forward_dropout)
        return self.dropout(self.mlp["fc2"](hidden), c.embedding_dropout)

    def attention(self, x, valid, alike, relation):
        c, m = self.config, self.attn
        batch, length, d = x.shape
        heads = c.num_attention_heads
        split = lambda y: y.view(batch, -1, heads, d // heads).transpose(1, 2)
        top, partner, p, there, mixed = self.sampler(x, valid, alike)
        q, k = self.dropout(m.q(x), c.attention_dropout), self.dropout(m.k(mixed), c.attention_dropout)
        a = self.products(split(q), split(k)) / math.sqrt(d // heads)  # [batch, heads, length, keys]
        if relation is not None:
            w, to_top, to_partner = p[:, None, None], relation.among(top, there, alike), relation.among(partner, there, alike)
            mul = w * F.softplus(to_top(m.rel_mul)) + (1 - w) * F.softplus(to_partner(m.rel_mul))
            a = a * mul + w * to_top(m.rel_add) + (1 - w) * to_partner(m.rel_add)
        keys = there[:, None, None]
        v = split(m.v(mixed))
        if c.probability == "softmax":
            o = torch.softmax(a.masked_fill(~keys, -math.inf), -1) @ v
        else:
            a = F.relu(a) * keys
            total = a.sum(-1, keepdim=True) + 1e-9
            if c.probability == "leaky_relu":
                total = total + (F.softplus(m.leak(mixed)) * there[..., None]).sum(1)[:, :, None, None]
            o = a @ v / total
        return self.dropout(m.o(o.transpose(1, 2).reshape(batch, length, d)), c.embedding_dropout)

    def products(self, q, k):
        """Returns the scores of queries and keys. Sums channel by channel avoid a tensor of length × keys × channels."""
        if self.config.score == "dot":
            return q @ k.transpose(2, 3)
        total, lily = 0.0, self.config.score == "lily"
        for x, y in zip(q.split(1, -1), k.transpose(2, 3).split(1, 2)):
            total = total + ((x + y).abs() - (x - y).abs() if lily else torch.maximum(x, y))
        if self.config.score == "maxout_standardized":
            total = (total - q.shape[-1] / math.sqrt(math.pi)) / math.sqrt(1 - 1 / math.pi)
        return total


def read_tensors(path):
    """Reads the tensors of a file model.safetensors into a dict by name."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, data = json.loads(f.read(size)), bytearray(f.read())
    state = {}
    for name, t in header.items():
        if name != "__metadata__":
            (begin, end), kind = t["data_offsets"], torch.int32 if t["dtype"] == "I32" else torch.float32
            count = (end - begin) // 4
            state[name] = (torch.frombuffer(data, dtype=kind, count=count, offset=begin) if count else torch.zeros(0, dtype=kind)).reshape(t["shape"])
    return state


class SFTModel(PreTrainedModel):
    config_class = SFTConfig

    def __init__(self, config):
        super().__init__(config)
        c, d = config, config.hidden_size
        if c.feature_names is None:
            self.reads = ["input_ids", "input_ids_b"] if c.task == "retrieval" else ["input_ids"]
            self.embed = nn.Embedding(c.vocab_size, d)
            if c.ngrams:
                self.ngrams = NGrams(c)
        else:
            edged = c.relative == "edges"
            self.reads = ["features"] + ["edges"] * edged + ["edge_features"] * (edged and len(c.edge_feature_names) > 0)
            self.input = Affine((d, 1 if c.input == "ones" else len(c.feature_names)), d)
        self.layers = nn.ModuleList(Layer(c, i) for i in range(c.num_hidden_layers))
        if c.norm_position == "pre":
            self.final_norm = nn.LayerNorm(d, eps=c.layer_norm_eps)
        self.head = nn.ModuleDict({"out": Affine(None if c.tie_embeddings else (c.num_labels, d), c.num_labels)})
        self.temperature = c.temperature if c.task not in ("regression", "fill-mask") else 1.0
        self.tokens = c.task in ("tagging", "fill-mask")  # whether the logits are per token
        if c.pooling == "max":
            if c.pooling_samples:
                self.head["sampler"] = Sampler(c, c.num_hidden_layers, c.pooling_samples)
        elif not self.tokens:
            self.head["pool"] = Affine(d, 1)
        if c.task == "retrieval":
            self.head["hidden"] = Affine((d, 4 * d), d)
        self.post_init()

    def _init_weights(self, module):
        """Does nothing, because the weights are read from model.safetensors."""

    def forward(self, input_ids=None, attention_mask=None, input_ids_b=None, attention_mask_b=None, features=None, edges=None,
                edge_features=None, **_):
        c = self.config
        given = dict(input_ids=input_ids, input_ids_b=input_ids_b, features=features, edges=edges, edge_features=edge_features)
        for name, x in given.items():
            if (x is not None) != (name in self.reads):
                raise ValueError(f"{name} {'is missing' if x is None else 'was given'}: the model reads {', '.join(self.reads)}")
        if c.feature_names is None:
            x, u = self.encode(*self.embedded(input_ids, attention_mask))
        else:
            x, u = self.encode(*self.featured(features, attention_mask, edges, edge_features))
        if c.task == "retrieval":
            _, v = self.encode(*self.embedded(input_ids_b, attention_mask_b))
            hidden = F.gelu(self.head["hidden"](torch.cat([u, v, u * v, u - v], -1)))
            return Output(self.head["out"](hidden) / self.temperature, u, v)
        if self.tokens:
            out = self.head["out"]
            weight = self.embed.weight[: c.num_labels] if c.tie_embeddings else out.weight
            return Output(F.linear(x, weight, out.bias) / self.temperature, u)
        logits = self.head["out"](u) / self.temperature
        if c.task == "regression":
            column = lambda key, zero: torch.tensor([n[key] or zero for n in c.numbers], dtype=torch.float64, device=u.device)
            numbers = column("mean", 0.0) + column("deviation", 1.0) * logits.double()
            largest = torch.finfo(torch.float32).max
            return Output(logits, u, numbers=numbers.clamp(-largest, largest).to(u.dtype))
        return Output(logits, u)

    def read(self, x, mask):
        """Truncates rows to the input window. Returns the tokens and a mask of valid tokens."""
        valid = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask.bool()
        if valid.shape != x.shape[:2]:
            raise ValueError(f"attention_mask: shape {list(valid.shape)}, expected {list(x.shape[:2])}")
        if (valid[:, 1:] & ~valid[:, :-1]).any() or not valid[:, 0].all():
            raise ValueError("attention_mask: expected at least one token at the start of each row, and padding only at its end")
        window = self.config.input_window
        if window and window["policy"] == "head":
            length, lengths = window["length"], valid.sum(1, keepdim=True)
            if self.config.input_window_tail:  # longer rows keep their last tokens, too
                at = torch.arange(min(length, x.shape[1]), device=x.device)[None]
                at = at + (at >= length - self.config.input_window_tail) * (lengths - length).clamp(min=0)
                x = x[torch.arange(len(x), device=x.device)[:, None], at]
            x, valid = x[:, :length], valid[:, :length]
        return x, valid

    def embedded(self, ids, mask):
        """Embeds ids. Returns the rows [batch, length, hidden], the mask of valid tokens, the groups and the relation."""
        ids, valid = self.read(ids, mask)
        ids = torch.where(valid, ids, torch.zeros_like(ids))
        x, columns = self.embed(ids), ids[..., None]
        if self.config.ngrams:
            rows = self.ngrams.rows(ids, valid)
            x, columns = self.ngrams(x, rows), torch.cat([columns, rows], 2)
        alike = Alike(columns, self.training)
        return x, valid, alike, Sinusoid(self.config, x.shape[1], x) if self.config.relative != "none" else None

    def featured(self, features, mask, edges, edge_features):
        """Projects features. Returns the rows [batch, length, hidden], the mask of valid tokens, the groups and the relation."""
        c = self.config
        if features.dim() != 3 or features.shape[2] != len(c.feature_names):
            raise ValueError(f"features: shape {list(features.shape)}, expected [batch, length, {len(c.feature_names)}], for {', '.join(c.feature_names)}")
        read, valid = self.read(features, mask)
        read = torch.where(valid[..., None], read, torch.zeros_like(read)).to(self.input.bias.dtype)
        if not read.isfinite().all():
            raise ValueError("features: every number must be finite")
        rows = torch.ones_like(read[..., :1]) if c.input == "ones" else self.standardised(read)
        x, alike = self.input(rows), Alike(rows, self.training)
        if c.relative == "edges":
            lengths = torch.full_like(valid[:, 0], features.shape[1], dtype=torch.int64) if mask is None else mask.bool().sum(1)
            return x, valid, alike, Edges(*self.checked(edges, edge_features, lengths), x.shape[1])
        if c.relative == "distance":
            return x, valid, alike, Distance(c, read)
        return x, valid, alike, Sinusoid(c, x.shape[1], x) if c.relative != "none" else None

    def standardised(self, features):
        """Returns the features standardised by the means and deviations of config.json."""
        scales = self.config.feature_scales
        if not scales:
            return features
        column = lambda key, zero: torch.tensor([n[key] or zero for n in scales], dtype=torch.float64, device=features.device)
        return ((features.double() - column("mean", 0.0)) / column("deviation", 1.0)).to(features.dtype)

    def checked(self, edges, features, lengths):
        """Validates edges and their features for sequences of the given lengths, and zeroes the features of padding."""
        names = self.config.edge_feature_names
        if edges.dim() != 3 or edges.shape[0] != len(lengths) or edges.shape[2] != 2:
            raise ValueError(f"edges: shape {list(edges.shape)}, expected [{len(lengths)}, edges, 2]")
        padding = (edges == -1).all(-1)
        if not (padding | ((edges >= 0) & (edges < lengths[:, None, None])).all(-1)).all():
            raise ValueError("edges: expected token positions within the row, or the padding -1, -1")
        if not names:
            return edges, torch.zeros(*edges.shape[:2], 0, dtype=self.input.bias.dtype, device=edges.device)
        if features.shape != (*edges.shape[:2], len(names)):
            raise ValueError(f"edge_features: shape {list(features.shape)}, expected {[*edges.shape[:2], len(names)]}, for {', '.join(names)}")
        features = torch.where(padding[..., None], torch.zeros_like(features), features).to(self.input.bias.dtype)
        if not features.isfinite().all():
            raise ValueError("edge_features: every number must be finite")
        return edges, features

    def encode(self, x, valid, alike, relation):
        """Returns the rows of the tokens after the last layer [batch, length, hidden], and the pooled vectors [batch, hidden]."""
        c = self.config
        for layer in self.layers:
            x = layer(x, valid, alike, relation)
        if c.norm_position == "pre":
            x = self.final_norm(x)
        if c.pooling == "max":
            rows, there = x, valid
            if c.pooling_samples:
                _, _, _, there, rows = self.head["sampler"](x, valid, alike)
            return x, rows.masked_fill(~there[..., None], -math.inf).max(1).values
        if self.tokens:
            weights = valid.to(x.dtype) / valid.sum(1, keepdim=True)
        else:
            pool = self.head["pool"]
            weights = torch.softmax(((x * pool.weight).sum(-1) + pool.bias).masked_fill(~valid, -math.inf), 1)
        return x, (weights[..., None] * x).sum(1)

    @classmethod
    def from_folder(cls, folder):
        """Loads the model of a folder in evaluation mode, without the package transformers."""
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            model = cls(SFTConfig(**json.load(f)))
        model.load_state_dict(read_tensors(os.path.join(folder, "model.safetensors")))
        return model.eval()

    def save_weights(self, path):
        """Writes the parameters as float32 and the bitmaps of n-grams to a file model.safetensors. sftseq import pytorch reads
        this file from a folder with config.json."""
        header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
        for name, t in self.state_dict().items():
            kind = torch.int32 if t.dtype == torch.int32 else torch.float32
            data = t.detach().to("cpu", kind).contiguous().numpy().astype("<i4" if kind == torch.int32 else "<f4", copy=False).tobytes()
            header[name] = {"dtype": "I32" if kind == torch.int32 else "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
            parts.append(data)
            at += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
