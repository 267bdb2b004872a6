"""Contexts: configurations by files, names, texts and settings; options, progress and the log."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import onnx_bytes, unary

import deputy

X = np.float32([[-1, 2, -3]])
TEXT = "version: 1\nplugins: {paths: [$deputy/plugins]}\ndelegates: [{name: npu0, delegate: sim_npu}]\n"


def test_file_over_that_of_the_machine(tmp_path):
    path = tmp_path / "edge.yaml"
    path.write_text("version: 1\nplugins:\n  paths: [$deputy/plugins]\n"
                    "delegates:\n  - {name: first, delegate: sim_npu}\nfallback: cpu\n")  # fmt: skip
    path.chmod(0o644)
    model = deputy.Model(unary("Relu", (1, 3)), config=path)
    assert [one.name for one in model.context.delegates.delegates] == ["first", "cpu"]
    assert deputy.Context.from_yaml(path).configured_delegates == ["first"]
    assert deputy.Context.from_yaml().configured_delegates == []


def test_text_with_settings():
    context = deputy.Context.from_text(TEXT, settings={"delegates.npu0.options.frequency": "low", "cpu.threads": 1})
    assert context.delegates.threads == 1 and "frequency: low" in context.config()


def test_option_of_an_opened_delegate():
    """In a process of its own: contexts of one process share the device, whose clock follows the highest."""
    source = f"""
import deputy
context = deputy.Context.from_text({TEXT!r}, settings=["delegates.npu0.options.frequency=low"])
print(context.delegates.delegates[0].options["frequency"])
context.set_option("npu0", "frequency", "high")
print(context.delegates.delegates[0].options["frequency"])
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["300MHz", "900MHz"], done.stderr


def test_errors_of_a_text_have_a_place():
    with pytest.raises(deputy.ConfigError) as caught:
        deputy.Context.from_text("version: 1\ndelegats: []\n", name="mine.yaml")
    assert caught.value.code == 17 and "mine.yaml" in str(caught.value) and "delegates" in str(caught.value)


def test_delegates_in_code():
    text = "version: 1\nplugins: {paths: [$deputy/plugins]}\n"
    context = deputy.Context.from_text(text)
    context.set_delegates([{"name": "head", "delegate": "sim_npu", "options": {"frequency": "low"}}])
    context.check()
    context.load()
    assert [one.name for one in context.delegates.delegates] == ["head", "cpu"]
    copy = context.copy()
    copy.set_delegates([])
    assert [one.name for one in copy.delegates.delegates] == ["cpu"] and len(context.delegates.delegates) == 2


def test_settings_belong_to_a_configuration():
    with pytest.raises(TypeError, match="settings"):
        deputy.Model(unary("Relu"), config=deputy.Context("cpu-only"), settings=["cpu.threads=1"])


def test_plugins_are_listed(digits_folder):
    listing = deputy.Context(digits_folder / "digits.yaml").plugins()
    sim_npu = next(one for one in listing.plugins if one.id.endswith("sim_npu"))
    assert sim_npu.accepted and sim_npu.listed
    assert "frequency" in [option.name for option in sim_npu.delegates[0].options]


def test_health_cache_and_quarantine(tmp_path):
    context = deputy.Context("cpu-only", settings={"cache.dir": str(tmp_path)})
    assert not context.health.degraded
    assert context.cache().folder == str(tmp_path) and context.purge_cache() == []
    assert context.quarantine() == [] and context.clear_quarantine() == []


def test_check_config(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("version: 1\nfallbck: cpu\ncpu: {threads: -4}\n")
    path.chmod(0o644)
    check = deputy.check_config(path)
    assert {one.line for one in check.problems if one.error} == {2, 3}


def test_keys_and_schema_and_shipped():
    assert any(key.path == "fallback" for key in deputy.config_keys())
    assert "properties" in deputy.config_schema()
    assert {"default", "cpu-only"} <= set(deputy.shipped_configs())
    assert deputy.version() == deputy.__version__ == deputy.installation().version
    project = Path(__file__).resolve().parents[2] / "host/python/pyproject.toml"
    assert f'version = "{deputy.version()}"' in project.read_text(encoding="utf-8")


def test_progress_is_told():
    told = []
    deputy.Model(onnx_bytes.add_model(), config="cpu-only", progress=told.append)
    assert {"import", "placement"} <= {one.stage for one in told}
    assert all(isinstance(one, deputy.Progress) for one in told)


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_is_shown(with_tqdm):
    source = f"import sys\nif not {with_tqdm}: sys.modules['tqdm'] = None\n"
    source += f"import deputy\ndeputy.Model({onnx_bytes.add_model()!r}, config='cpu-only', progress=True)\n"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Exception" not in done.stderr, done.stderr
    assert ("placement: " in done.stderr) if with_tqdm else ("deputy: placement\n" in done.stderr)


def test_a_progress_that_fails_is_reported(digits_folder):
    def fail(progress):
        raise KeyError("of the test")

    with _Unraisable() as caught:
        deputy.Model(digits_folder / "digits.onnx", config="cpu-only", progress=fail)
    assert caught and isinstance(caught[0], KeyError)


class _Unraisable:
    """The exceptions that callbacks raised."""

    def __enter__(self):
        self.caught = []
        self.previous = sys.unraisablehook
        sys.unraisablehook = lambda info: self.caught.append(info.exc_value)
        return self.caught

    def __exit__(self, *_):
        sys.unraisablehook = self.previous


def test_log_goes_to_a_sink():
    told = []
    deputy.set_log_sink(lambda level, source, message: told.append((level, source, message)))
    try:
        deputy.Model(unary("Relu"), config="cpu-only").run([X])
    finally:
        deputy.set_log_sink(None)
    assert (logging.INFO, "host") in {(level, source) for level, source, _ in told}


def test_log_goes_to_logging(caplog):
    deputy.use_logging()
    try:
        with caplog.at_level(logging.INFO, "deputy"):
            deputy.Model(unary("Relu"), config="cpu-only").run([X])
    finally:
        deputy.set_log_sink(None)
    assert "deputy.host" in {record.name for record in caplog.records}


def test_a_reload_changes_a_live_session(tmp_path):
    edge = tmp_path / "edge.yaml"
    edge.write_text("version: 1\n")
    context = deputy.Context.from_yaml(edge)
    session = deputy.Model(unary("Relu"), config=context).session()
    session.run([X])
    edge.write_text("version: 1\ndelegates: [{name: npu0, delegate: sim_npu}]\n")
    context.reload()
    assert (session.run([X])["y"] == np.maximum(X, 0)).all()
    assert [node.delegate for node in session.placement.nodes] == ["npu0"]
    edge.write_text("version: 1\ndelegate: []\n")
    with pytest.raises(deputy.ConfigError, match="edge.yaml:2:1"):
        context.reload()
    told = context.health.configuration
    assert (told.generation, told.succeeded, told.failed) == (2, 1, 1) and "edge.yaml:2:1" in told.error
    context.reload(deputy.Context.from_text("version: 1\n"))
    assert context.health.configuration.generation == 3


def test_hints(relu):
    session = relu.session()
    session.set_hints(power_level=1, precision="float16", priority=3)
    assert (session.run([X])["y"] == np.maximum(X, 0)).all()


def test_settings_as_json():
    from deputy.context import setting_texts

    assert setting_texts({"a": 1, "b": True, "c": "x", "d": [1, "y"]}) == ["a=1", "b=true", "c=x", 'd=[1, "y"]']
    assert setting_texts("a=1") == ["a=1"] and json.loads(setting_texts({"d": {"e": 1.5}})[0][2:]) == {"e": 1.5}
