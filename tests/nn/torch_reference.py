"""Writes what PyTorch computes for each case of layer_cases.cpp, in double precision: state, inputs, outputs, gradients.

usage: torch_reference.py SEED FILE
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

REAL, UNIT, INTEGER, BOOLEAN = range(4)


class RMSNorm(nn.Module):
    """As in PyTorch 2.4, which Debian 12 does not have."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class Bert(nn.Module):
    """BertModel of Hugging Face without its pooler."""

    def __init__(self, features, heads, hidden, layers):
        super().__init__()
        self.heads = heads
        norm = lambda: nn.LayerNorm(features, eps=1e-12)
        dense = lambda: nn.Linear(features, features)
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(9, features), "position_embeddings": nn.Embedding(6, features),
            "token_type_embeddings": nn.Embedding(2, features), "LayerNorm": norm()})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(nn.ModuleDict({
            "attention": nn.ModuleDict({
                "self": nn.ModuleDict({name: dense() for name in ("query", "key", "value")}),
                "output": nn.ModuleDict({"dense": dense(), "LayerNorm": norm()})}),
            "intermediate": nn.ModuleDict({"dense": nn.Linear(features, hidden)}),
            "output": nn.ModuleDict({"dense": nn.Linear(hidden, features), "LayerNorm": norm()})})
            for _ in range(layers))})

    def attend(self, parts, x, padding):
        split = lambda part: parts[part](x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        query, key, value = (split(name) for name in ("query", "key", "value"))
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        return (weights @ value).transpose(1, 2).flatten(2)

    def forward(self, ids, types, padding):
        parts = self.embeddings
        x = parts["LayerNorm"](parts["word_embeddings"](ids) + parts["token_type_embeddings"](types)
                               + parts["position_embeddings"](torch.arange(ids.shape[1])))
        for layer in self.encoder["layer"]:
            attention, output = layer["attention"]["output"], layer["output"]
            attended = attention["dense"](self.attend(layer["attention"]["self"], x, padding))
            x = attention["LayerNorm"](x + attended)
            x = output["LayerNorm"](x + output["dense"](F.gelu(layer["intermediate"]["dense"](x))))
        return x


class Empty(nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def causal(size):
    return torch.full((size, size), -math.inf).triu(1)


def all_but_first(mask):
    return mask & (torch.arange(mask.shape[1]) > 0)


def with_state(module, x, *state):
    output, last = module(x, tuple(state) if len(state) > 1 else state[0])
    return [output, *last] if isinstance(last, tuple) else [output, last]


def first(module, *inputs):
    return [module(*inputs)[0]]


def info_nce(queries, keys):
    logits = F.normalize(queries) @ F.normalize(keys).T / 0.3
    return F.cross_entropy(logits, torch.arange(len(queries)))


def train(module, *inputs):
    module.train()
    return [module(*inputs)]


def cases():
    """Name: (module, inputs as (shape, kind, limit), how it is called)."""
    plain = lambda module, *inputs: [module(*inputs)]
    both = dict(num_layers=2, bidirectional=True, batch_first=True)
    attention = lambda heads, **options: nn.MultiheadAttention(8, heads, batch_first=True, **options)
    post = dict(d_model=8, nhead=2, dim_feedforward=12, dropout=0, batch_first=True)
    pre = dict(post, activation="gelu", norm_first=True)
    encoder_layer = nn.TransformerEncoderLayer(**pre)
    decoder_layer = nn.TransformerDecoderLayer(**pre)
    encode = lambda module, x: [module(x, causal(5))]
    decode = lambda module, x, memory: [module(x, memory, tgt_mask=causal(3))]
    sequence = (2, 5, 8)
    result = {
        "dense": (nn.Linear(3, 4), [(5, 3)], plain),
        "dense_no_bias": (nn.Linear(5, 2, bias=False), [(2, 3, 5)], plain),
        "dense_vector": (nn.Linear(5, 2), [(5,)], plain),
        "conv1d": (nn.Conv1d(3, 4, 3, stride=2, padding=1), [(2, 3, 9)], plain),
        "conv2d": (
            nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2), [(2, 4, 7, 6)], plain),
        "conv2d_no_bias": (nn.Conv2d(1, 2, 3, bias=False), [(1, 1, 4, 4)], plain),
        "conv3d": (nn.Conv3d(2, 3, 2, padding=1), [(1, 2, 4, 5, 3)], plain),
        "max_pool": (nn.MaxPool2d((3, 2), stride=2, padding=(1, 0)), [(2, 3, 7, 6)], plain),
        "average_pool": (nn.AvgPool2d((3, 2), stride=2, padding=(1, 0)), [(2, 3, 7, 6)], plain),
        "global_average_pool": (nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), [(2, 3, 4, 5)], plain),
        "flatten": (nn.Flatten(), [(2, 3, 4)], plain),
        "embedding": (nn.Embedding(7, 5), [((3, 4), INTEGER, 7)], plain),
        "embedding_padding": (nn.Embedding(4, 5, padding_idx=1), [((3, 4), INTEGER, 4)], plain),
        "sequential": (
            nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Sequential(nn.Linear(6, 5), nn.GELU()), nn.Linear(5, 2)),
            [(4, 3)], plain),
        "batch_norm_train": (nn.BatchNorm1d(3), [(6, 3)], train),
        "batch_norm_train_2d": (nn.BatchNorm2d(3), [(2, 3, 4, 5)], train),
        "batch_norm_eval": (nn.BatchNorm1d(3), [(4, 3, 5)], plain),
        "batch_norm_no_affine": (nn.BatchNorm1d(3, affine=False), [(4, 3)], plain),
        "layer_norm": (nn.LayerNorm(8), [(2, 3, 8)], plain),
        "layer_norm_2d": (nn.LayerNorm((4, 5)), [(3, 4, 5)], plain),
        "layer_norm_no_affine": (nn.LayerNorm(5, elementwise_affine=False), [(3, 5)], plain),
        "rms_norm": (RMSNorm(8), [(2, 3, 8)], plain),
        "group_norm": (nn.GroupNorm(3, 6), [(2, 6, 3, 2)], plain),
        "rnn": (nn.RNN(3, 4), [(5, 2, 3)], first),
        "rnn_relu": (nn.RNN(3, 4, nonlinearity="relu", **both), [(3, 5, 3), (4, 3, 4)], with_state),
        "lstm": (nn.LSTM(3, 4), [(5, 2, 3)], first),
        "lstm_no_bias": (nn.LSTM(3, 4, bias=False), [(1, 2, 3)], first),
        "lstm_state": (nn.LSTM(3, 4, **both), [(3, 5, 3), (4, 3, 4), (4, 3, 4)], with_state),
        "gru": (nn.GRU(3, 4), [(5, 2, 3)], first),
        "gru_no_bias": (nn.GRU(3, 4, bias=False), [(1, 2, 3)], first),
        "gru_state": (nn.GRU(3, 4, **both), [(3, 5, 3), (4, 3, 4)], with_state),
        "attention": (attention(2), [sequence], lambda m, x: [m(x, x, x)[0]]),
        "attention_causal": (
            attention(4, bias=False), [sequence], lambda m, x: [m(x, x, x, attn_mask=causal(5))[0]]),
        "attention_cross": (
            attention(2), [(2, 3, 8), sequence, sequence, (3, 5)],
            lambda m, q, k, v, mask: [m(q, k, v, attn_mask=mask)[0]]),
        "attention_masks": (
            attention(2), [(2, 3, 8), sequence, ((3, 5), BOOLEAN, 0), ((2, 5), BOOLEAN, 0)],
            lambda m, q, k, mask, padding: [
                m(q, k, k, attn_mask=all_but_first(mask), key_padding_mask=all_but_first(padding))[0]]),
        "encoder_layer": (nn.TransformerEncoderLayer(**post), [sequence], plain),
        "encoder_layer_causal": (nn.TransformerEncoderLayer(**pre), [sequence], encode),
        "encoder": (nn.TransformerEncoder(encoder_layer, 2, nn.LayerNorm(8)), [sequence], encode),
        "decoder_layer": (nn.TransformerDecoderLayer(**post), [(2, 3, 8), sequence], decode),
        "decoder": (nn.TransformerDecoder(decoder_layer, 2, nn.LayerNorm(8)), [(2, 3, 8), sequence], decode),
        "bert": (
            Bert(8, 2, 12, 2), [((2, 5), INTEGER, 9), ((2, 5), INTEGER, 2), ((2, 5), BOOLEAN, 0)],
            lambda m, ids, types, padding: [m(ids, types, all_but_first(padding))]),
        "leaky_relu_0.2": (nn.LeakyReLU(0.2), [(4, 7)], plain),
        "elu_0.7": (nn.ELU(0.7), [(4, 7)], plain),
    }
    activations = {
        "Linear": nn.Identity(), "ReLU": nn.ReLU(), "ReLU6": nn.ReLU6(), "LeakyReLU": nn.LeakyReLU(), "ELU": nn.ELU(),
        "SELU": nn.SELU(), "Sigmoid": nn.Sigmoid(), "HardSigmoid": nn.Hardsigmoid(), "Tanh": nn.Tanh(),
        "GELU": nn.GELU(), "GELUTanh": nn.GELU(approximate="tanh"), "Swish": nn.SiLU(), "HardSwish": nn.Hardswish(),
        "Mish": nn.Mish(), "Softplus": nn.Softplus(), "Softsign": nn.Softsign(), "Softmax": nn.Softmax(-1),
        "LogSoftmax": nn.LogSoftmax(-1),
    }
    for name, module in activations.items():
        result["activation_" + name] = (module, [(4, 7)], plain)
    numbers = [(6, 5), ((6,), INTEGER, 5), ((5,), UNIT, 0)]
    probabilities = [(6, 5), ((6, 5), UNIT, 0), ((5,), UNIT, 0)]
    losses = {
        "mse_loss": (F.mse_loss, [(4, 5), (4, 5)]),
        "mae_loss": (lambda x, y: F.l1_loss(x, y, reduction="sum"), [(4, 5), (4, 5)]),
        "huber_loss": (lambda x, y: F.huber_loss(x, y, delta=0.8), [(4, 5), (4, 5)]),
        "cross_entropy": (lambda x, y, w: F.cross_entropy(x, y), numbers),
        "cross_entropy_options": (
            lambda x, y, w: F.cross_entropy(x, y, weight=w.detach(), ignore_index=2, label_smoothing=0.1), numbers),
        "cross_entropy_ignored": (
            lambda x, y, w: F.cross_entropy(x, y, ignore_index=1, label_smoothing=0.2), numbers),
        "cross_entropy_images": (
            lambda x, y: F.cross_entropy(x, y, reduction="none"), [(2, 5, 3, 2), ((2, 3, 2), INTEGER, 5)]),
        "cross_entropy_probabilities": (
            lambda x, y, w: F.cross_entropy(x, y, weight=w.detach(), label_smoothing=0.1), probabilities),
        "binary_cross_entropy_with_logits": (
            lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(2.5)),
            [(4, 5), ((4, 5), UNIT, 0)]),
        "binary_cross_entropy": (F.binary_cross_entropy, [((4, 5), UNIT, 0), ((4, 5), UNIT, 0)]),
        "info_nce_loss": (info_nce, [(5, 4), (5, 4)]),
        "triplet_loss": (lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=0.5), [(4, 6), (4, 6), (4, 6)]),
    }
    for name, (function, inputs) in losses.items():
        result[name] = (Empty(function), inputs, plain)
    return result


