"""The names that people use for columns, and the words that they write in them."""

from __future__ import annotations

from howsure.tables import Attempts, Ratings, Scores, Table, Votes

__all__ = [
    "ABOUT_MODELS",
    "ABROAD",
    "ALIASES",
    "ASKED",
    "BENCHMARK",
    "COUNTED",
    "ELO",
    "ENDED",
    "FAILURES",
    "FILLERS",
    "INDEX",
    "ITEM",
    "MISSING",
    "MODEL",
    "NO_NAME",
    "PREDICTIONS",
    "RATERS",
    "REFERENCES",
    "REPEATS",
    "SCORE",
    "SUCCESSES",
    "SUMMARIES",
    "WEAK",
    "WORDS",
]

MODEL = (
    "model",
    "model_name",
    "model_id",
    "llm",
    "llm_name",
    "agent",
    "agent_name",
    "system",
    "ai",
    "models",
    "alias",
)
ITEM = (
    *("item", "item_id", "sample_id", "question_id", "task_id", "problem_id", "instance_id", "example_id", "case_id"),
    *("test_id", "doc_id", "prompt_id", "qid", "sample", "problem", "instance", "example", "test_case", "case"),
)
BENCHMARK = (
    *("benchmark", "bench", "benchmark_name", "benchmark_id", "eval", "eval_name", "eval_id", "evaluation", "dataset"),
    *("dataset_name", "dataset_id", "suite", "test_set"),
)
SCORE = (
    *("score", "correct", "is_correct", "correctness", "passed", "pass", "accuracy", "acc", "success", "successful"),
    *("solved", "resolved", "result", "outcome", "grade", "mark", "exact_match", "em", "f1", "reward", "value"),
    *("pass_fail", "right_wrong", "verdict", "judgement", "judgment", "judge_score", "llm_judge_score"),
    *("pass_rate", "success_rate", "score_percent", "accuracy_percent", "percent_correct", "score_pct", "acc_pct"),
)
ELO = ("elo", "elo_rating", "elo_score", "arena_elo", "arena_score")
SUCCESSES = ("n_successes", "n_correct", "num_correct", "successes", "n_passed", "correct_count")
FAILURES = (
    *("failed", "fail", "fails", "failures", "incorrect", "wrong", "unsolved", "unresolved"),
    *("n_failed", "n_failures", "n_incorrect", "n_wrong", "num_incorrect", "num_failed", "incorrect_count"),
)
"""Beside a number of successes, the number of the others."""
REPEATS = ("epoch", "run", "seed", "trial", "repeat", "repetition", "iteration", "rep")
RATERS = ("annotator", "rater_id", "annotator_id", "worker", "worker_id", "coder")
ALIASES: dict[type[Table], dict[str, tuple[str, ...]]] = {
    Attempts: {
        "subject": (*MODEL, "participant", "learner", "person"),
        "task": ITEM,
        "attempt": (*REPEATS, "attempt_number"),
        "score": SCORE,
        "n": ("n_attempts", "n_trials", "n_runs", "n_samples", "num_samples", "trials", "total", "count", "n_total"),
        "n_success": SUCCESSES,
        "family": ("task_family", "category", "topic"),
        "domain": BENCHMARK,
        "minutes": ("human_minutes", "expert_minutes"),
        "seconds": ("duration", "duration_s", "runtime", "elapsed", "latency", "time_s", "total_time"),
        "date": ("timestamp", "created", "created_at", "release_date"),
        "tokens": ("total_tokens", "n_tokens"),
        "cost": ("cost_usd", "usd", "price"),
        "error": ("error_message", "exception"),
        "log": ("log_file",),
    },
    Scores: {
        "model": MODEL[1:],
        "benchmark": (*BENCHMARK[1:], "task", "task_name"),
        "score": SCORE,
        "se": ("stderr", "std_err", "standard_error", "sem", "score_se", "score_stderr"),
        "n_items": ("n", "n_samples", "num_samples", "n_questions", "num_items", "size"),
        "date": ("release_date", "released", "model_date"),
        "organisation": ("organization", "org", "developer", "provider", "lab", "creator", "company"),
        "family": ("model_family",),
        "compute": ("training_compute", "training_compute_flop", "flop"),
    },
    Ratings: {
        "rater": (*RATERS, "judge", "participant"),
        "item": (*ITEM[1:], "id"),
        "dimension": ("criterion", "aspect", "attribute", "scale", "question"),
        "value": ("rating", "score", "label"),
        "system": ("model",),
    },
    Votes: {
        "voter": ("judge", "user", "rater", *RATERS),
        "item": (*ITEM[1:], "id", "question"),
        "a": ("model_a",),
        "b": ("model_b",),
        "outcome": ("winner", "vote", "preference"),
    },
}
WEAK = {
    "subject": ("name", "subject_id"),
    "model": ("name",),
    "task": ("id", "question", "index", "idx", "name", "metric"),
}
"""Names that are taken where no clearer one is there."""
ASKED = ("prompt", "input", "query", "instruction")
"""What an item asks: its name where it has no other, and a score beside it."""
FILLERS = frozenset({"which", "the", "a", "of", "used", "tested", "evaluated", "name", "id", "number", "no", "nr"})
SUMMARIES = frozenset({"avg", "average", "mean", "overall", "overall_score", "total", "rank", "ranking", "position"})
ABOUT_MODELS = frozenset({"params", "parameters", "params_b", "size", "size_b", "context", "context_length", "year"})
NO_NAME = frozenset({"", "unnamed_0", "level_0", "index_level_0"})
"""What pandas calls its row numbers, or what it leaves above them."""
INDEX = NO_NAME | {"index", "column_1"}
ABROAD = {
    word: ours
    for ours, words in {
        "model": "modell modelle modellname sprachmodell modele modelo modello 模型",
        "task": "aufgabe aufgaben tache tarea compito 任务",
        "item": "frage fragen pregunta domanda 题目",
        "benchmark": "datensatz jeu_de_donnees conjunto_de_datos 基准",
        "score": "punkte punktzahl wertung ergebnis note resultat resultado puntuacion puntaje punteggio 得分 分数",
        "correct": "richtig korrekt geloest bestanden reussi juste correcto acierto corretto 正确",
        "accuracy": "genauigkeit trefferquote exactitude precision_pct exactitud precisione 准确率",
        "attempt": "versuch durchlauf wiederholung essai intento tentativo",
        "n": "anzahl nombre cantidad numero",
        "n_correct": "anzahl_richtig n_richtig",
        "average": "durchschnitt mittelwert mittel moyenne promedio media",
        "total": "gesamt summe somme suma totale",
    }.items()
    for word in words.split()
}
"""Headers in German, French, Spanish, Italian and Chinese, without accents."""

