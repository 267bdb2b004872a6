"""The wheel that packaging/wheel.sh made, if it did: its contents, and its first answer in a new environment."""

import base64
import csv
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALLATION = "deputy/installation"
PLUGINS = f"{INSTALLATION}/lib/deputy/plugins"


def the_wheel():
    """Of this interpreter, and with the files of the package as they are now."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for path in (ROOT / "build/wheels").glob(f"deputy-*-{version}-*.whl"):
        with zipfile.ZipFile(path) as archive:
            same = all(
                archive.read(f"deputy/{file.name}") == file.read_bytes()
                for file in (ROOT / "host/python/deputy").glob("*.py")
                if f"deputy/{file.name}" in archive.namelist()
            )
            if same:
                return path
    return None


WHEEL = the_wheel()
pytestmark = pytest.mark.skipif(WHEEL is None, reason="packaging/wheel.sh has not made the wheel of these sources")


@pytest.fixture(scope="module")
def archive():
    with zipfile.ZipFile(WHEEL) as opened:
        yield opened


def test_name_says_where_it_runs():
    assert "manylinux_2_" in WHEEL.name and WHEEL.name.endswith("_x86_64.whl")


def test_contents(archive):
    names = set(archive.namelist())
    for file in ("lib/libdeputy.so.0", "lib/deputy/deputy-worker", "lib/deputy/importers/libdeputy_import_onnx.so",
                 "lib/deputy/importers/libdeputy_import_tflite.so", "lib/deputy/plugins/onednn.so",
                 "lib/deputy/plugins/sim_npu.so", "bin/deputy", "share/deputy/configs/default.yaml",
                 "share/deputy/digits/digits.onnx"):  # fmt: skip
        assert f"{INSTALLATION}/{file}" in names
    assert {"deputy/py.typed", "deputy/_native.pyi", "deputy/onnxruntime/__init__.py"} <= names
    for name in (f"{INSTALLATION}/bin/deputy", f"{INSTALLATION}/lib/deputy/deputy-worker"):
        assert archive.getinfo(name).external_attr >> 16 & 0o111


def test_lock_is_that_of_the_files(archive):
    lines = archive.read(f"{PLUGINS}/SHA256SUMS").decode().splitlines()
    locked = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {name.rsplit("/", 1)[1] for name in archive.namelist() if name.startswith(PLUGINS + "/")}
    assert set(locked) == files - {"SHA256SUMS"} and {"onednn.so", "sim_npu.so"} <= set(locked)
    for name, digest in locked.items():
        assert hashlib.sha256(archive.read(f"{PLUGINS}/{name}")).hexdigest() == digest


def test_record_is_that_of_the_files(archive):
    path = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1] for row in csv.reader(archive.read(path).decode().splitlines())}
    assert set(rows) == set(archive.namelist())
    for name, digest in rows.items():
        if name != path:
            made = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).decode().rstrip("=")
            assert digest == f"sha256={made}", name


def test_licenses_of_the_libraries(archive):
    names = archive.namelist()
    licenses = {name.rsplit("/", 1)[1] for name in names if name.startswith("deputy/licenses/")}
    assert {"deputy.txt", "libdnnl2.txt", "libprotobuf-lite32.txt", "libarchive13.txt"} <= licenses


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A new environment with the wheel, and with NumPy of this one."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    with zipfile.ZipFile(WHEEL) as opened:
        site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        for entry in opened.infolist():
            path = Path(opened.extract(entry, site))
            path.chmod(entry.external_attr >> 16 & 0o755)
    import numpy

    (site / "numpy.pth").write_text(str(Path(numpy.__file__).parents[1]))
    return folder


def run(environment, *command, **more):
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(environment), "DEPUTY_SYSTEM_CONFIG": ""}
    done = subprocess.run([environment / "bin/python", *command], capture_output=True, text=True, timeout=120,
                          cwd=environment, env=variables, **more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_first_answer(environment):
    printed = run(environment, "-m", "deputy.digits")
    assert "20 of 20 right" in printed and "onednn  1 nodes" in printed and "npu0    6 nodes" in printed
    assert "warning" not in printed


def test_library_is_that_of_the_wheel(environment):
    printed = run(environment, "-c", "import deputy; print(deputy.installation().folder)")
    site = next((environment / "lib").glob("python3*")) / "site-packages"
    assert printed.strip() == str(site / INSTALLATION / "lib/deputy")


def test_command(environment):
    assert "20 of 20 right" in run(environment, "-m", "_deputy_command", "digits")
    assert run(environment, "-m", "_deputy_command", "--version").startswith("deputy 0.")
