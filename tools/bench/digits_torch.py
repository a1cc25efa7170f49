"""tests/nn/train_digits.cpp in PyTorch: `python digits_torch.py images.npy labels.npy SEED`."""

import sys

import numpy as np
import torch
from torch import nn

images, labels = (torch.from_numpy(np.load(path)) for path in sys.argv[1:3])
torch.manual_seed(int(sys.argv[3]))
model = nn.Sequential(nn.Linear(images.shape[1], 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
loss = nn.CrossEntropyLoss()
training = len(images) - len(images) // 5
for epoch in range(1, 201):
    for batch in torch.randperm(training).split(32):
        optimizer.zero_grad()
        loss(model(images[batch]), labels[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(images[training:]).argmax(1) == labels[training:]).float().mean().item()
    if accuracy >= 0.97:
        print(epoch, "epochs, accuracy", accuracy)
        sys.exit(0)
sys.exit(1)