def random_input(description):
    shape, kind, limit = description if isinstance(description[0], tuple) else (description, REAL, 0)
    if kind == INTEGER:
        return torch.randint(limit, shape)
    if kind == BOOLEAN:
        return torch.rand(shape) < 0.4
    if kind == UNIT:
        return (torch.rand(shape) * 0.9 + 0.05).requires_grad_()
    return torch.randn(shape).requires_grad_()


def write(out, role, name, tensor):
    tensor = tensor.detach()
    values = " ".join(repr(float(value)) for value in tensor.flatten().tolist())
    kind = "real" if tensor.is_floating_point() else "bool" if tensor.dtype == torch.bool else "integer"
    print(role, name, kind, tensor.dim(), *tensor.shape, values, file=out)


def write_case(out, name, module, inputs, call):
    print("case", name, file=out)
    for tensor in module.state_dict().values():
        if tensor.is_floating_point():
            tensor += torch.randn(tensor.shape).abs() * 0.2  # so that no scale is 1 and no bias 0
    module.eval()
    for key, tensor in module.state_dict().items():
        write(out, "state", key, tensor)
    arguments = [random_input(description) for description in inputs]
    for i, argument in enumerate(arguments):
        write(out, "input", i, argument)
    outputs = call(module, *arguments)
    adjoints = [torch.randn(output.shape) for output in outputs]
    total = sum((output * adjoint).sum() for output, adjoint in zip(outputs, adjoints))
    if total.requires_grad:
        total.backward()
    for i, (output, adjoint) in enumerate(zip(outputs, adjoints)):
        write(out, "output", i, output)
        write(out, "adjoint", i, adjoint)
    for i, argument in enumerate(arguments):
        if argument.is_floating_point():
            write(out, "input_gradient", i, torch.zeros_like(argument) if argument.grad is None else argument.grad)
    for key, parameter in module.named_parameters():
        write(out, "gradient", key, parameter.grad)
    for key, buffer in module.named_buffers():
        write(out, "buffer", key, buffer)


def main():
    torch.manual_seed(int(sys.argv[1]))
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for name, (module, inputs, call) in cases().items():
            write_case(out, name, module, inputs, call)


if __name__ == "__main__":
    main()
