"""Reports: the dataclasses have the fields that the library reports, no more and no fewer."""

import dataclasses
import re
from pathlib import Path

import pytest
from conftest import onnx_bytes, unary

import deputy
from deputy import reports

FIELDS = Path(__file__).resolve().parents[2] / "host/include/deputy/fields"
# Given to the library, not reported by it, or reported as plain objects.
OPTIONS = {"DeviceInfo", "DelegatesInCode", "PluginQuery", "CacheFilter", "ToleranceSettings", "VerifyOptions",
           "BuildOptions", "ModelProperties", "ShippedConfig", "ConfigCheckRequest", "ConfigText", "ConfigTexts",
           "InspectRequest", "ToleranceRequest"}  # fmt: skip
# Of functions that the Python package does not have.
ABSENT = {"BundleContents", "BundleFile", "BundleInfo", "BundleInstallation", "BundlePlugin", "BundleProblem",
          "BundleVerification", "InstalledBundle", "Comparison", "Tolerance", "ConfigValue"}  # fmt: skip
PLAIN = {"PlacedValue", "PlacedNode", "PlacedRegion", "PlacedGraph"}


def described():
    """{class of C++: names of its fields}, as the lists of the fields have them."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(FIELDS.glob("*.hpp")))
    found = re.findall(r"void Describe\(V& v, (\w+)& \w+\) \{\n(.*?)\n\}", text, re.S)
    return {kind: re.findall(r'v\("(\w+)"', body) for kind, body in found}


def test_list_is_read():
    assert len(described()) > 30 and described()["RefusalReport"] == ["delegate", "reason", "detail"]


@pytest.mark.parametrize("kind", sorted(set(described()) - OPTIONS - PLAIN - ABSENT))
def test_fields_are_those_of_the_library(kind):
    name = reports.CXX_NAMES.get(kind, kind)
    assert [one.name for one in dataclasses.fields(getattr(reports, name))] == described()[kind]


def test_no_class_without_a_report():
    classes = {name for name, value in vars(reports).items() if dataclasses.is_dataclass(value)}
    assert classes == {reports.CXX_NAMES.get(kind, kind) for kind in set(described()) - OPTIONS - PLAIN - ABSENT}


def keys_match(kind, fields):
    """Down to the leaves: what the library reports has the dataclass' fields."""
    assert list(fields) == [one.name for one in dataclasses.fields(kind)]
    for name, value in fields.items():
        hint = reports._hints(kind)[name]
        inner = (getattr(hint, "__args__", None) or (hint,))[0]
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and dataclasses.is_dataclass(inner):
                keys_match(inner, one)


def test_reports_as_they_come(digits_folder, digits, pictures):
    context = deputy.Context(digits_folder / "digits.yaml")
    model = deputy.Model(digits_folder / "digits.onnx", config=context)
    session = model.session()
    session.enable_events()
    session.run([pictures])
    keys_match(reports.PlacementReport, session._native.placement(True))
    keys_match(reports.RunStatistics, session._native.statistics())
    for event in session._native.events():
        keys_match(reports.RunEvent, event)
    keys_match(reports.ModelTraits, session._native.traits())
    keys_match(reports.DelegateListing, context._native.delegates())
    keys_match(reports.PluginListing, context._native.plugins('{"probe_all": true}'))
    keys_match(reports.HealthReport, model._native.health())
    keys_match(reports.InstallationReport, deputy._native.installation())
    keys_match(reports.ModelContents, deputy._native.inspect_model(str(digits_folder / "digits.onnx"), "{}"))
    for one in model._native.verify([pictures], "{}"):
        keys_match(reports.PartitionVerification, one)
    for one in deputy._native.config_keys():
        keys_match(reports.ConfigKey, one)
    for one in model._native.inputs():
        keys_match(reports.ValueInfo, one)


def test_values_are_typed(digits_folder, pictures):
    model = deputy.Model(digits_folder / "digits.onnx", config=digits_folder / "digits.yaml")
    session = model.session()
    session.enable_events()
    session.enable_profiling()
    session.run([pictures])
    assert [one.name for one in session.placement.delegates] == ["npu0", "onednn", "cpu"]
    assert session.statistics.delegate_nodes.items() >= {"npu0": 6, "onednn": 1, "cpu": 1}.items()
    assert session.delegate_shares.nodes == [] and len(session.placement.nodes) == 8
    refusals = {one.op_type: one.refusals for one in session.placement.nodes}["Gemm"]
    assert refusals[0].delegate == "npu0" and refusals[0].reason
    assert any(event.is_step and event.end_ns >= event.begin_ns > 0 for event in session.events)
    assert session.traits.nodes == 8
    verified = model.verify({"image": pictures}, rtol=1e-2)
    assert {one.delegate for one in verified} == {"npu0", "onednn"}
    assert not model.health.degraded


def test_newer_library_and_older(digits):
    made = reports.from_fields(reports.RefusalReport, {"delegate": "a", "added_later": 1})
    assert made == reports.RefusalReport("a", "", "")


def test_placed_graph(digits):
    graph = digits.placed_graph({"image": [1, 1, 28, 28]})
    assert [one["path"] for one in graph["regions"]] == [""]
    constants = [value["constant"] for node in graph["nodes"] for value in node["inputs"]]
    weights = [one for one in constants if one is not None]
    assert weights and all(array.size for array in weights)


def test_placement_draws_itself(digits_folder):
    model = deputy.Model(digits_folder / "digits.onnx", config=digits_folder / "digits.yaml")
    placement = model.placement_for([[1, 1, 28, 28]])
    text, page = str(placement), placement._repr_html_()
    assert "npu0    6 nodes in 1 partitions, 99." in text
    for node in placement.nodes:
        assert node.name in page
    reason = next(one for node in placement.nodes for one in node.refusals)
    assert reason.reason in page and "<svg" in page and "<script" not in page and "http" not in page


def test_placement_of_a_dynamic_model(digits_folder, pictures):
    model = deputy.Model(digits_folder / "digits.onnx", config="cpu-only")
    assert model.placement.multiply_adds == 322560
    model.run([pictures])
    assert model.placement.multiply_adds == 20 * 322560
    with pytest.raises(deputy.InvalidArgument, match="dynamic"):
        deputy.Model(unary("Relu", ("n", "m")), config="cpu-only").placement


def test_drawing_escapes_names():
    nodes = [onnx_bytes.node("Relu", ["x"], ["y"], "<b>&'")]
    text = onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [2])], [onnx_bytes.value_info("y", [2])])
    page = deputy.Model(text, config="cpu-only").placement._repr_html_()
    assert "&lt;b&gt;&amp;" in page and "<b>&'" not in page


def test_inspect(digits_folder):
    contents = deputy.inspect(digits_folder / "digits.onnx", {"image": [4, 1, 28, 28]})
    assert contents.format == "ONNX" and contents.multiply_adds == 4 * 322560
    dims = ["batch", "1", "28", "28"]
    assert contents.inputs[0] == reports.ValueInfo("image", "float32", True, [-1, 1, 28, 28], dims)
    assert all(node.on_cpu for node in contents.nodes)


def test_measured_placement(digits_folder, pictures):
    context = deputy.Context("cpu-only", settings={"placement.policy": "measured"})
    model = deputy.Model(digits_folder / "digits.onnx", config=context)
    told = []
    report = model.session().measure_placement([pictures], budget=5, progress=lambda name, used: told.append(used))
    assert report.best_ns > 0 and report.candidates >= len(told) and told and 0 <= told[-1] <= 1
