"""The mean of two sets of weights: those a run began with, and those it ended with.

    python -m training.blend BEFORE.safetensors .training/runs/long3/final.safetensors    # mean.safetensors beside it

What a run learns late from its own examples costs a little elsewhere; the mean keeps most of the gain and recovers most
of the loss. Half precision in and out; tensors that only one file has (ranges of activations) are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    from safetensors.torch import load_file, save_file

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    before, after = load_file(arguments.before), load_file(arguments.after)
    mean = {name: ((before[name].float() + tensor.float()) / 2).to(tensor.dtype) for name, tensor in after.items()}
    save_file(mean, arguments.after.with_name("mean.safetensors"))


if __name__ == "__main__":
    main()
