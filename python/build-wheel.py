#!/usr/bin/env python3
"""Packs the package, libtessera.so and the CUDA that computes nothing into a wheel.

    build-wheel.py [--build BUILD_FOLDER] [-o FOLDER]

No compiler: the libraries are those of BUILD_FOLDER (../build). auditwheel, where it is
installed, says for which Linux systems the wheel is good; else it is tagged for this kind
only. pip uses the same code (`pip install ./python`), and finds the build folder by
TESSERA_BUILD_ROOT or beside the sources.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same input gives the same wheel

Files = List[Tuple[str, bytes]]


def read_project() -> Dict[str, Any]:
    try:
        import tomllib
    except ImportError:  # before Python 3.11
        from pip._vendor import tomli as tomllib  # type: ignore[no-redef]
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    project: Dict[str, Any] = tomllib.loads(text)["project"]
    return project


def libraries(build: Path) -> Iterator[Tuple[str, Path]]:
    """What the build folder gives, and where in the package it goes."""
    yield "tessera/libtessera.so", build / "runtime" / "libtessera.so"
    yield "tessera/nullcuda/libnullcuda.so", build / "nullcuda" / "libnullcuda.so"


def collect(build: Path) -> Files:
    package = HERE / "tessera"
    files = [
        (path.relative_to(HERE).as_posix(), path.read_bytes())
        for path in sorted(package.rglob("*"))
        if path.name == "py.typed" or path.suffix == ".py"
    ]
    for name, path in libraries(build):
        if not path.exists():
            raise SystemExit(f"build-wheel: {path} is not there: build the project first")
        files.append((name, path.read_bytes()))
    return files


def metadata(project: Dict[str, Any]) -> bytes:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in project["dependencies"]),
        "Description-Content-Type: text/markdown",
        "",
        (HERE / project["readme"]).read_text(encoding="utf-8"),
    ]
    return "\n".join(lines).encode()


def write(project: Dict[str, Any], files: Files, tag: str, folder: Path) -> Path:
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: build-wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    everything = files + [
        (f"{info}/METADATA", metadata(project)),
        (f"{info}/WHEEL", wheel.encode()),
        (f"{info}/licenses/LICENSE", (HERE.parent / "LICENSE").read_bytes()),
    ]
    record = []
    path = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in everything:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}\n")
            add(archive, name, content)
        add(archive, f"{info}/RECORD", "".join(record + [f"{info}/RECORD,,\n"]).encode())
    return path


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def certified_platform(wheel: Path) -> Optional[str]:
    """The oldest system that auditwheel certifies the wheel for."""
    try:
        shown = subprocess.run(
            [sys.executable, "-m", "auditwheel", "show", str(wheel)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'platform\s+tag:\s+"(manylinux\w+)"', shown)
    return found.group(1) if found else None


def build(build_folder: Path, folder: Path) -> Path:
    project = read_project()
    files = collect(build_folder)
    plain = f"linux_{platform.machine()}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as draft:
        certified = certified_platform(write(project, files, f"py3-none-{plain}", Path(draft)))
    if certified is None:
        print(
            f"build-wheel: auditwheel certifies nothing (is it installed?): tagged {plain}, for "
            "systems like this one only",
            file=sys.stderr,
        )
    return write(project, files, f"py3-none-{certified or plain}", folder)


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None
) -> str:
    """What pip calls."""
    root = os.environ.get("TESSERA_BUILD_ROOT", str(HERE.parent / "build"))
    return build(Path(root), Path(wheel_directory)).name


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build", help="build folder")
    parser.add_argument("-o", dest="folder", type=Path, default=Path("dist"), help="where to")
    options = parser.parse_args()
    print(build(options.build, options.folder))


if __name__ == "__main__":
    main()