PREDICTIONS = (
    *(
        "prediction",
        "predictions",
        "predicted",
        "pred",
        "y_pred",
        "predicted_label",
        "predicted_answer",
        "model_prediction",
    ),
    *("extracted_answer", "parsed_answer", "final_answer", "model_answer", "model_output", "model_response"),
    *("completion", "output", "response", "generation", "generated", "answer"),
)
"""What a model said, the most exact first: never a model or a benchmark."""
REFERENCES = (
    *(
        "label",
        "labels",
        "true_label",
        "gold_label",
        "gold",
        "gold_answer",
        "ground_truth",
        "groundtruth",
        "truth",
        "y_true",
    ),
    *("target", "expected", "expected_output", "expected_answer", "ideal", "reference", "reference_answer"),
    *("correct_answer", "right_answer", "answer_key", "answer"),
)
"""What it should have said."""

MISSING = (
    "",
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "nan",
    "none",
    "null",
    "nil",
    "-",
    "–",
    "—",
    "?",
    "missing",
    "tbd",
    "k.a.",
    "k. a.",
)
_YES = (
    *("yes", "y", "true", "t", "pass", "passed", "correct", "right", "success", "succeeded", "solved", "ok"),
    *(
        "✓",
        "✔",
        "✅",
        "☑",
        "🟢",
        "👍",
        "💯",
        "ja",
        "wahr",
        "richtig",
        "korrekt",
        "bestanden",
        "oui",
        "vrai",
        "sí",
        "si",
        "verdadero",
        "correcto",
    ),
)
_NO = (
    *("no", "false", "f", "fail", "failed", "incorrect", "wrong", "failure", "unsolved", "✗", "✘", "❌", "☐", "x"),
    *("✖", "🔴", "👎", "🚫"),
    *("nein", "falsch", "non", "faux", "falso", "incorrecto"),
    *("abstained", "not attempted", "not_attempted", "no answer"),  # graders' words for no right answer
)
WORDS = dict.fromkeys(_YES, 1.0) | dict.fromkeys(_NO, 0.0) | {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0}
WORDS |= dict.fromkeys(
    ("partial", "partially correct", "partly correct", "partially_correct", "teilweise richtig"), 0.5
)
ENDED = dict.fromkeys(
    (
        *("error", "errored", "err", "exception", "crash", "crashed", "api error", "api_error", "server error"),
        *("timeout", "timed out", "timed_out", "fehler", "erreur"),
    ),
    "errored",
) | dict.fromkeys(("refused", "refusal", "declined", "content filter", "content_filter"), "refused")
"""What stands in the place of a verdict where an attempt has none, and what became of the attempt."""
COUNTED = ("correct", "passed", "solved")  # beside n, the number of successes
