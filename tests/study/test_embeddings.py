"""Similarity by letters is scikit-learn's; by embeddings it is the server's vectors, and a server that fails is named."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from howsure.errors import InputError, OptionError
from howsure.study.judging.embeddings import KEY_VARIABLE, LEXICAL, Endpoint, lexical_vectors, measure_similarity
from howsure.study.scoring.fidelity import ModelScores
from study.judging import small_study

STUDY = small_study(3)


class VectorServer:
    """A loopback server of embeddings: `answer` gets the texts and returns vectors, or (status, headers, body)."""

    def __init__(self, answer):
        self.answer, self.bodies, self.headers = answer, [], []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.bodies.append(body)
                owner.headers.append(dict(self.headers))
                said = owner.answer(body["input"])
                status, headers, data = said if isinstance(said, tuple) else (200, {}, _document(said))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    @property
    def endpoint(self):
        url = f"http://127.0.0.1:{self.http.server_address[1]}/v1/"
        return Endpoint(url, "small", retries=2, timeout=60, first_pause=0.01)


def _document(vectors):
    data = [{"index": place, "embedding": list(vector)} for place, vector in enumerate(vectors)]
    return json.dumps({"data": list(reversed(data))}).encode()


def angles(texts):
    """The gold standard points along one axis, talk of ants 60° away, the rest at a right angle or beyond."""
    return [(1, 0) if "Hold" in text else (0.5, 0.75**0.5) if "ants" in text else (-0.2, 1) for text in texts]


def test_letters_are_weighed_as_scikit_learn_does():
    texts = ["Hold on, let us zoom OUT. a it", "The ant in the kitchen", "Über Größe", "x", "kitchen kitchen ant"]
    model = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), norm=None)
    theirs = model.fit_transform(texts).toarray()
    assert lexical_vectors(texts) == pytest.approx(theirs)


def test_without_an_endpoint_the_measure_is_lexical_and_says_so():
    found = measure_similarity(STUDY)
    texts = [STUDY.gold, *(text for pair in STUDY.pairs for text in (pair.target, pair.comparison))]
    theirs = cosine_similarity(TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(texts))[0, 1:]
    assert found.frame["score"].to_numpy() == pytest.approx(theirs[::2])
    assert found.frame["comparison"].to_numpy() == pytest.approx(theirs[1::2])
    assert found.frame["method"].unique().to_list() == [LEXICAL]
    assert "lexical" in LEXICAL


def test_scores_are_what_analyze_takes(tmp_path):
    path, *_ = measure_similarity(STUDY).save(tmp_path)
    scores = ModelScores(path).frame
    assert scores["item"].to_list() == [pair.id for pair in STUDY.pairs]
    assert scores["score"].is_between(0, 1).all()


def test_vectors_of_a_server_come_back_in_order(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    with VectorServer(angles) as server:
        found = measure_similarity(STUDY, server.endpoint)
    assert found.frame["score"].to_list() == pytest.approx([0.5] * 3)
    assert found.frame["comparison"].to_list() == [0.0] * 3, "an obtuse angle is no similarity"
    assert found.method == "embedding small"
    assert server.bodies[0]["model"] == "small"
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_no_key_is_sent_where_none_is_set(monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with VectorServer(angles) as server:
        measure_similarity(STUDY, server.endpoint)
    assert "Authorization" not in server.headers[0]


def test_many_texts_are_sent_in_portions():
    with VectorServer(lambda texts: [(float(text), 1.0) for text in texts]) as server:
        vectors = server.endpoint([str(number) for number in range(150)])
    assert vectors[:, 0].tolist() == list(range(150))
    assert [len(body["input"]) for body in server.bodies] == [64, 64, 22]


def test_a_busy_server_is_asked_again():
    said = [(429, {"Retry-After": "0.01"}, b""), (503, {}, b""), None]
    with VectorServer(lambda texts: said.pop(0) or angles(texts)) as server:
        assert len(server.endpoint(["a"])) == 1
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((500, {}, b""), r"answered 500, 3 times. Try again later."),
        (
            (401, {}, b'{"error": "bad key"}'),
            r"refused with 401 .*bad key.* embedding_model and HOWSURE_EMBEDDINGS_KEY",
        ),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), r"refused with 302"),
        ((200, {}, b"<html>"), r"the answer is not JSON"),
        ((200, {}, b'{"data": []}'), r"contains no vector for each text"),
        ((200, {}, b'{"data": [{"index": 0, "embedding": ["x"]}]}'), r"contains no vector for each text"),
        ((200, {}, b'{"data": [{"index": 0, "embedding": [NaN]}]}'), r"contains no vector for each text"),
        ((200, {}, b"[]"), r"contains no vector for each text"),
    ],
)
def test_what_a_server_does_wrong_is_told_in_one_line(said, told):
    with VectorServer(lambda texts: said) as server, pytest.raises(InputError, match=told) as error:
        server.endpoint(["a"])
    assert "\n" not in str(error.value)


def test_a_server_that_is_not_there_is_told():
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", retries=1, first_pause=0.01)
    with pytest.raises(InputError, match=r"did not answer .*2 times"):
        endpoint(["a"])
    with pytest.raises(OptionError, match="not a web address"):
        Endpoint("localhost/v1", "m")(["a"])


def test_half_a_pair_of_options_is_refused(command, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.model_dump_json())
    told = command("study", "judge", study, "--embeddings", "http://127.0.0.1:9/v1")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "are used together" in told.stderr


def test_vectors_of_nothing_have_no_similarity():
    assert measure_similarity(STUDY, lambda texts: np.zeros((len(texts), 2))).frame["score"].to_list() == [0.0] * 3
