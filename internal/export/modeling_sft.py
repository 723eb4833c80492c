"""A Sampling Foundational Transformer in PyTorch, written by sftseq export pytorch.

    from modeling_sft import SFTModel
    model = SFTModel.from_folder("FOLDER")
    output = model(input_ids, attention_mask)  # [batch, length], right-padded; without a mask all ids are tokens

The names, shapes and values of the parameters are those of model.safetensors. A model in evaluation (model.eval())
answers as sftseq predict does, but for rounding. In training it draws noise and dropout as config.json says, from
PyTorch's generator. Where the package transformers is installed, AutoModel loads the folder, with
trust_remote_code=True; nothing but PyTorch is needed.
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
    """The keys of config.json; those that a file lacks have the values that they stand for."""

    model_type = "sft"

    def __init__(self, **keys):
        defaults = dict(task="classification", vocab_size=2, num_labels=2, hidden_size=2, num_hidden_layers=1, num_attention_heads=1,
                        intermediate_size=1, num_sampled_tokens=1, sinusoid_dim=2, sinusoid_base=10000.0, norm_position="pre",
                        layer_norm_eps=1e-5, score="maxout", probability="leaky_relu", relative="sinusoid_hadamard", sampler_seed=0,
                        sampler_noise="train", residual_scale=False, convolutions=[], tie_embeddings=False, numbers=[], drop_token=0.0,
                        attention_dropout=0.0, embedding_dropout=0.0, feed_forward_dropout=0.0, input_window=None, mask_token_id=None)
        super().__init__(**{**defaults, **keys})


class Output(NamedTuple):
    """Logits [batch, labels], of tagging and fill-mask [batch, length, labels]; embeddings [batch, hidden]; of a
    regression numbers [batch, labels], in the units of the data."""

    logits: Tensor
    embedding: Tensor
    embedding_b: Optional[Tensor] = None
    numbers: Optional[Tensor] = None


class Affine(nn.Module):
    """A weight and a bias, of the shapes that config.json implies."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(weight)) if weight else None
        self.bias = nn.Parameter(torch.zeros(bias))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


TIE, PARTNER, GUMBEL = 3, 1, 0  # streams of random words


def philox(seed: int, layer: int, stream: int, n: int, device) -> Tensor:
    """The first words of Philox4x32-10 at the counters (position, layer << 8 | stream, 0, 0): int64 [n]."""
    low, half = 0xFFFFFFFF, 0xFFFF

    def product(x, m):  # both halves of its 64 bits, without overflow
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


def row_sums(x: Tensor) -> Tensor:
    """Sums over the last axis by a tree of halves: equal rows have sums equal to the bit, so that scores tie."""
    while x.shape[-1] > 1:
        n = x.shape[-1] // 2
        x = torch.cat([x[..., :n] + x[..., n : 2 * n], x[..., 2 * n :]], -1)
    return x[..., 0]


class Attention(nn.Module):
    """Every token attends to a sample of the tokens, in duplets of one of a large score and a random one."""

    def __init__(self, c):
        super().__init__()
        d, h = c.hidden_size, c.num_attention_heads
        self.q, self.k, self.v, self.o = (Affine((d, d), d) for _ in range(4))
        self.leak = Affine((h, d), h)
        if c.relative != "none":
            self.rel_mul, self.rel_add = (Affine((h, c.sinusoid_dim), h) for _ in range(2))


class Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        d, self.config, self.index, self.pre = c.hidden_size, c, index, c.norm_position == "pre"
        self.conv = nn.ModuleList(self.convolution(c, v) for v in c.convolutions)
        self.sampler = Affine(d, 1)
        self.attn = Attention(c)
        self.mlp = nn.ModuleDict({"fc1": Affine((c.intermediate_size, d), c.intermediate_size), "fc2": Affine((d, c.intermediate_size), d)})
        self.norm1, self.norm2 = (nn.LayerNorm(d, eps=c.layer_norm_eps) for _ in range(2))
        if c.residual_scale:
            self.residual_scale = nn.Parameter(torch.zeros(1))

    @staticmethod
    def convolution(c, v):
        m = Affine((v["kernel_size"], c.hidden_size), c.hidden_size)
        m.norm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        return m

    def forward(self, x, valid, sines):
        c, scale = self.config, getattr(self, "residual_scale", 1.0)
        for m, v in zip(self.conv, c.convolutions):
            x = self.branch(x, m.norm, lambda y: F.gelu(self.convolve(y, m, v, valid)))
        x = self.branch(x, self.norm1, lambda y: scale * self.attention(y, valid, sines))
        return self.branch(x, self.norm2, lambda y: scale * self.feed_forward(y))

    def branch(self, x, norm, f):
        return x + f(norm(x)) if self.pre else norm(x + f(x))

    def convolve(self, x, m, v, valid):
        x = (x * valid[..., None]).transpose(1, 2)
        reach = v["kernel_size"] // 2 * v["dilation"]
        return F.conv1d(x, m.weight.t()[:, None], m.bias, padding=reach, dilation=v["dilation"], groups=x.shape[1]).transpose(1, 2)

    def dropout(self, x, rate):
        return F.dropout(x, rate, self.training)

    def feed_forward(self, x):
        c = self.config
        hidden = self.dropout(F.gelu(self.mlp["fc1"](x)), c.feed_forward_dropout)
        return self.dropout(self.mlp["fc2"](hidden), c.embedding_dropout)

    def sample(self, score, valid):
        """Positions of the sampled tokens and of their partners [batch, keys], the duplets' weights, and which keys there are."""
        c, length = self.config, score.shape[1]
        words = lambda stream: philox(c.sampler_seed, self.index, stream, length, score.device)
        if self.training:
            score = score - torch.log(-torch.log(torch.rand_like(score).clamp(1e-7, 1 - 1e-7)))
            kept = valid & (torch.rand_like(score) >= c.drop_token)
            valid = torch.where(kept.any(1, keepdim=True), kept, valid)
        elif c.sampler_noise == "always":
            score = score - torch.log(-torch.log(((words(GUMBEL) >> 9) + 0.5).double() / 2**23)).to(score.dtype)
        with torch.no_grad():
            most = min(c.num_sampled_tokens, length)
            count = valid.sum(1, keepdim=True)
            keys = count.clamp(max=c.num_sampled_tokens)  # [batch, 1]
            pairs = torch.minimum(keys, count - keys)
            rank = torch.arange(most, device=score.device)
            ascending = lambda at, there: torch.where(there, at, length).sort(1).values

            # By falling score, then tie key, then position.
            by_tie = words(TIE).sort(dim=0, stable=True).indices
            falling = score.masked_fill(~valid, -math.inf)[:, by_tie].sort(dim=1, descending=True, stable=True).indices
            top = ascending(by_tie[falling[:, :most]], rank < keys)
            # The others by partner key, then position: the sampled ones and those that do not count go behind.
            taken = torch.zeros(len(score), length + 1, dtype=torch.bool, device=score.device).scatter(1, top, True)[:, :length]
            behind = torch.where(taken | ~valid, 1 << 32, words(PARTNER))
            partner = ascending(behind.sort(dim=1, stable=True).indices[:, :most], rank < pairs)
            partner = torch.where(rank < pairs, partner, top)
            top, partner = top.clamp(max=length - 1), partner.clamp(max=length - 1)
        log_softplus = lambda s: torch.where(s < -15, s, F.softplus(s.clamp(min=-15)).log())
        p = torch.sigmoid(log_softplus(score.gather(1, top)) - log_softplus(score.gather(1, partner)))
        return top, partner, torch.where(rank < pairs, p, torch.ones_like(p)), rank < keys

    def attention(self, x, valid, sines):
        c, m = self.config, self.attn
        batch, length, d = x.shape
        heads = c.num_attention_heads
        split = lambda y: y.view(batch, -1, heads, d // heads).transpose(1, 2)
        score = row_sums(x * self.sampler.weight) + self.sampler.bias
        top, partner, p, there = self.sample(score, valid)
        rows = lambda at: x.gather(1, at[..., None].expand(-1, -1, d))
        mixed = p[..., None] * rows(top) + (1 - p[..., None]) * rows(partner)
        q, k = self.dropout(m.q(x), c.attention_dropout), self.dropout(m.k(mixed), c.attention_dropout)
        a = self.products(split(q), split(k)) / math.sqrt(d // heads)  # [batch, heads, length, keys]
        if c.relative != "none":
            w = p[:, None, None]

            def lin(r, at):
                return (sines * r.weight[:, None]) @ sines[at].transpose(1, 2)[:, None] + r.bias[:, None, None]

            mul = w * F.softplus(lin(m.rel_mul, top)) + (1 - w) * F.softplus(lin(m.rel_mul, partner))
            a = a * mul + w * lin(m.rel_add, top) + (1 - w) * lin(m.rel_add, partner)
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
        """The scores of queries and keys, added up channel by channel: nothing is as large as length × keys × channels."""
        if self.config.score == "dot":
            return q @ k.transpose(2, 3)
        total, lily = 0.0, self.config.score == "lily"
        for x, y in zip(q.split(1, -1), k.transpose(2, 3).split(1, 2)):
            total = total + ((x + y).abs() - (x - y).abs() if lily else torch.maximum(x, y))
        if self.config.score == "maxout_standardized":
            total = (total - q.shape[-1] / math.sqrt(math.pi)) / math.sqrt(1 - 1 / math.pi)
        return total


class SFTModel(PreTrainedModel):
    config_class = SFTConfig

    def __init__(self, config):
        super().__init__(config)
        c, d = config, config.hidden_size
        self.embed = nn.Embedding(c.vocab_size, d)
        self.layers = nn.ModuleList(Layer(c, i) for i in range(c.num_hidden_layers))
        if c.norm_position == "pre":
            self.final_norm = nn.LayerNorm(d, eps=c.layer_norm_eps)
        self.head = nn.ModuleDict({"out": Affine(None if c.tie_embeddings else (c.num_labels, d), c.num_labels)})
        self.tokens = c.task in ("tagging", "fill-mask")  # has logits of each token
        if not self.tokens:
            self.head["pool"] = Affine(d, 1)
        if c.task == "retrieval":
            self.head["hidden"] = Affine((d, 4 * d), d)
        self.post_init()

    def _init_weights(self, module):
        """Weights come from model.safetensors."""

    def forward(self, input_ids, attention_mask=None, input_ids_b=None, attention_mask_b=None, **_):
        x, u = self.encode(input_ids, attention_mask)
        if self.config.task == "retrieval":
            if input_ids_b is None:
                raise ValueError("input_ids_b is missing: the model reads pairs")
            _, v = self.encode(input_ids_b, attention_mask_b)
            hidden = F.gelu(self.head["hidden"](torch.cat([u, v, u * v, u - v], -1)))
            return Output(self.head["out"](hidden), u, v)
        if self.tokens:
            out = self.head["out"]
            weight = self.embed.weight[: self.config.num_labels] if self.config.tie_embeddings else out.weight
            return Output(F.linear(x, weight, out.bias), u)
        logits = self.head["out"](u)
        if self.config.task == "regression":
            column = lambda key, zero: torch.tensor([n[key] or zero for n in self.config.numbers], dtype=torch.float64, device=u.device)
            return Output(logits, u, numbers=(column("mean", 0.0) + column("deviation", 1.0) * logits.double()).to(u.dtype))
        return Output(logits, u)

    def encode(self, ids, mask=None):
        """The rows of the tokens after the last layer [batch, length, hidden], and the sequences as vectors [batch, hidden]."""
        c = self.config
        valid = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        if (valid[:, 1:] & ~valid[:, :-1]).any() or not valid[:, 0].all():
            raise ValueError("attention_mask: every row must begin with at least one token, and end with its padding")
        window = c.input_window
        if window and window["policy"] == "head":
            ids, valid = ids[:, : window["length"]], valid[:, : window["length"]]
        sines = self.sinusoid(ids.shape[1])
        x = self.embed(torch.where(valid, ids, torch.zeros_like(ids)))
        for layer in self.layers:
            x = layer(x, valid, sines)
        if c.norm_position == "pre":
            x = self.final_norm(x)
        if self.tokens:
            weights = valid.to(x.dtype) / valid.sum(1, keepdim=True)
        else:
            pool = self.head["pool"]
            weights = torch.softmax(((x * pool.weight).sum(-1) + pool.bias).masked_fill(~valid, -math.inf), 1)
        return x, (weights[..., None] * x).sum(1)

    def sinusoid(self, length):
        """sin and cos of positions and frequencies in turns, computed in float64: [length, sinusoid_dim]."""
        c, weight = self.config, self.embed.weight
        frequency = c.sinusoid_base ** (-torch.arange(0, c.sinusoid_dim, 2, dtype=torch.float64, device=weight.device) / c.sinusoid_dim)
        phase = torch.arange(length, dtype=torch.float64, device=weight.device)[:, None] * frequency
        return torch.stack([phase.sin(), phase.cos()], 2).flatten(1).to(weight.dtype)

    @classmethod
    def from_folder(cls, folder):
        """The model of a folder, in evaluation. It needs no other package than PyTorch."""
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            model = cls(SFTConfig(**json.load(f)))
        with open(os.path.join(folder, "model.safetensors"), "rb") as f:
            size = int.from_bytes(f.read(8), "little")
            header, data = json.loads(f.read(size)), bytearray(f.read())
        state = {}
        for name, t in header.items():
            if name != "__metadata__":
                begin, end = t["data_offsets"]
                state[name] = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin).reshape(t["shape"])
        model.load_state_dict(state)
        return model.eval()

    def save_weights(self, path):
        """Writes the parameters as float32 to a file model.safetensors; beside config.json, sftseq import pytorch reads it."""
        header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
        for name, t in self.state_dict().items():
            data = t.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4", copy=False).tobytes()
            header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
            parts.append(data)
            at += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
