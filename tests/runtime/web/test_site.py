"""The static site as files, the server's answers, and the command line."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import FastcamError, ModelError
from fastcam_runtime.network.certificate import self_signed
from fastcam_runtime.web import ort_web as ort_web_module
from fastcam_runtime.web import server as server_module
from fastcam_runtime.web.assets import asset_folder, ort_version
from fastcam_runtime.web.bundle import bundle
from fastcam_runtime.web.ort_web import find_ort_web
from fastcam_runtime.web.server import SiteServer
from fastcam_runtime.web.site import write_site
from support.node import run_node
from support.processes import fastcam
from support.sites import fake_ort
from support.tiny_grafts import save_graft


@pytest.fixture
def site(tmp_path: Path) -> Path:
    model = save_graft(tmp_path / "model.onnx")
    write_site(model, tmp_path / "site", fake_ort(tmp_path / "ort"))
    return tmp_path / "site"


def test_every_file_that_the_site_names_is_there(site: Path) -> None:
    content = json.loads((site / "site.json").read_text())
    for name in (*content["shell"], *content["clip"], content["model"]):
        assert (site / name).is_file(), name
    assert content["file"] == "model.onnx"
    html = (site / "index.html").read_text()
    for name in re.findall(r'(?:src|href)="([^"]+)"', html):
        assert (site / name).is_file(), name
    for icon in json.loads((site / "manifest.webmanifest").read_text())["icons"]:
        assert (site / icon["src"]).is_file()


def test_imports_of_every_script_are_in_the_site(site: Path) -> None:
    for script in site.rglob("*.js"):
        for name in re.findall(r'(?:from|import) "(\.[^"]+)"', script.read_text()):
            assert (script.parent / name).is_file(), f"{script} imports {name}"


def test_compressed_files_hold_the_plain_ones(site: Path) -> None:
    packed = list(site.rglob("*.gz"))
    assert {"index.html.gz", "model.onnx.gz", "ort-wasm-simd-threaded.wasm.gz"} <= {p.name for p in packed}
    for path in packed:
        assert gzip.decompress(path.read_bytes()) == path.with_suffix("").read_bytes()


def test_bundle_gives_each_module_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "sums.js").write_text(
        "/** Sums. */\nexport const one = 1,\n  two = 2;\n\nexport function add(a, b) {\n  return a + b;\n}\n"
    )
    (tmp_path / "page" / "start.js").write_text(
        'import {\n  add, one as first,\n} from "../sums.js";\nimport { two } from "../sums.js";\n\n'
        "// A comment.\nglobalThis.told = [add(first, two), import.meta.url, await 4];\n"
    )
    scripts = bundle(tmp_path, ["page/start.js"])
    assert set(scripts) == {"app.js", "page/start.js"}
    for name, script in scripts.items():
        (tmp_path / name).write_text(script)
        assert "comment" not in script
        assert "Sums" not in script
    (tmp_path / "package.json").write_text('{"type": "module"}')
    body = """
    await import(given.entry);
    await new Promise((done) => setTimeout(done));
    return globalThis.told;
    """
    entry = (tmp_path / "page" / "start.js").as_uri()
    assert run_node(body, entry=entry) == [3, entry, 4]


@pytest.mark.slow
def test_scripts_without_comments_are_the_same_programs(site: Path) -> None:
    scripts = sorted(site.rglob("*.js"))
    assert not any("/**" in script.read_text() for script in scripts)
    body = """
    const { spawnSync } = await import("node:child_process");
    return given.files.map((file) => spawnSync(process.execPath, ["--check", "--input-type=module", "-"],
      { input: readFileSync(file) }).stderr.toString());
    """
    assert run_node(body, files=[str(script) for script in scripts]) == [""] * len(scripts)


def test_page_is_small_and_asks_nobody_else(site: Path) -> None:
    own = [path for path in site.rglob("*") if path.is_file() and "ort" not in path.parts[-2:-1]]
    page = [path for path in own if path.suffix in (".html", ".css", ".js", ".svg", ".png", ".webmanifest")]
    # The scripts of onnxruntime-web have 25.3 kB more; together they stay below 60 kB.
    assert sum(len(gzip.compress(path.read_bytes())) for path in page) < 34_700
    for path in page:
        if path.suffix in (".html", ".css", ".js", ".webmanifest"):
            addresses = re.findall(r"https?://[^\s\"')]+", path.read_text())
            assert all(address.startswith("http://www.w3.org/") for address in addresses), path


def test_policy_allows_no_inline_script() -> None:
    html = (asset_folder() / "index.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert "unsafe-inline" not in policy[1]
    assert "'unsafe-eval'" not in policy[1]
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=", html)


def test_the_same_model_gives_the_same_version_and_another_a_new_one(site: Path, tmp_path: Path) -> None:
    first = json.loads((site / "site.json").read_text())["version"]
    write_site(tmp_path / "model.onnx", site, tmp_path / "ort")
    assert json.loads((site / "site.json").read_text())["version"] == first
    write_site(save_graft(tmp_path / "model.onnx", labels=("a", "b", "c")), site, tmp_path / "ort")
    assert json.loads((site / "site.json").read_text())["version"] != first
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_foreign_folder_and_file_are_left_alone(tmp_path: Path) -> None:
    model, ort = save_graft(tmp_path / "model.onnx"), fake_ort(tmp_path / "ort")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years")
    with pytest.raises(FastcamError, match="thesis holds other files"):
        write_site(model, tmp_path / "thesis", ort)
    with pytest.raises(FastcamError, match="is a file, not a folder"):
        write_site(model, model, ort)
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "years"


def test_failed_writing_keeps_the_site_that_was_there(site: Path, tmp_path: Path) -> None:
    before = (site / "site.json").read_bytes()
    (tmp_path / "ort" / "ort.wasm.min.mjs").unlink()
    with pytest.raises(FastcamError, match="cannot be written"):
        write_site(tmp_path / "model.onnx", site, tmp_path / "ort")
    assert (site / "site.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_models_that_no_page_can_run(tmp_path: Path) -> None:
    ort = fake_ort(tmp_path / "ort")
    with pytest.raises(ModelError, match="has no saliency maps yet"):
        write_site(save_graft(tmp_path / "plain.onnx", graft=False), tmp_path / "site", ort)
    (tmp_path / "model.ort").write_bytes(b"")
    with pytest.raises(ModelError, match=r"not from \.ort"):
        write_site(tmp_path / "model.ort", tmp_path / "site", ort)
    assert not (tmp_path / "site").exists()


def test_runtime_is_found_in_node_modules_and_another_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "node_modules" / "onnxruntime-web"
    package.mkdir(parents=True)
    fake_ort(package / "dist")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    (package / "package.json").write_text(json.dumps({"name": "onnxruntime-web", "version": ort_version()}))
    assert find_ort_web() == package / "dist"
    (package / "package.json").write_text('{"name": "onnxruntime-web", "version": "1.2.3"}')
    with pytest.raises(FastcamError, match=r"is onnxruntime-web 1\.2\.3, the page needs"):
        find_ort_web(package)


def test_without_npm_one_line_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ort_web_module.shutil, "which", lambda name: None)
    with pytest.raises(FastcamError, match=r"no npm to fetch it; get it with: npm pack onnxruntime-web@"):
        find_ort_web()


def read(url: str, **headers: str) -> tuple[dict[str, str], bytes]:
    context = ssl._create_unverified_context() if url.startswith("https") else None
    with urllib.request.urlopen(
        urllib.request.Request(url, headers=headers), timeout=30, context=context
    ) as answer:
        return dict(answer.headers), answer.read()


def test_server_sends_types_headers_and_compressed_files(site: Path) -> None:
    server = SiteServer(site)
    try:
        url = f"http://127.0.0.1:{server.port}/"
        headers, body = read(url)
        assert headers["Content-Type"] == "text/html"
        assert body == (site / "index.html").read_bytes()
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        headers, body = read(f"{url}ort/ort-wasm-simd-threaded.wasm", **{"Accept-Encoding": "gzip"})
        assert (headers["Content-Type"], headers["Content-Encoding"]) == ("application/wasm", "gzip")
        assert gzip.decompress(body) == (site / "ort/ort-wasm-simd-threaded.wasm").read_bytes()
        headers, _ = read(f"{url}model.onnx.gz", **{"Accept-Encoding": "gzip"})
        assert headers["Content-Type"] == "application/gzip"
        assert "Content-Encoding" not in headers
        assert read(f"{url}page/page.js")[0]["Content-Type"] == "text/javascript"
        for name in ("../model.onnx", "%2e%2e/model.onnx", "page/", "nothing", "%00"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                read(f"{url}{name}")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}report", data=b"{}", timeout=30)
    finally:
        server.close()


def test_https_with_a_certificate_of_its_own(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if subprocess.run(["sh", "-c", "command -v openssl"], capture_output=True).returncode != 0:
        pytest.skip("no openssl to make a certificate with")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    certificate = self_signed(("127.0.0.1",))
    assert self_signed(("127.0.0.1",)) == certificate
    assert os.stat(certificate.key).st_mode & 0o077 == 0
    server = SiteServer(site, certificate=certificate)
    try:
        assert read(f"https://127.0.0.1:{server.port}/site.json")[0]["Content-Type"] == "application/json"
    finally:
        server.close()


def test_command_writes_the_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, ort = save_graft(tmp_path / "model.onnx"), fake_ort(tmp_path / "ort", webgpu=True)
    assert main(["web", str(model), str(tmp_path / "site"), "--ort", str(ort)]) == 0
    assert json.loads((tmp_path / "site" / "site.json").read_text())["webgpu"] is True
    assert main(["web", str(model), str(tmp_path / "site"), "--ort", str(ort), "--no-webgpu"]) == 0
    assert not (tmp_path / "site" / "ort" / "ort.webgpu.min.mjs").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a folder for the site, or --serve"),
        (["--serve", "--address", "8000"], "--address 8000: not HOST:PORT"),
        (["site", "--cert", "x.crt"], "--cert and --key belong together"),
        (["site", "--ort", "nowhere"], "nowhere is not onnxruntime-web"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model, ort = save_graft(tmp_path / "model.onnx"), fake_ort(tmp_path / "ort")
    given = arguments if "--ort" in arguments else [*arguments, "--ort", str(ort)]
    assert main(["web", str(model), *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_temporary_site(number: signal.Signals, tmp_path: Path) -> None:
    model, ort = save_graft(tmp_path / "model.onnx"), fake_ort(tmp_path / "ort")
    (tmp_path / "temporary").mkdir()
    words = ("web", model, "--serve", "--ort", ort, "--address", "127.0.0.1:0")
    with fastcam(*words, environment={"TMPDIR": str(tmp_path / "temporary")}) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert list((tmp_path / "temporary").iterdir())
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert list((tmp_path / "temporary").iterdir()) == []


def test_silent_clients_do_not_take_all_threads(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_CONNECTIONS_OF_ONE", 3)
    server = SiteServer(site)
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(6)]
    # Those beyond the limit are closed at once; the others are still waited for.
    assert [connection.recv(1) for connection in silent[3:]] == [b""] * 3
    for connection in silent:
        connection.close()
    for _ in range(100):
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{server.port}/") as answer:
            break
        time.sleep(0.05)
    assert answer.status == 200
    server.close()
