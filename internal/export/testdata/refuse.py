"""Prints what a module says of inputs that its model cannot read: refuse.py FOLDER, of a model of graphs."""

import math, sys
import torch

sys.path.insert(0, sys.argv[1])
from modeling_sft import SFTModel

model = SFTModel.from_folder(sys.argv[1])
n = len(model.config.feature_names)
good = {"features": torch.zeros(2, 3, n), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]]),
        "edges": torch.tensor([[[0, 2]], [[-1, -1]]]), "edge_features": torch.zeros(2, 1, len(model.config.edge_feature_names))}
model(**good)
for changed in [
    {"features": None},
    {"input_ids": torch.zeros(2, 3, dtype=torch.int64)},
    {"features": torch.zeros(2, 3, n + 1)},
    {"features": torch.full((2, 3, n), math.inf)},
    {"attention_mask": torch.tensor([[1, 1, 1], [1, 0, 1]])},
    {"attention_mask": torch.tensor([[1, 1], [1, 0]])},
    {"edges": None},
    {"edges": torch.zeros(1, 1, 2, dtype=torch.int64)},
    {"edges": torch.tensor([[[0, 2]], [[0, 2]]])},
    {"edges": torch.tensor([[[0, 2]], [[-1, 0]]])},
    {"edge_features": torch.zeros(2, 2, 2)},
    {"edge_features": torch.full_like(good["edge_features"], math.nan)},
]:
    try:
        model(**{**good, **changed})
    except ValueError as e:
        print(e)
    else:
        print("nothing")
