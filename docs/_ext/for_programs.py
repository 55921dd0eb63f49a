"""What programs read, written when the pages are built: llms.txt, every page as Markdown, and the schemas of the results."""

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this when it loads the extension."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_for_programs(site: Path) -> list[Path]:
    """Copy the Markdown of all pages and the schemas into the site, and write llms.txt; gives the files."""
    written = []
    for source in [*pages(), *sorted((DOCS / "schemas").glob("*.json"))]:
        target = site / source.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        written.append(Path(shutil.copyfile(source, target)))
    (site / "llms.txt").write_text(llms_text(), encoding="utf-8")
    return [*written, site / "llms.txt"]


def pages() -> list[Path]:
    """The pages of the documentation, the first one first."""
    return sorted(DOCS.rglob("*.md"), key=lambda path: (path.stem != "index", path.parent != DOCS, path.name))


def llms_text() -> str:
    """What there is, for a program that reads: pages with their first sentence, verbs, schemas."""
    from howsure.cli.app import PANELS

    front = (DOCS / "index.md").read_text("utf-8")
    lines = [f"# {_title(front)}", "", f"> {_lead(front)}", "", "## Pages", ""]
    for page in pages():
        text = page.read_text("utf-8")
        lines.append(f"- [{_title(text)}]({page.relative_to(DOCS).as_posix()}): {_lead(text)}")
    lines += ["", "## Commands", ""]
    lines += [f"- `howsure {verb}`: {line}" for verbs in PANELS.values() for verb, (_, line) in verbs.items()]
    lines += ["", "## JSON schemas of results (what `--json` prints and `as_dict()` gives)", ""]
    lines += [f"- [{path.stem}](schemas/{path.name})" for path in sorted((DOCS / "schemas").glob("*.json"))]
    return "\n".join(lines) + "\n"


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found.group(1) if found else "Page"


def _lead(text: str) -> str:
    """The first paragraph after the title, without marks and links."""
    body = text.partition("\n# ")[2] if not text.startswith("# ") else text
    paragraphs = [part.strip() for part in body.split("\n\n")[1:]]
    first = next((part for part in paragraphs if part and part[0] not in "#`|:$-"), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(first.split())).replace("**", "")
    return plain if len(plain) <= 240 else plain[:239].rsplit(" ", 1)[0] + " …"


def _finish(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.name == "html":
        write_for_programs(Path(app.outdir))
