"""Bundles as tar archives, which the target packs and seals, one bundle as it is, and the texts in them."""

import gzip
import hashlib
import io
import json
import struct
import tarfile

# Made by minisign 0.11 for tests alone; its secret key is not kept.
SIGNATURE = """untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1633700835\tfile:test\tprehashed
wLMDjy9FLAuxZ3q4NlEvkgtyhrr0gtTu6KC4KBJdITbbOeAi1zBIYo0v4iTgt8jJpIidRJnp94ABQkJAgAooBQ==
"""
KEY = "untrusted comment: minisign public key E7620F1842B4E81F\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n"


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime, info.uname, info.gname = len(content), 0o644, 315532800, "root", "root"
            archive.addfile(info, io.BytesIO(content))
    used = len(out.getvalue().rstrip(b"\0"))
    return out.getvalue()[: (used + 511) // 512 * 512 + 1024]


def checksums(files):
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))


def bundle(files, description, signature=None):
    listed = {"bundle.json": json.dumps(description).encode(), **files}
    head = {"SHA256SUMS": checksums(listed).encode()}
    if signature:
        head["SHA256SUMS.minisig"] = signature.encode()
    return tar({**head, **listed})


def sealed(archive):
    packed = gzip.compress(archive, mtime=0)
    head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff" + struct.pack("<H", 36) + b"DS" + struct.pack("<H", 32)
    return packed + head + hashlib.sha256(packed).digest() + b"\x03" + bytes(9)


def files():
    plugin = {"file": "libnpu.so", "id": "com.example.npu", "version": "1.0", "abi": "0.2", "delegates": ["npu"],
              "cpu_features": ["avx2"], "libraries": ["libc.so.6"], "files": ["npu.bin"]}
    about = {"format": 1, "name": "device", "version": "1.0", "deputy": "0.2.0", "architecture": "x86_64", "plugins": []}
    small = {"config/00-a.yaml": b"version: 1\n", "models/m.dpm": b"DPM1"}
    whole = {**small, "plugins/libnpu.so": b"\x7fELF", "plugins/npu.bin": b"x", "models/m.dpm.placement.yaml": b"version: 1\n"}
    return {
        "small.tar": bundle(small, about),
        "whole.tar": bundle(whole, {**about, "plugins": [plugin]}, SIGNATURE),
        "newer.tar": bundle(small, {**about, "format": 2}),
        "small.dpb": sealed(bundle(small, about)),
        "signature": SIGNATURE.encode(),
        "signature_expires": SIGNATURE.replace("prehashed", "expires:2027-01-31").encode(),
        "key": KEY.encode(),
        "SHA256SUMS": checksums({**whole, "./a b": b""}).encode(),
    }
