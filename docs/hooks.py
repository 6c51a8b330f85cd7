"""For mkdocs: pages that live outside docs/ are part of the site too, and the site needs nothing from elsewhere."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doctests import fenced  # docs/doctests.py: mkdocs puts the folder of a hook on the path
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from operations import filled

from millrace.dataset import config

ROOT = Path(__file__).parents[1]
SETTINGS = "<!-- every setting -->"  # in docs/reference/config.md
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/RESULTS.md", "benchmarks/DETAILS.md")

LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?\)")
FROM_ELSEWHERE = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href|srcset)=\"?https?://[^>]*>"
)


def on_files(files: Files, *, config: Any) -> Files:
    plots = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("benchmarks/plots/*.svg"))]
    for name in (*OUTSIDE, *plots):
        if (ROOT / name).exists():
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Links are written as they lead in the repository; here they are turned to where they lead in the site."""
    here = page.file.src_uri
    in_repository = here if here in OUTSIDE else posixpath.join("docs", here)

    def turned(link: re.Match[str]) -> str:
        target, anchor = link["target"], link["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), target))
        if here not in OUTSIDE and path.startswith("docs/"):
            return link[0]
        in_site = path.removeprefix("docs/")
        if files.get_file_from_path(in_site) is None:
            # a file of the repository that is no page: its name, without a link
            return link["text"].lstrip("!")[1:-1]
        return f"{link['text']}({posixpath.relpath(in_site, posixpath.dirname(here) or '.')}{anchor})"

    lines, fence = [], None
    for line in markdown.split("\n"):
        ticks = re.match(r" *(`{3,})", line)
        if ticks and fence is None:
            fence = ticks[1]
        elif ticks and line.strip() == fence:
            fence = None
        lines.append(line if fence or ticks else LINK.sub(turned, line))
    whole = "\n".join(lines)
    whole = filled(whole, fenced)
    return whole.replace(SETTINGS, _every_setting()) if SETTINGS in whole else whole


def on_post_build(*, config: Any) -> None:
    """The site works offline: a script, style or picture from another host is an error."""
    for page in sorted(Path(config["site_dir"]).rglob("*.html")):
        found = FROM_ELSEWHERE.search(page.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{page.name} loads something from another host: {found[0]}")


def _every_setting() -> str:
    """The pairs of config are made from a table while it is imported: reading the source does not find them."""
    pairs: dict[str, list[str]] = {}
    for name in sorted(config.__all__, reverse=True):  # set_ before get_
        pairs.setdefault(re.sub("^(set|get)_", "", name), []).append(name)
    parts = []
    for key in sorted(pairs, key=str.lower):
        functions = [getattr(config, name) for name in pairs[key]]
        calls = "\n".join(f"{f.__name__}{_plain(f)}" for f in functions if not inspect.isclass(f))
        text = fenced(inspect.getdoc(functions[0]) or "")
        code = f"```python\n{calls}\n```\n\n" if calls else ""
        parts.append(f"### {key}\n\n{code}{text}")
    return "\n\n".join(parts)


def _plain(function: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return signature.replace(parameters=plain, return_annotation=signature.empty)
