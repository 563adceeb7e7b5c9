"""What the server is asked and what it answers: checked by pydantic, described by OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, TypeAdapter
from pydantic.json_schema import models_json_schema

import bitweft
from bitweft.server.limits import Limits

MOST_ALTERNATIVES = 20

Tokenization = Literal["space", "unicode", "char"]
Probability = Annotated[float, Field(ge=0, le=1)]


class Asked(BaseModel):
    """Check what a request holds: no more than is described, and of the right types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PairText(Asked):
    """A sentence and its translation."""

    source: str = Field(description="the source sentence")
    target: str = Field(description="the target sentence")


def _whole(value: Any) -> Any:
    """Take 5.0 for 5, as JSON Schema does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Options(Asked):
    tokenize: Tokenization | None = Field(
        None,
        description="cut at spaces, by Unicode words, or into characters; else as the model's own text was",
    )
    alternatives: Annotated[int, BeforeValidator(_whole)] = Field(
        0,
        ge=0,
        le=MOST_ALTERNATIVES,
        description="how many of the most probable partners to give for every word",
    )


class OnePair(_Options, PairText):
    """One sentence pair to align."""


class ManyPairs(_Options):
    """Sentence pairs to align."""

    pairs: list[PairText]


def _kind(value: Any) -> str:
    return "many" if isinstance(value, dict) and "pairs" in value else "one"


Question = OnePair | ManyPairs
QUESTION: TypeAdapter[Question] = TypeAdapter(
    Annotated[Annotated[OnePair, Tag("one")] | Annotated[ManyPairs, Tag("many")], Discriminator(_kind)]
)


class Side(BaseModel):
    """One sentence as it was aligned."""

    text: str = Field(description="the sentence, line breaks turned into spaces")
    tokens: list[str] = Field(description="its words")
    spans: list[tuple[int, int]] = Field(
        description="where each word stands in the text: start and end, counted in Unicode code points"
    )
    unaligned: list[int] = Field(description="the positions of the words without a link")


class Partners(BaseModel):
    """What one word may be linked with. It may have several partners, so these do not sum to one."""

    null: Probability = Field(description="the probability that it has no link")
    partners: list[tuple[int, Probability]] = Field(
        description="positions in the other sentence, each with the probability of the link, the best first"
    )


class Alternatives(BaseModel):
    """The most probable partners of every word."""

    source: list[Partners]
    target: list[Partners]


class PairAnswer(BaseModel):
    """The links of one pair."""

    source: Side
    target: Side
    links: list[tuple[int, int, Probability] | tuple[int, int]] = Field(
        description="[source, target, probability], zero-based; no probability where a recipe has none"
    )
    pharaoh: str = Field(description="the links in the Pharaoh format: 0-0 1-2")
    score: float | None = Field(
        description="how well the pair fits together, higher is better; null where a recipe has none"
    )
    alternatives: Alternatives | None = Field(
        None, description="on request, and only of models that `GET /model` says can tell them"
    )


class ManyAnswer(BaseModel):
    """The links of the pairs, in their order."""

    pairs: list[PairAnswer]


class Sizes(BaseModel):
    """How big a model is."""

    source_words: int
    target_words: int
    bytes: int = Field(description="of its files")


class ModelAnswer(BaseModel):
    """The model that is served."""

    name: str
    recipe: str
    bitweft: str = Field(description="the version of bitweft that wrote it")
    languages: tuple[str, str] | None = Field(description="source and target, if the model names them")
    note: str | None = Field(description="where it comes from, and what may be done with it")
    tokenize: str = Field(description="how the text was cut that it learned from")
    sizes: Sizes
    alternatives: bool = Field(description="whether it can tell alternatives")
    seed: int
    config: dict[str, Any] = Field(description="its settings")
    training: dict[str, Any] = Field(description="how training went")
    limits: dict[str, float] = Field(description="what a request must not go beyond")


class HealthAnswer(BaseModel):
    """The server is there."""

    status: Literal["ok"]


class Fault(BaseModel):
    """One thing wrong with a request."""

    pointer: str = Field(description="where: a JSON pointer into the request")
    detail: str


class ProblemAnswer(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    errors: list[Fault] | None = None


_PROBLEMS = {
    "400": "the body is no JSON",
    "408": "the request came too slowly",
    "413": "the body is too big",
    "415": "the body is not application/json",
    "422": "the JSON is not what was asked for, or goes beyond a limit",
    "503": "too much is waiting, or the answer took too long",
}


def openapi(limits: Limits) -> dict[str, Any]:
    """Describe the whole API."""
    models = (OnePair, ManyPairs, PairAnswer, ManyAnswer, ModelAnswer, HealthAnswer, ProblemAnswer)
    sides: tuple[Literal["validation"], Literal["serialization"]] = ("validation", "serialization")
    _, schemas = models_json_schema(
        [(model, sides[issubclass(model, BaseModel) and not issubclass(model, Asked)]) for model in models],
        ref_template="#/components/schemas/{model}",
    )
    definitions = schemas["$defs"]
    definitions["ManyPairs"]["properties"]["pairs"]["maxItems"] = limits.pairs
    align: dict[str, Any] = {
        "summary": "Align one pair, or many",
        "requestBody": {"required": True, "content": content("OnePair", "ManyPairs")},
        "responses": {"200": {"description": "the links", "content": content("PairAnswer", "ManyAnswer")}}
        | {status: problem_response(what) for status, what in _PROBLEMS.items()},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "bitweft", "version": bitweft.__version__, "description": _about(limits)},
        "paths": {
            "/align": {"post": {"operationId": "align", **align}},
            "/model": {"get": _get("model", "Describe the model", "ModelAnswer")},
            "/health": {"get": _get("health", "Tell that the server is there", "HealthAnswer")},
        },
        "components": {"schemas": definitions},
    }


def _about(limits: Limits) -> str:
    return (
        f"Word alignment with one model. Limits: a body of {limits.body:,} bytes, {limits.pairs:,} pairs, "
        f"{limits.words:,} words a sentence, {limits.timeout:g} seconds. Errors are problems of RFC 9457."
    )


def content(*names: str) -> dict[str, Any]:
    """Describe a JSON body of one of these types."""
    schemas = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"oneOf": schemas}}}


def problem_response(what: str) -> dict[str, Any]:
    """Describe the answer to a request that is refused."""
    schema = {"$ref": "#/components/schemas/ProblemAnswer"}
    return {"description": what, "content": {"application/problem+json": {"schema": schema}}}


def _get(name: str, summary: str, answer: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": "the answer", "content": content(answer)}},
    }
