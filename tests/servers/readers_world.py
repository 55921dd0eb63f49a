"""What the commands of the docs take and a reader would bring: a model that answers, people who fill in pages, an export of a survey, tables on the web."""

import csv
import json
import re
import threading
import zipfile
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from howsure.people import GameScreen, canonical, digest, read_page, read_pages
from howsure.study.packet.simulated_raters import fill_in
from howsure.study.protocol import Study
from howsure.study.simulator import Crowd, simulate
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import shown, statistic

_EPOCH = {
    "benchmark_metadata.csv": "benchmark,in_eci,source_file,score_column,scale,random_baseline,score_ceiling,release_date,superseded_by\n"
    "GPQA diamond,True,gpqa_diamond.csv,Best score (across scorers),1.0,0.25,1.0,2023-11-20,\n",
    "model_metadata.csv": "model_version,model_group,date,display_name,organization,country,accessibility,training_compute_flop\n"
    "amber,Amber,2026-09-22,,Amber,,API access,\nbasalt,Basalt,2026-01-02,,Basalt,,API access,\n",
    "gpqa_diamond.csv": "Model version,mean_score,Best score (across scorers),Release date,stderr,id\n"
    "amber,0.94,0.95,2026-09-22,0.014,a\nbasalt,0.8,0.8,2026-01-02,0.02,c\n",
}


def obliging(request):
    """Answers every form that the question names, such as ``[voice: 2]``, with 1."""
    asked = "\n".join(request.said_by("system") + request.said_by("user")[-1:])
    return "\n".join(f"[{name}: 1]" for name in dict.fromkeys(re.findall(r"\[(\w+): ", asked))) or "1"


def fill_study(packet, answers):
    """Simulated raters fill in the pages of a packet."""
    study = Study.read(packet.parent / "examples/study/study.yaml")
    fill_in(packet, simulate(study, crowd=Crowd(len(read_pages(packet))), seed=1).ratings, answers)


def fill_pages(where, answers):
    """One person for each page, or three at a page that is for everyone; what they type is as good as their games are long."""
    pages = read_pages(where).values() if where.is_dir() else [read_page(where)]
    answers.mkdir(exist_ok=True)
    for page in pages:
        for rater in [page.page.rater] if page.page.rater else ["ada", "ben", "cleo"]:
            (answers / f"{rater}.json").write_text(_result(page, rater))


def fill_form(form, export):
    """Two people choose the first option of everything."""
    with form.open(encoding="utf-8") as stream:
        asked = [row for row in csv.DictReader(stream) if row["kind"] != "read"]
    rows = [{one["text"]: one["options"].split("\n")[0] or name for one in asked} for name in ("ada", "ben")]
    _write_csv(export, rows)


def fill_survey(mapping, export):
    """Two people answer a survey that was made elsewhere, with as many rows below the header as the mapping skips."""
    titles = [mapping["rater"], mapping["seconds"], mapping["comments"], *mapping["columns"]]
    no_answers = [dict.fromkeys(titles, "")] * mapping["skip_rows"]
    rows = [dict.fromkeys(titles, "1") | {mapping["rater"]: name, mapping["seconds"]: "600"} for name in ("R_1", "R_2")]
    _write_csv(export, [*no_answers, *rows])


@contextmanager
def epochs_tables(folder):
    """The address of a zip with tables like Epoch's, on loopback."""
    with zipfile.ZipFile(folder / "benchmark_data.zip", "w") as archive:
        for name, text in _EPOCH.items():
            archive.writestr(name, text)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/benchmark_data.zip"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """The test looks at what the command did."""


def _result(page, rater):
    settings, n_games, records = page.page.settings, 0, {}
    for screen in page.page.screens:
        seen = {"kind": screen.kind, "ms": 60_000, "visits": 1}
        if screen.kind == "consent":
            seen["agreed"] = True
        elif isinstance(screen, GameScreen):
            said = ["1"] * len(screen.steps) if screen.stop == "end" else _played(settings, n_games, 4 * n_games + 3)
            n_games += screen.stop != "end"
            seen |= {"begun": True, "open_ms": 0, "steps": [{"answer": answer, "ms": 2_000} for answer in said]}
        records[screen.id] = seen
    times = {"started": "2025-01-01T00:00:00.000Z", "finished": "2025-01-01T00:10:00.000Z"}
    who = {"format": "howsure-result/1", "page": page.digest, "rater": rater, "reloads": 0}
    body = who | {"screens": records, **times}
    return json.dumps(body | {"digest": digest(canonical(body))}, ensure_ascii=False)


def _played(settings, game, n_right):
    """So many correct turns of Track the Stat, then a wrong one."""
    state, right = statistic(str(settings["variant"]))(), []
    setting = Setting.of(str(settings["setting"]), int(settings["length"]))
    for step in setting.steps(str(settings["variant"]), int(settings["first_seed"]) + game)[:n_right]:
        state.take(step)
        right.append(shown(state.answer()))
    return [*right, "-1"]


def _write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
