"""Compares folders of export pytorch with what is expected of them: compare.py FOLDER EXPECTED ...

Prints a JSON line for each: how far logits of single sequences and of a padded batch are off, and of each tensor the
gradient of the mean loss, as a fraction of its tolerance. A step of training changes the weights, which are saved as
FOLDER/tuned.safetensors."""

import importlib.util, json, math, os, sys
import torch
from torch.nn import functional as F

torch.set_num_threads(1)


def lines(path):
    return [json.loads(line) for line in open(path)]


def batch(rows):
    """The rows right-padded with ids that are no tokens, and their mask."""
    n = max(map(len, rows))
    return torch.tensor([r + [1 << 40] * (n - len(r)) for r in rows]), torch.tensor([[1] * len(r) + [0] * (n - len(r)) for r in rows])


def arguments(examples, model):
    """What a model reads of examples, with padding that no model could read."""
    c = model.config
    if c.feature_names is None:
        names = ["tokens"] if "tokens" in examples[0] else ["tokens_a", "tokens_b"]
        return dict(zip(["input_ids", "attention_mask", "input_ids_b", "attention_mask_b"], [x for name in names for x in batch([e[name] for e in examples])]))

    def padded(rows, width, padding):
        n = max(map(len, rows))
        return torch.tensor([r + [[padding] * width] * (n - len(r)) for r in rows]).view(len(rows), n, width)

    features = [e["features"] for e in examples]
    given = {"features": padded(features, len(c.feature_names), math.nan), "attention_mask": batch([[0] * len(f) for f in features])[1]}
    if c.relative == "edges":
        edges = [e.get("edges", []) for e in examples]
        given["edges"] = padded([[[int(v) for v in edge[:2]] for edge in row] for row in edges], 2, -1).long()
        if c.edge_feature_names:
            given["edge_features"] = padded([[edge[2:] for edge in row] for row in edges], len(c.edge_feature_names), math.nan)
    return given


def outputs(model, logits, e):
    """What the program says of an example: of tagging its tokens, of fill-mask its masks."""
    c = model.config
    if not model.tokens:
        return logits
    tokens = e.get("tokens") or e["features"]
    tokens = tokens[: c.input_window["length"]] if c.input_window else e["tokens"]
    rows = [i for i, token in enumerate(tokens) if c.task == "tagging" or token == c.mask_token_id]
    return logits[rows]


def loss(model, examples):
    """The mean loss of the examples, as sftseq grads has it."""
    c, out = model.config, [model(**arguments([e], model)).logits[0] for e in examples]
    if c.task == "tagging":
        logits, labels = torch.cat(out), torch.tensor([t for e in examples for t in e["labels"]])
        return F.cross_entropy(logits, labels, ignore_index=-1)
    logits = torch.stack(out)
    if c.task == "multi-label":
        held = torch.tensor([[float(i in e["labels"]) for i in range(c.num_labels)] for e in examples])
        return F.binary_cross_entropy_with_logits(logits, held)
    if c.task == "regression":
        y = torch.tensor([[(v - n["mean"]) / n["deviation"] for v, n in zip(e["numbers"], c.numbers)] for e in examples])
        return F.smooth_l1_loss(logits, y)
    return F.cross_entropy(logits, torch.tensor([e["label"] for e in examples]))


def compare(folder, expected):
    spec = importlib.util.spec_from_file_location("modeling_sft", folder + "/modeling_sft.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.SFTModel.from_folder(folder)
    examples, wants = lines(expected + "/inputs.jsonl"), lines(expected + "/expected.jsonl")
    off = lambda logits, e, want: (outputs(model, logits, e).flatten() - torch.tensor(want["logits"] or [])).abs().max().item() if want["logits"] else 0.0
    with torch.no_grad():
        single = max(off(model(**arguments([e], model)).logits[0], e, want) for e, want in zip(examples, wants))
        padded = max(off(logits, e, want) for logits, e, want in zip(model(**arguments(examples, model)).logits, examples, wants))
    result = {"single": single, "padded": padded}
    if os.path.exists(expected + "/grads.safetensors"):
        before = loss(model, examples)
        before.backward()
        result["gradient"], result["tensor"] = 0.0, ""
        wanted = module.read_tensors(expected + "/grads.safetensors")
        for name, p in model.named_parameters():
            if name not in wanted:
                if name != "ngrams.weight" or not (p.grad.abs().sum(1) > 0).sum() > 10:  # the reference has no gradient of them
                    result["gradient"], result["tensor"] = math.inf, name
                continue
            w = wanted[name]
            g = torch.zeros_like(w) if p.grad is None else p.grad
            fraction = ((g - w).norm() / (1e-3 * w.norm() + 1e-6)).item()
            if not fraction <= result["gradient"]:
                result["gradient"], result["tensor"] = fraction, name
        model.train()
        torch.manual_seed(1)
        noisy = loss(model, examples)
        noisy.backward()
        torch.optim.SGD(model.parameters(), 1e-3).step()
        model.eval()
        result["before"], result["after"] = before.item(), loss(model, examples).item()
        model.save_weights(folder + "/tuned.safetensors")
    print(json.dumps(result))


for at in range(1, len(sys.argv), 2):
    compare(sys.argv[at], sys.argv[at + 1])
