"""Files of the host's own format, converted from ONNX models. Pages of zeros before the weights are most of them."""

CONVERTED = ("tutorial.onnx", "branches.onnx", "values.onnx", "open_rows.onnx", "convolution.onnx", "scan.onnx", "sequences.onnx")


def files(tools, models):
    made = {}
    for name in CONVERTED:
        source, target = tools.folder / name, tools.folder / name.replace(".onnx", ".dpm")
        source.write_bytes(models[name])
        tools.run(tools.deputy, "convert", source, "-o", target)
        made[target.name] = target.read_bytes()
    return made
